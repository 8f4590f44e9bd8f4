"""A-NLSF behind a learned node encoder."""

import torch
from torch import Tensor, nn

from adacanon.core.canonicalized import Canonicalized
from adacanon.core.maximizer import Maximizer
from adacanon.graphs.anlsf import PAIRS_PER_CHUNK
from adacanon.graphs.band_rotations import BandRotations
from adacanon.graphs.coefficients import BandCoefficients
from adacanon.graphs.spectral_mlp import SpectralMLP
from adacanon.maximizers.sample_and_refine import SampleAndRefine


class Hop(nn.Module):
    r""":math:`x \mapsto x + \mathrm{ReLU}(\mathrm{BN}(\mathrm{MLP}((1+\epsilon)x + \sum_{j\to i} x_j)))`, without the
    first term where the width changes.
    """

    def __init__(self, channels: int, width: int) -> None:
        super().__init__()
        self.mlp = nn.Sequential(
            nn.Linear(channels, width), nn.ReLU(), nn.Linear(width, width), nn.BatchNorm1d(width), nn.ReLU()
        )
        self.epsilon = nn.Parameter(torch.zeros(()))

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        total = ((1 + self.epsilon) * x).index_add(0, edge_index[1], x.index_select(0, edge_index[0]))
        y = self.mlp(total)
        return x + y if x.shape == y.shape else y


class NodeEncoder(nn.Module):
    """An MLP on every node, then message passing over a few hops; the features of all stages, mixed by a linear map.

    Args:
        channels: node features.
        features: of the result.
        hops: of message passing; the node features may hold fixed ones already, see ``structural_signals``.
        width: features in between.

    Shape:
        x (nodes, channels), edge_index (2, edges) -> (nodes, features)
    """

    def __init__(self, channels: int, features: int, *, hops: int = 2, width: int = 64) -> None:
        super().__init__()
        self.first = nn.Sequential(nn.Linear(channels, width), nn.BatchNorm1d(width), nn.ReLU())
        self.hops = nn.ModuleList(Hop(width, width) for _ in range(hops))
        self.mix = nn.Linear((1 + hops) * width, features)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        found = [self.first(x)]
        for hop in self.hops:
            found.append(hop(found[-1], edge_index))
        return self.mix(torch.cat(found, dim=1))


class EncodedANLSF(nn.Module):
    r"""A-NLSF on the coefficients :math:`W_k^\top H` of learned node features :math:`H = \mathrm{enc}(G, S)`.

    The frames :math:`W_k` depend on the graph alone (:func:`band_frames`), and the encoder is equivariant: the model is
    invariant, as exactly as the search is. Beside the coefficients the network sees what no rotation changes, the norms
    of the coefficients of each channel in each band, and the dimensions of the bands.

    Args:
        family: bands and rows per band.
        channels: node features.
        classes: D.
        features: channels of H.
        hops: of the encoder.
        width: of the encoder.
        hidden: width of the MLP on the coefficients.
        layers: of that MLP.
        dropout: share of its hidden units dropped in training.
        maximizer: 32 draws and two refinement steps if not given.
        in_training: another search for training mode.
        redraw: training steps that share their draws.

    Shape:
        x (nodes, channels), edge_index (2, edges), graph (nodes,), basis (nodes, bands, width), sizes and ranks
        (graphs, bands) -> (graphs, classes)
    """

    def __init__(
        self,
        family: BandRotations,
        channels: int,
        *,
        classes: int,
        features: int = 32,
        hops: int = 2,
        width: int = 64,
        hidden: int = 128,
        layers: int = 3,
        dropout: float = 0.0,
        maximizer: Maximizer | None = None,
        in_training: Maximizer | None = None,
        redraw: int = 8,
        seed: int = 0,
    ) -> None:
        super().__init__()
        bands = family.partition.bands
        self.encoder = NodeEncoder(channels, features, hops=hops, width=width)
        network = SpectralMLP(
            sum(family.rows_per_band),
            features,
            classes=classes,
            hidden=hidden,
            layers=layers,
            dropout=dropout,
            invariants=bands * (features + 1),
        )
        search = maximizer or SampleAndRefine(samples=32, steps=2, step_size=1.0)
        self.canonicalized = Canonicalized(
            network, family, search, in_training=in_training, chunk=PAIRS_PER_CHUNK, seed=seed, redraw=redraw
        )

    def forward(
        self, x: Tensor, edge_index: Tensor, graph: Tensor, basis: Tensor, sizes: Tensor, ranks: Tensor
    ) -> Tensor:
        factors = coefficients_in_frames(self.encoder(x, edge_index), graph, basis)
        return self.canonicalized(BandCoefficients(factors, sizes, ranks, invariants(factors, sizes)))


def coefficients_in_frames(h: Tensor, graph: Tensor, basis: Tensor) -> Tensor:
    r""":math:`2 N^{-1/2}\, W_k^\top H` of every graph, (graphs, bands, width, features), of order one."""
    nodes = torch.bincount(graph)
    first = nodes.cumsum(0) - nodes
    place = torch.arange(len(graph), device=graph.device) - first[graph]
    largest = int(nodes.max())
    flat = graph * largest + place
    rows = h.new_zeros(len(nodes) * largest, basis[0].numel()).index_copy(0, flat, basis.flatten(1).to(h))
    scaled = h * (2 / nodes[graph].to(h).sqrt())[:, None]
    signal = h.new_zeros(len(nodes) * largest, h.shape[1]).index_copy(0, flat, scaled)
    product = rows.unflatten(0, (-1, largest)).mT @ signal.unflatten(0, (-1, largest))
    return product.unflatten(1, tuple(basis.shape[1:]))


def invariants(factors: Tensor, sizes: Tensor) -> Tensor:
    """Norms per band and channel, rounded off at zero, and logarithms of the dimensions, (graphs, count)."""
    norms = (factors.square().sum(2) + 1e-6).sqrt()
    return torch.cat([norms.flatten(1), sizes.to(factors).log1p()], dim=1)
