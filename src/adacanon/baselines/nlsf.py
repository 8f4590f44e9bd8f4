r"""Nonlinear spectral filters, NLSF (Lin, Talmon and Levie, NeurIPS 2024), for graph classification.

Taken: orthogonal projections :math:`P_1, \dots, P_K` on leading eigenspaces ("index") or on dyadic bands of
eigenvalues ("value"), with the remainder :math:`P_{K+1} = I - \sum_k P_k`; analysis by norms per channel; an MLP on
them; synthesis along the normalised projections, in the diagonal form, one factor for each channel; the graph-level
readout by analysis and the pooling readout by norms over the nodes; attention over the two Laplacians.

Changed: a linear map of the channels without bias stands before every filter, for the diagonal form does not mix
channels (the paper's MLP can also give a matrix for each band). It commutes with all functional shifts, as the filter
does. Norms carry the factor :math:`N^{-1/2}`, so that graphs of all sizes share one MLP. The exponent of the
normalisation is 1.

Left out: matrix-valued filters, other signal norms in the analysis, dropout and batch normalisation.
The full text of the paper was not at hand: compare with its formulas before calling a figure theirs. The exact forms of
the attention (one softmax over the spectra for each graph) and of the pooling (three norms side by side) are ours.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from adacanon.baselines.padding import check_spectrum, dense_nodes
from adacanon.errors import InputError, UnknownNameError

READOUTS = ("pooling", "analysis")

_EQUAL = 1e-6
"""Eigenvalues this close, relative to the graph's largest and at least to one, span one eigenspace."""

_ROUNDING = 1e-9
"""Eigenvalues this close to the boundary of a band, relative to all bands, count as lying on it."""


def index_bands(eigenvalues: Tensor, bands: int) -> Tensor:
    r"""Band k is the k-th eigenspace from below, :math:`k < K`; everything above is the remainder, -1.

    Args:
        eigenvalues: increasing along the last axis, then zeros as padding.

    Example:
        >>> index_bands(torch.tensor([0.0, 0.5, 0.5, 1.5, 2.0]), 3).tolist()
        [0, 1, 1, 2, -1]
    """
    slack = _EQUAL * eigenvalues.abs().amax(-1, keepdim=True).clamp(min=1.0)
    space = functional.pad((eigenvalues.diff(dim=-1) > slack).cumsum(-1), (1, 0))
    return torch.where(space < bands, space, -1)


def value_bands(eigenvalues: Tensor, bands: int, *, decay: float = 0.5, high: float = 2.0) -> Tensor:
    r"""Band k is :math:`[h r^{K-k}, h r^{K-k-1})`, the last one closed; what lies below or above is the remainder, -1.

    Example:
        >>> value_bands(torch.tensor([0.0, 0.5, 0.5, 1.5, 2.0]), 2).tolist()
        [-1, 0, 0, 1, 1]
    """
    if bands < 1 or not 0 < decay < 1:
        raise InputError(f"Value filters need bands >= 1 and 0 < decay < 1, got {bands} and {decay}")
    edges = high * decay ** torch.arange(bands, -1, -1, dtype=torch.float64, device=eigenvalues.device)
    shifted = eigenvalues.double() + _ROUNDING * high
    band = torch.bucketize(shifted, edges[1:-1].contiguous(), right=True)
    inside = (shifted >= edges[0]) & (shifted <= high * (1 + 2 * _ROUNDING))
    return torch.where(inside, band, -1)


class BandBasis(NamedTuple):
    """Eigenvectors V (graphs or 1, nodes, m), which is in which band (graphs or 1, m, K), and N, (graphs,)."""

    eigenvectors: Tensor
    member: Tensor
    nodes: Tensor


class Parts(NamedTuple):
    r"""A signal in parts: coefficients within the bands, :math:`P_{K+1}X`, and norms (graphs, K + 1, channels)."""

    coefficients: Tensor
    remainder: Tensor
    norms: Tensor


def analysis(x: Tensor, basis: BandBasis) -> Parts:
    r"""The norms :math:`N^{-1/2}\|P_k X\|` of each channel, and what the synthesis needs.

    Args:
        x: (graphs, nodes, channels), zero where a graph has no node.
    """
    coefficients = basis.member.sum(-1, keepdim=True) * (basis.eigenvectors.mT @ x)
    remainder = x - basis.eigenvectors @ coefficients
    inside = _root(basis.member.mT @ coefficients.square())
    norms = torch.cat([inside, torch.linalg.vector_norm(remainder, dim=1, keepdim=True)], dim=1)
    return Parts(coefficients, remainder, norms / basis.nodes.to(x.dtype).sqrt()[:, None, None])


def synthesis(weights: Tensor, parts: Parts, basis: BandBasis) -> Tensor:
    r""":math:`\sum_k w_k \odot P_k X` for weights (graphs, K + 1, channels)."""
    inside = basis.eigenvectors @ ((basis.member @ weights[:, :-1]) * parts.coefficients)
    return inside + weights[:, -1:] * parts.remainder


