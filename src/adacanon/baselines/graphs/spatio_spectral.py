r"""S²GNN as its authors run it on molecules (their public code, configuration of Peptides-func).

Taken: a graph convolution and a spectral filter in turn, each residual with dropout, GELU after the convolution; the
filter linear, through a bottleneck of 0.2, in 60 Gaussians up to the cut-off frequency 0.7, under a Tukey window that
ends there; the gated features :math:`H \odot \mathrm{SiLU}(HW + b)`; the positional encoding of
:func:`spectral_encodings`, mapped linearly to 8 channels beside the node features; mean pooling and an MLP of three
layers with dropout.

Changed: the gate has a full matrix W (theirs a bottleneck of 0.05, which at our widths would be three units); the
encodings come with the scale of the training set; Adam without warm-up and weight decay, as all rows of a table.
Eigenvectors beyond a given number are left out, an eigenspace as a whole, where theirs has 150.

Left out: several spectral filters that share their Gaussians, and the magnetic Laplacian of directed graphs.
"""

import math

import torch
from torch import Tensor, nn

from adacanon.baselines.graphs.convolutions import GCN
from adacanon.baselines.graphs.dropout import Dropout
from adacanon.baselines.graphs.edges import Edges
from adacanon.baselines.graphs.graph_networks import mean_over_graphs
from adacanon.baselines.graphs.graph_transforms import to_nodes, to_spectrum
from adacanon.baselines.graphs.padding import check_spectrum, rows_of_nodes
from adacanon.errors import InputError

EIGENSPACE = 1e-6
"""Eigenvalues this close share their encoding."""


def spectral_encodings(eigenvalues: Tensor, eigenvectors: Tensor, edge_index: Tensor) -> Tensor:
    r""":math:`P_{id} = \frac1{|D|} \sum_{c \in D} V_{ic}(AV)_{ic}`, with the columns D of the eigenspace of d: how much
    of frequency d a node shares with its neighbours, whatever basis an eigensolver returned.

    Shape:
        eigenvalues (k,), eigenvectors (nodes, k), edge_index (2, edges) -> (nodes, k)

    Example:
        >>> values, vectors = torch.linalg.eigh(torch.tensor([[1.0, -1.0], [-1.0, 1.0]]))
        >>> spectral_encodings(values, vectors, torch.tensor([[0, 1], [1, 0]]))[0].round(decimals=3).tolist()
        [0.5, -0.5]
    """
    around = torch.zeros_like(eigenvectors).index_add(0, edge_index[1], eigenvectors[edge_index[0]])
    equal = ((eigenvalues.unsqueeze(0) - eigenvalues.unsqueeze(1)).abs() < EIGENSPACE).to(eigenvectors)
    return (eigenvectors * around) @ (equal / equal.sum(0))


class SpectralFilter(nn.Module):
    r""":math:`H \mapsto V(w(\lambda)\,\hat g(\lambda) \odot V^\top(H \odot \mathrm{SiLU}(HW + b)))` with
    :math:`\hat g = BA\phi + c` in Gaussians :math:`\phi` on :math:`[0, \Lambda]`, and the window w, one up to
    :math:`\Lambda/2` and a cosine that ends at :math:`\Lambda`.
    """

    def __init__(self, width: int, *, cutoff: float = 0.7, gaussians: int = 60, bottleneck: float = 0.2) -> None:
        super().__init__()
        if cutoff <= 0 or gaussians < 2:
            raise InputError(f"A filter needs cutoff > 0 and two Gaussians, got {cutoff} and {gaussians}")
        inner = max(1, int(bottleneck * width))
        self.gate = nn.Sequential(nn.Linear(width, width), nn.SiLU())
        last = nn.Linear(inner, width)
        nn.init.zeros_(last.bias)
        self.linear = nn.Sequential(nn.Linear(gaussians, inner, bias=False), last)
        self.cutoff, self.gaussians = cutoff, gaussians

    def forward(self, h: Tensor, eigenvalues: Tensor, eigenvectors: Tensor, sizes: tuple[int, ...]) -> Tensor:
        coefficients = to_spectrum(eigenvectors, h * self.gate(h), sizes)
        return to_nodes(eigenvectors, self.response(eigenvalues) * coefficients, sizes)

    def response(self, eigenvalues: Tensor) -> Tensor:
        """The window times the filter, (graphs, k) -> (graphs, k, width)."""
        centres = torch.linspace(0, self.cutoff, self.gaussians, dtype=eigenvalues.dtype, device=eigenvalues.device)
        distance = (eigenvalues.unsqueeze(-1) - centres) / (centres[1] - centres[0])
        ratio = (eigenvalues / self.cutoff).clamp(0, 1)
        window = torch.where(ratio <= 0.5, 1.0, torch.cos(math.pi * (ratio - 0.5)))
        return window.unsqueeze(-1) * self.linear(torch.exp(-distance.square() / 2))


