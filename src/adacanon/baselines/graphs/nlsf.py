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

from adacanon.baselines.graphs.graph_transforms import Sizes, to_nodes, to_spectrum
from adacanon.baselines.graphs.padding import check_spectrum, rows_of_nodes
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
    """What all signals on a batch share: eigenvectors V (nodes, m), which is in which band (graphs or 1, m, K), the
    part R (nodes, channels) of the input outside all bands, its Gram matrices (graphs, channels, channels), and the
    nodes of each graph.
    """

    eigenvectors: Tensor
    member: Tensor
    remainder: Tensor
    gram: Tensor
    sizes: Sizes


class BandSignal(NamedTuple):
    """The signal Vc + RM, by its coefficients c (graphs, m, width), zero outside the bands, and M (graphs, channels,
    width).

    No filter acts on single nodes, so all signals keep this form, and layers never touch a node.
    """

    coefficients: Tensor
    mixture: Tensor

    def mixed(self, linear: nn.Linear) -> "BandSignal":
        """The signal after a linear map of its channels."""
        return BandSignal(linear(self.coefficients), linear(self.mixture))

    def weighted(self, weights: Tensor, basis: BandBasis) -> "BandSignal":
        r"""The synthesis :math:`\sum_k w_k \odot P_k X` for weights (graphs, K + 1, width)."""
        return BandSignal((basis.member @ weights[:, :-1]) * self.coefficients, weights[:, -1:] * self.mixture)

    def norms(self, basis: BandBasis) -> Tensor:
        r"""The analysis :math:`N^{-1/2}\|P_k X\|` of each channel, (graphs, K + 1, width)."""
        inside = basis.member.mT @ self.coefficients.square()
        outside = (self.mixture * (basis.gram @ self.mixture)).sum(1, keepdim=True)
        energy = torch.cat([inside, outside], dim=1)
        return _root(energy) / _counts(basis.sizes, energy).sqrt().unsqueeze(2)

    def at_nodes(self, basis: BandBasis) -> Tensor:
        """(nodes, width)."""
        columns = torch.cat([basis.eigenvectors, basis.remainder], dim=1)
        return to_nodes(columns, torch.cat([self.coefficients, self.mixture], dim=1), basis.sizes)


def decomposed(
    x: Tensor, graph: Tensor, band: Tensor, eigenvectors: Tensor, *, bands: int
) -> tuple[BandSignal, BandBasis]:
    """A signal on the nodes in its parts; spectra are padded, (graphs or 1, nodes, m), and may serve all graphs."""
    check_spectrum(graph, band, eigenvectors)
    member = functional.one_hot(band + 1, bands + 1)[..., 1:].to(x.dtype)
    vectors, sizes = rows_of_nodes(eigenvectors, graph).to(x.dtype), tuple(torch.bincount(graph).tolist())
    coefficients = member.sum(-1, keepdim=True) * to_spectrum(vectors, x, sizes)
    remainder = x - to_nodes(vectors, coefficients, sizes)
    whole = torch.eye(x.shape[1], dtype=x.dtype, device=x.device).expand(len(sizes), -1, -1)
    gram = to_spectrum(remainder, remainder, sizes)
    return BandSignal(coefficients, whole), BandBasis(vectors, member, remainder, gram, sizes)


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

    def forward(self, signal: BandSignal, basis: BandBasis) -> BandSignal:
        mixed = signal.mixed(self.mix)
        norms = mixed.norms(basis)
        factors = self.mlp(norms.flatten(1)).view_as(norms)
        return mixed.weighted(factors / (norms + self.epsilon), basis)


class NLSFEncoder(nn.Module):
    """Filters and a readout, without the classifier: one feature vector for each graph.

    Args:
        channels: node features.
        bands: K; the remainder is one more.
        readout: "analysis", the norms of the parts of the last signal, invariant under functional shifts;
            or "pooling", mean, root mean square and maximum of the absolute values of each channel.

    Example:
        >>> values, vectors = torch.linalg.eigh(torch.tensor([[1.0, -1, 0], [-1, 2, -1], [0, -1, 1]]))
        >>> encoder, graph = NLSFEncoder(4, bands=3, hidden=8), torch.zeros(3, dtype=torch.int64)
        >>> encoder(torch.ones(3, 4), graph, index_bands(values, 3)[None], vectors[None]).shape
        torch.Size([1, 24])
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
        signal, basis = decomposed(x, graph, band, eigenvectors, bands=self.bands)
        for layer in self.layers:
            signal = layer(signal, basis)
        if self.readout == "pooling":
            return norms_over_nodes(signal.at_nodes(basis), basis.sizes)
        return signal.norms(basis).flatten(1)


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

    Example:
        >>> values, vectors = torch.linalg.eigh(torch.tensor([[1.0, -1, 0], [-1, 2, -1], [0, -1, 1]]))
        >>> model, graph = NLSF([NLSFEncoder(4, bands=3)], classes=2), torch.zeros(3, dtype=torch.int64)
        >>> model(torch.ones(3, 4), graph, (index_bands(values, 3)[None], vectors[None])).shape
        torch.Size([1, 2])
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


def norms_over_nodes(x: Tensor, sizes: Sizes) -> Tensor:
    r""":math:`\left(N^{-1}\|x\|_1, N^{-1/2}\|x\|_2, \|x\|_\infty\right)` of every channel, (graphs, 3 channels)."""
    n, absolute = _counts(sizes, x), x.abs()
    largest = torch.stack([rows.amax(0) for rows in absolute.split(sizes)])
    return torch.cat(
        [sums_over_graphs(absolute, sizes) / n, _root(sums_over_graphs(x.square(), sizes) / n), largest], dim=1
    )


def sums_over_graphs(x: Tensor, sizes: Sizes) -> Tensor:
    """(nodes, channels) -> (graphs, channels)."""
    return to_spectrum(x.new_ones(len(x), 1), x, sizes).squeeze(1)


def _counts(sizes: Sizes, like: Tensor) -> Tensor:
    return torch.tensor(sizes, dtype=like.dtype, device=like.device).unsqueeze(1)


def _root(energy: Tensor) -> Tensor:
    """The square root, with gradient zero at zero and below: an empty band has no direction."""
    return torch.where(energy > 0, torch.where(energy > 0, energy, 1.0).sqrt(), 0.0)