class NonlinearSpectralFilter(nn.Module):
    r"""The node-level layer :math:`X \mapsto \sum_k \Psi(A)_k \odot P_k Y / (A_k + e)` with :math:`Y = XW` and the
    analysis :math:`A_k = N^{-1/2}\|P_k Y\|`, one norm for each channel.

    It commutes with every orthogonal map that preserves the bands (the graph functional shifts).

    Args:
        channels: of X.
        hidden: channels of the output and width of the MLP :math:`\Psi`.
        bands: K.
        epsilon: e, which silences bands that hold rounding errors only.
    """

    def __init__(self, channels: int, hidden: int, *, bands: int, epsilon: float = 1e-3) -> None:
        super().__init__()
        width = (bands + 1) * hidden
        self.mix = nn.Linear(channels, hidden, bias=False)
        self.mlp = nn.Sequential(nn.Linear(width, hidden), nn.ReLU(), nn.Linear(hidden, width))
        self.epsilon = epsilon

    def forward(self, x: Tensor, basis: BandBasis) -> Tensor:
        parts = analysis(self.mix(x), basis)
        factors = self.mlp(parts.norms.flatten(1)).view_as(parts.norms)
        return synthesis(factors / (parts.norms + self.epsilon), parts, basis)


class NLSFEncoder(nn.Module):
    """Filters and a readout, without the classifier: one feature vector for each graph.

    Args:
        channels: node features.
        bands: K; the remainder is one more.
        readout: "analysis", the norms of the parts of the last signal, invariant under functional shifts;
            or "pooling", mean, root mean square and maximum of the absolute values of each channel.
    """

    def __init__(
        self, channels: int, bands: int, *, hidden: int = 64, layers: int = 2, readout: str = "pooling"
    ) -> None:
        super().__init__()
        if readout not in READOUTS:
            raise UnknownNameError(f"Readouts of NLSF are {', '.join(READOUTS)}; got {readout!r}")
        widths = [channels, *[hidden] * layers]
        self.layers = nn.ModuleList(NonlinearSpectralFilter(a, b, bands=bands) for a, b in pairwise(widths))
        self.bands, self.readout = bands, readout
        self.width = widths[-1] * (3 if readout == "pooling" else bands + 1)

    def forward(self, x: Tensor, graph: Tensor, band: Tensor, eigenvectors: Tensor) -> Tensor:
        check_spectrum(graph, band, eigenvectors)
        member = functional.one_hot(band + 1, self.bands + 1)[..., 1:].to(x.dtype)
        basis = BandBasis(eigenvectors.to(x.dtype), member, torch.bincount(graph))
        dense = dense_nodes(x, graph, size=eigenvectors.shape[1])
        for layer in self.layers:
            dense = layer(dense, basis)
        if self.readout == "pooling":
            return norms_over_nodes(dense, basis.nodes)
        return analysis(dense, basis).norms.flatten(1)


class NLSF(nn.Module):
    r""":math:`\mathrm{MLP}(\alpha_1 z_1, \dots, \alpha_n z_n)` with :math:`\alpha = \mathrm{softmax}(s(z_1,\dots,z_n))`
    for the encodings :math:`z_i` of a graph by n spectra: the attention over Laplacians, or with n = 1 a plain NLSF.

    Args:
        encoders: one for each spectrum; in the paper, index filters of the Laplacian and value filters of the
            normalized Laplacian.
        classes: outputs.

    Shape:
        x (nodes, channels), graph (nodes,), and for each spectrum a pair of bands (graphs or 1, m) and eigenvectors
        (graphs or 1, nodes, m) -> (graphs, classes)
    """

    def __init__(self, encoders: Sequence[NLSFEncoder], *, classes: int, hidden: int = 64) -> None:
        super().__init__()
        width = sum(encoder.width for encoder in encoders)
        self.encoders = nn.ModuleList(encoders)
        self.score = nn.Linear(width, len(encoders))
        self.head = nn.Sequential(nn.Linear(width, hidden), nn.ReLU(), nn.Linear(hidden, classes))

    def forward(self, x: Tensor, graph: Tensor, *spectra: tuple[Tensor, Tensor]) -> Tensor:
        z = [encoder(x, graph, *spectrum) for encoder, spectrum in zip(self.encoders, spectra, strict=True)]
        alpha = self.score(torch.cat(z, dim=1)).softmax(dim=1)
        return self.head(torch.cat([alpha[:, i, None] * part for i, part in enumerate(z)], dim=1))


def norms_over_nodes(dense: Tensor, nodes: Tensor) -> Tensor:
    r""":math:`\left(N^{-1}\|x\|_1, N^{-1/2}\|x\|_2, \|x\|_\infty\right)` of every channel, (graphs, 3 channels)."""
    n = nodes.to(dense.dtype)[:, None]
    square = torch.linalg.vector_norm(dense, dim=1) / n.sqrt()
    return torch.cat([dense.abs().sum(1) / n, square, dense.abs().amax(1)], dim=1)


def _root(energy: Tensor) -> Tensor:
    """The square root with gradient zero at zero: an empty band has no direction."""
    return torch.where(energy > 0, torch.where(energy > 0, energy, 1.0).sqrt(), 0.0)