class SpatioSpectral(nn.Module):
    r"""Layers :math:`H \mapsto H' = H + \mathrm{GELU}(\mathrm{GCN}(H))`, :math:`H' \mapsto H' + \mathrm{Spectral}(H')`,
    the mean over each graph's nodes, and an MLP.

    Args:
        channels: node features.
        frequencies: columns of the positional encodings.
        classes: outputs.
        width: of all layers.
        layers: pairs of a graph convolution and a spectral filter.
        dropout: after every part, and in the MLP.
        encoding: channels that the positional encodings are mapped to.
        cutoff: largest eigenvalue that the filters see.

    Shape:
        x (nodes, channels), edge_index (2, edges), graph (nodes,), encodings (nodes, frequencies), eigenvalues
        (graphs or 1, k), eigenvectors (graphs or 1, nodes, k) -> (graphs, classes)

    Example:
        >>> values, vectors = torch.linalg.eigh(torch.tensor([[1.0, -1.0], [-1.0, 1.0]]))
        >>> edges, graph = torch.tensor([[0, 1], [1, 0]]), torch.zeros(2, dtype=torch.int64)
        >>> model, encodings = SpatioSpectral(4, 2, classes=3), spectral_encodings(values, vectors, edges)
        >>> model(torch.ones(2, 4), edges, graph, encodings, values[None], vectors[None]).shape
        torch.Size([1, 3])

    Reference:
        Geisler, Kosmala, Herbst and Günnemann, "Spatio-Spectral Graph Neural Networks", NeurIPS 2024.
    """

    def __init__(
        self,
        channels: int,
        frequencies: int,
        *,
        classes: int,
        width: int = 64,
        layers: int = 3,
        dropout: float = 0.25,
        encoding: int = 8,
        cutoff: float = 0.7,
    ) -> None:
        super().__init__()
        self.embedding = nn.Linear(channels, width - encoding)
        self.positions = nn.Linear(frequencies, encoding)
        self.spatial = nn.ModuleList(GCN(width) for _ in range(layers))
        self.spectral = nn.ModuleList(SpectralFilter(width, cutoff=cutoff) for _ in range(layers))
        self.dropout = Dropout(dropout)
        hidden = [part for _ in range(2) for part in (nn.Dropout(dropout), nn.Linear(width, width), nn.GELU())]
        self.head = nn.Sequential(*hidden, nn.Dropout(dropout), nn.Linear(width, classes))

    def forward(
        self,
        x: Tensor,
        edge_index: Tensor,
        graph: Tensor,
        encodings: Tensor,
        eigenvalues: Tensor,
        eigenvectors: Tensor,
    ) -> Tensor:
        check_spectrum(graph, eigenvalues, eigenvectors)
        sizes, values = tuple(torch.bincount(graph).tolist()), eigenvalues.to(x.dtype)
        vectors = rows_of_nodes(eigenvectors, graph).to(x.dtype)
        h = torch.cat([self.embedding(x), self.positions(encodings.to(x.dtype))], dim=1)
        edges = Edges(edge_index, graph, h.dtype)
        for spatial, spectral in zip(self.spatial, self.spectral, strict=True):
            h = h + self.dropout(nn.functional.gelu(spatial(h, None, edges)))
            h = h + self.dropout(spectral(h, values, vectors, sizes))
        return self.head(mean_over_graphs(h, graph))
