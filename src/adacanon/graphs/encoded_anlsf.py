"""A-NLSF behind a learned node encoder."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from adacanon.core.canonicalized import Canonicalized
from adacanon.core.maximizer import Maximizer
from adacanon.core.soft import Temperature
from adacanon.errors import InputError, ShapeError
from adacanon.graphs.anlsf import PAIRS_PER_CHUNK
from adacanon.graphs.band_rotations import BandRotations
from adacanon.graphs.band_search import SHARED_DRAWS, search_under
from adacanon.graphs.bands import dyadic
from adacanon.graphs.behind_encoder import BehindEncoder
from adacanon.graphs.coefficients import BandCoefficients
from adacanon.graphs.framed_graphs import FramedGraphs, framed_graphs, signal_count
from adacanon.graphs.spectral_mlp import SpectralMLP
from adacanon.takes import instance, share, takes, whole

_CONSTANT = 1e-5
"""A signal with a smaller deviation over the training nodes is constant up to rounding, and is not divided by it."""


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


class EncodedANLSF(BehindEncoder):
    r"""A-NLSF on the coefficients :math:`W_k^\top H` of learned node features :math:`H = \mathrm{enc}(G, S)`: the model
    of the row A-NLSF of the graph tables.

    It takes torch-geometric ``Data`` and ``Batch`` objects, or :class:`FramedGraphs` computed beforehand, and is used
    like a ``Canonicalized`` network, also in an ``Objective``. Preparing a graph takes about a millisecond, at every
    call; where the same graphs come in every epoch, prepare them once with :func:`framed_graphs` and index the result.

    The frames :math:`W_k` depend on the graph alone (:func:`band_frames`), and the encoder is equivariant: the model is
    invariant, as exactly as the search is. Beside the coefficients the network sees what no rotation changes, the norms
    of the coefficients of each channel in each band, and the dimensions of the bands.

    The encoder reads signals of different sizes: labels, degrees, sums over neighbours. :meth:`standardise` divides
    them by their deviation over the training graphs, and keeps the deviations with the model; call it once before
    training. Without it the signals are read as they are.

    Args:
        channels: node features of the graphs.
        classes: D.
        family: bands, rows per band and shift operator; six dyadic bands with two rows each if not given.
        features: channels of H.
        hops: of the encoder.
        width: of the encoder.
        hidden: width of the MLP on the coefficients.
        layers: of that MLP.
        dropout: share of its hidden units dropped in training.
        frame_width: columns of the frames in every band, at most.
        walk_steps: return probabilities of a random walk that the encoder reads.
        search: 32 draws and one long refinement step if not given; with a temperature, the draws alone.
        training_search: another search for training mode; if no search is given, the same one with draws ranked in
            bfloat16.
        temperature: from the maximum over bases (0, the paper's rule) to the mean (infinity), as in ``Canonicalized``.
        resample_every: training steps that share their draws.

    The defaults are those of the table ``tu``; bands, layers and dropout are those that were chosen on the validation
    part of MUTAG and of ENZYMES.

    Shape:
        a batch of graphs -> (graphs, classes)

    Example:
        >>> from torch_geometric.data import Batch, Data
        >>> from adacanon import Objective
        >>> edge = Data(x=torch.eye(2), edge_index=torch.tensor([[0, 1], [1, 0]]))
        >>> path = Data(x=torch.eye(2)[[0, 1, 0]], edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
        >>> batch = Batch.from_data_list([edge, path])
        >>> model = EncodedANLSF(channels=2, classes=3).standardise(batch)
        >>> model(batch).shape
        torch.Size([2, 3])
        >>> Objective(model)(batch, torch.tensor([0, 2])).loss.backward()
    """

    scale: Tensor

    @takes(
        channels=whole(1),
        classes=whole(1),
        family=instance(BandRotations, "BandRotations(dyadic(6), rows=2)", optional=True),
        features=whole(1),
        hops=whole(0),
        width=whole(1),
        hidden=whole(1),
        layers=whole(1),
        dropout=share,
        frame_width=whole(1),
        walk_steps=whole(0),
    )
    def __init__(
        self,
        channels: int,
        *,
        classes: int,
        family: BandRotations | None = None,
        features: int = 16,
        hops: int = 1,
        width: int = 64,
        hidden: int = 128,
        layers: int = 3,
        dropout: float = 0.3,
        frame_width: int = 4,
        walk_steps: int = 16,
        search: Maximizer | None = None,
        training_search: Maximizer | None = None,
        temperature: float | Sequence[float] | Tensor | Temperature = 0.0,
        resample_every: int = SHARED_DRAWS,
        seed: int = 0,
    ) -> None:
        super().__init__()
        family = BandRotations(dyadic(6), rows=2) if family is None else family
        if family.factor != "triangular":
            raise InputError(
                f"EncodedANLSF projects on frames and has no factors, got factor={family.factor!r}. "
                "Hint: leave it out, or use anlsf"
            )
        signals = signal_count(channels, walk_steps)
        self.channels, self.frame_width, self.walk_steps = channels, frame_width, walk_steps
        self.register_buffer("scale", torch.ones(signals))
        self.encoder = NodeEncoder(signals, features, hops=hops, width=width)
        network = SpectralMLP(
            sum(family.rows_per_band),
            features,
            classes=classes,
            hidden=hidden,
            layers=layers,
            dropout=dropout,
            invariants=family.partition.bands * (features + 1),
        )
        self.canonicalized = Canonicalized(
            network,
            family,
            search_under(temperature) if search is None else search,
            training_search=training_search,
            temperature=temperature,
            chunk_size=PAIRS_PER_CHUNK,
            seed=seed,
            resample_every=resample_every,
        )

    def standardise(self, graphs: Any) -> "EncodedANLSF":
        """Divide every signal by its deviation over the nodes of these graphs from now on; returns the model itself.

        Args:
            graphs: those of the training part, as in ``forward``.
        """
        deviation = self.framed(graphs).signals.to(self.scale).std(0)
        self.scale.copy_(torch.where(deviation > _CONSTANT, deviation, 1.0))
        return self

    def framed(self, g: Any) -> FramedGraphs:
        """Graphs as the model reads them; those prepared beforehand are returned as they are."""
        if not isinstance(g, FramedGraphs):
            g = framed_graphs(
                g,
                self.family.partition,
                operator=self.family.operator,
                frame_width=self.frame_width,
                walk_steps=self.walk_steps,
            )
        if g.signals.shape[1] != len(self.scale):
            raise ShapeError(
                f"EncodedANLSF with channels={self.channels} and walk_steps={self.walk_steps} reads "
                f"{len(self.scale)} signals of every node, got {g.signals.shape[1]}. "
                "Hint: channels is the number of node features, graph.x.shape[1]"
            )
        return g

    def coefficients(self, encoder: Any, g: FramedGraphs) -> BandCoefficients:
        """Of the encoded signals, each divided by its deviation."""
        h = encoder(g.signals.to(self.scale) / self.scale, g.edge_index)
        factors = coefficients_in_frames(h, g.graph, g.basis)
        return BandCoefficients(factors, g.sizes, g.ranks, invariants(factors, g.sizes))


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
