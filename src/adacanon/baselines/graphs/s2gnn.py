r"""Spatio-spectral graph neural networks, S²GNN (Geisler, Kosmala, Herbst and Günnemann, NeurIPS 2024).

Taken: the additive combination :math:`H \mapsto \mathrm{Spatial}(H) + \mathrm{Spectral}(H)` with a residual and the
factor :math:`3^{-1/2}` of the authors' code; the spectral filter
:math:`V(\hat g_\theta(\lambda) \odot V^\top f_\theta(H))` on the lowest eigenvectors of the normalized Laplacian;
:math:`\hat g_\theta` linear, through a bottleneck, in equally spaced Gaussians; the one-sided Tukey window over the
retained eigenvalues; the gated features :math:`f_\theta(H) = H \odot \mathrm{SiLU}(HW + b)`.

Changed: an eigenspace that the truncation would cut is left out as a whole, so that no output depends on the basis
that an eigensolver returned. Graph convolutions (GCN) are the spatial part, and the readout is the mean over nodes and
an MLP, as in :class:`~adacanon.baselines.graphs.graph_networks.GraphNetwork`.

Left out: the network in the spectral domain, the learnable spectral normalisation, the positional encodings from the
spectrum, the spectral readout, and the magnetic Laplacian of directed graphs.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn

from adacanon.baselines.graphs.graph_networks import mean_over_graphs
from adacanon.baselines.graphs.graph_transforms import Sizes, to_nodes, to_spectrum
from adacanon.baselines.graphs.padding import check_spectrum, rows_of_nodes
from adacanon.errors import InputError

_EQUAL = 1e-6
"""Eigenvalues this close, relative to the largest and at least to one, belong to one eigenspace."""


def lowest(eigenvalues: Tensor, eigenvectors: Tensor, count: int) -> tuple[Tensor, Tensor]:
    r"""At most ``count`` eigenpairs with the lowest eigenvalues, never a part of an eigenspace.

    Shape:
        eigenvalues (nodes,) in increasing order, eigenvectors (nodes, nodes) -> (k,), (nodes, k)

    Example:
        >>> values, vectors = lowest(torch.tensor([0.0, 1.0, 1.0]), torch.eye(3), 2)
        >>> values.tolist()
        [0.0]
    """
    if count < 1:
        raise InputError(f"A spectral filter needs at least one eigenvector, got count = {count}")
    if count < len(eigenvalues):
        slack = _EQUAL * max(float(eigenvalues.abs().max()), 1.0)
        below = eigenvalues[:count] < eigenvalues[count] - slack
        count = int(below.sum())
    return eigenvalues[:count], eigenvectors[:, :count]


def tukey_window(eigenvalues: Tensor, *, flat: float = 0.5, margin: float = 0.025) -> Tensor:
    r"""1 up to :math:`\alpha M`, then :math:`\cos\frac{\pi(\lambda/M - \alpha)}{2(1-\alpha)}`, with M a little above
    the largest retained eigenvalue: the filter fades out where the spectrum was cut.

    Args:
        eigenvalues: (graphs, k), with zeros as padding.
        flat: :math:`\alpha`.
        margin: share by which M exceeds the largest eigenvalue.
    """
    if eigenvalues.shape[-1] == 0:
        return eigenvalues
    top = eigenvalues.amax(-1, keepdim=True) * (1 + margin)
    # A graph without edges has eigenvalue zero only, up to rounding.
    ratio = eigenvalues / top.clamp(min=_EQUAL)
    fading = torch.cos(math.pi * (ratio - flat) / (2 - 2 * flat)).clamp(min=0)
    return torch.where(ratio <= flat, 1.0, fading)


class Eigenvalues(NamedTuple):
    """What the filters of all layers read of eigenvalues (graphs, k): the window (graphs, k, 1) and the Gaussians
    (graphs, k, count).
    """

    window: Tensor
    gaussians: Tensor


def expanded(eigenvalues: Tensor, count: int, *, high: float = 2.0) -> Eigenvalues:
    r""":math:`\phi_i(\lambda) = \exp(-(\lambda - \mu_i)^2 / 2\Delta^2)` at ``count`` centres :math:`\mu_i` in [0, high]
    with spacing :math:`\Delta`, and the window.
    """
    centres = torch.linspace(0, high, count, dtype=eigenvalues.dtype, device=eigenvalues.device)
    gaussians = torch.exp(-(((eigenvalues[..., None] - centres) * ((count - 1) / high)) ** 2) / 2)
    return Eigenvalues(tukey_window(eigenvalues)[..., None], gaussians)


class GaussianFilter(nn.Module):
    r"""The filter :math:`\hat g(\lambda) = B\,A\,\phi(\lambda) + b`, times the window.

    Shape:
        window (graphs, k, 1), gaussians (graphs, k, count) -> (graphs, k, channels)
    """

    def __init__(self, channels: int, *, gaussians: int = 50) -> None:
        super().__init__()
        if gaussians < 2:
            raise InputError(f"A Gaussian basis needs at least two functions, got {gaussians}")
        bottleneck = max(1, channels // 10)
        self.linear = nn.Sequential(nn.Linear(gaussians, bottleneck, bias=False), nn.Linear(bottleneck, channels))

    def forward(self, eigenvalues: Eigenvalues) -> Tensor:
        return eigenvalues.window * self.linear(eigenvalues.gaussians)


class SpectralLayer(nn.Module):
    r""":math:`H \mapsto V(\hat g(\lambda) \odot V^\top f(H))` with :math:`f(H) = H \odot \mathrm{SiLU}(HW + b)`.

    Shape:
        h (nodes, channels), eigenvalues of (graphs or 1, k), eigenvectors (nodes, k) -> (nodes, channels)
    """

    def __init__(self, channels: int, *, gaussians: int = 50) -> None:
        super().__init__()
        self.gate = nn.Sequential(nn.Linear(channels, channels), nn.SiLU())
        self.filter = GaussianFilter(channels, gaussians=gaussians)

    def forward(self, h: Tensor, eigenvalues: Eigenvalues, eigenvectors: Tensor, sizes: Sizes) -> Tensor:
        coefficients = to_spectrum(eigenvectors, h * self.gate(h), sizes)
        return to_nodes(eigenvectors, self.filter(eigenvalues) * coefficients, sizes)


class S2GNN(nn.Module):
    r"""Layers :math:`H \mapsto (H + \mathrm{ReLU}(\mathrm{GCN}(H)) + \mathrm{Spectral}(H))/\sqrt 3`, the mean over
    each graph's nodes, and an MLP.

    Args:
        channels: node features.
        classes: outputs.
        hidden: width of all layers.
        layers: spatio-spectral layers.
        gaussians: size of the basis of every spectral filter.

    Shape:
        x (nodes, channels), edge_index (2, edges), graph (nodes,), eigenvalues (graphs or 1, k),
        eigenvectors (graphs or 1, nodes, k) -> (graphs, classes)

    Example:
        >>> values, vectors = torch.linalg.eigh(torch.tensor([[1.0, -1, 0], [-1, 2, -1], [0, -1, 1]]))
        >>> edges, graph = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), torch.zeros(3, dtype=torch.int64)
        >>> S2GNN(4, classes=2)(torch.ones(3, 4), edges, graph, values[None], vectors[None]).shape
        torch.Size([1, 2])
    """

    def __init__(self, channels: int, *, classes: int, hidden: int = 64, layers: int = 3, gaussians: int = 50) -> None:
        super().__init__()
        from adacanon.baselines.graphs.product_layers import ProductGCN

        self.gaussians, self.messages = gaussians, ProductGCN.messages
        self.embedding = nn.Linear(channels, hidden)
        self.spatial = nn.ModuleList(ProductGCN(hidden, hidden) for _ in range(layers))
        self.spectral = nn.ModuleList(SpectralLayer(hidden, gaussians=gaussians) for _ in range(layers))
        self.head = nn.Sequential(nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, classes))

    def forward(
        self, x: Tensor, edge_index: Tensor, graph: Tensor, eigenvalues: Tensor, eigenvectors: Tensor
    ) -> Tensor:
        return self.head(mean_over_graphs(self.nodes(x, edge_index, graph, eigenvalues, eigenvectors), graph))

    def nodes(self, x: Tensor, edge_index: Tensor, graph: Tensor, eigenvalues: Tensor, eigenvectors: Tensor) -> Tensor:
        """The node features after the last layer, (nodes, hidden)."""
        check_spectrum(graph, eigenvalues, eigenvectors)
        sizes = tuple(torch.bincount(graph).tolist())
        values = expanded(eigenvalues.to(x.dtype), self.gaussians)
        vectors = rows_of_nodes(eigenvectors, graph).to(x.dtype)
        h = self.embedding(x)
        messages = self.messages(h, edge_index)
        for spatial, spectral in zip(self.spatial, self.spectral, strict=True):
            h = (h + spatial(h, messages).relu() + spectral(h, values, vectors, sizes)) / math.sqrt(3)
        return h
