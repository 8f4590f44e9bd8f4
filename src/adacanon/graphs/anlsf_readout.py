"""A-NLSF as the readout of any graph encoder, with edge features, categories and answers of any kind."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn

from adacanon.core.canonicalized import Canonicalized
from adacanon.core.maximizer import Maximizer
from adacanon.core.precision import in_precision_of
from adacanon.core.shared_priors import Confidence
from adacanon.core.soft import Temperature
from adacanon.errors import ShapeError, UnknownNameError
from adacanon.graphs.anlsf import PAIRS_PER_CHUNK
from adacanon.graphs.band_rotations import BandRotations
from adacanon.graphs.band_search import SHARED_DRAWS, search_under
from adacanon.graphs.bands import dyadic
from adacanon.graphs.behind_encoder import BehindEncoder
from adacanon.graphs.coefficients import BandCoefficients
from adacanon.graphs.encoded_anlsf import coefficients_in_frames, invariants
from adacanon.graphs.framed_graphs import FramedGraphs
from adacanon.graphs.prepared_graphs import prepared_graphs
from adacanon.graphs.spectral_mlp import SpectralMLP
from adacanon.takes import instance, several, share, takes, text, whole

Targets = Literal["classes", "numbers"]
"""Scores of classes or of several labels, each at its own best basis; or real numbers, blended over bases."""

FIRST_WEIGHTS = 0.1
"""By which the first weights of the coefficients are multiplied: they are many, and invite to learn graphs by heart."""


class GraphNorm(nn.BatchNorm1d):
    """Batch normalisation over graphs; a single graph in training has no statistics and takes the running ones."""

    def forward(self, x: Tensor) -> Tensor:
        if self.training and len(x) < 2:
            mean, variance = self.running_mean, self.running_var
            return nn.functional.batch_norm(x, mean, variance, self.weight, self.bias, eps=self.eps)
        return super().forward(x)


class PooledEncoder(nn.Module):
    """An encoder of nodes with what the readout takes of it: channels for the projection, and means over graphs.

    Shape:
        prepared graphs -> (nodes, features), (graphs, width)
    """

    def __init__(self, encoder: nn.Module, width: int, features: int) -> None:
        super().__init__()
        self.encoder, self.width = encoder, width
        self.mix, self.norm = nn.Linear(width, features), GraphNorm(width)

    def forward(self, g: FramedGraphs) -> tuple[Tensor, Tensor]:
        edge_attr = () if g.edge_attr is None else (g.edge_attr,)
        h = self.encoder(g.signals, g.edge_index, g.graph, *edge_attr)
        if h.shape != (len(g.graph), self.width):
            raise ShapeError(
                f"The encoder must give node features of shape ({len(g.graph)}, {self.width}), got {tuple(h.shape)}. "
                "Hint: width of ANLSFReadout is that of the encoder"
            )
        return self.mix(h), self.norm(mean_over_graphs(h, g.graph, len(g)))


class ANLSFReadout(BehindEncoder):
    r"""A-NLSF on the coefficients :math:`W_k^\top H M` of node features :math:`H = \mathrm{enc}(G)` that any graph
    encoder computes, beside their mean over the nodes.

    The frames :math:`W_k` depend on the graph alone, and an encoder that does not depend on the order of nodes is
    equivariant: the model is invariant, as exactly as the search is. The network sees the coefficients in the chosen
    basis and, beside them, what no basis changes: the mean of H over the nodes, the norms of the coefficients of each
    channel in each band, and the dimensions of the bands. With the coefficients set to zero it is the encoder with an
    ordinary readout; their weights start at a tenth of the usual size, so that training starts near to that.

    It takes torch-geometric ``Data`` and ``Batch`` objects with node features ``x`` and, where the encoder reads them,
    edge features ``edge_attr``; or the outcome of :func:`prepared_graphs`, which decomposes every graph once and is
    what a training over several epochs needs.

    Args:
        encoder: a module called with (x, edge_index, graph, edge_attr), the last one only where graphs have edge
            features; it returns (nodes, width). Its x holds the node features followed by ``walk_steps`` return
            probabilities.
        width: of the encoder.
        outputs: classes, labels or numbers.
        targets: "classes" for scores of classes or labels; "numbers" for regression, where the answers at all drawn
            bases are blended by a confidence that the network gives.
        categories: how many every column of ``x`` has; empty if ``x`` holds real numbers.
        family: bands, rows per band and shift operator; six dyadic bands with two rows each if not given.
        features: channels of H M.
        hidden: width of the MLP on the coefficients.
        layers: of that MLP.
        dropout: share of its hidden units dropped in training.
        frame_width: columns of the frames in every band, at most.
        walk_steps: return probabilities of a random walk.
        search: 32 draws and one long refinement step if not given; with a temperature, the draws alone.
        training_search: another search for training mode.
        temperature: from the maximum over bases (0) to the mean (infinity); if not given, 0 for classes and 1 for
            numbers.
        resample_every: training steps that share their draws.

    Shape:
        a batch of graphs -> (graphs, outputs)

    Example:
        >>> from torch_geometric.data import Batch, Data
        >>> from adacanon import Objective, one_vs_rest
        >>> from adacanon.baselines.graphs import GraphEncoder
        >>> from adacanon.graphs import CategoryEmbedding
        >>> both, kinds = torch.tensor([[0, 1], [1, 0]]), torch.tensor([[1], [1]])
        >>> bond = Data(x=torch.tensor([[3], [0]]), edge_index=both, edge_attr=kinds)
        >>> nodes, edges = CategoryEmbedding((4,), 32, numbers=16), CategoryEmbedding((2,), 32)
        >>> encoder = GraphEncoder("gatedgcn", nodes, edges=edges, width=32)
        >>> model = ANLSFReadout(encoder, width=32, outputs=3, categories=(4,))
        >>> batch, labels = Batch.from_data_list([bond, bond]), torch.tensor([[1.0, 0.0, torch.nan], [0.0, 1.0, 1.0]])
        >>> loss, scores = Objective(model, loss=one_vs_rest)(batch, labels)
        >>> loss.backward()
        >>> scores.shape
        torch.Size([2, 3])
    """

    @takes(
        encoder=instance(nn.Module, "an encoder of graphs, such as adacanon.baselines.graphs.GraphEncoder"),
        width=whole(1),
        outputs=whole(1),
        targets=text,
        categories=several(1),
        family=instance(BandRotations, "BandRotations(dyadic(6), rows=2)", optional=True),
        features=whole(1),
        hidden=whole(1),
        layers=whole(1),
        dropout=share,
        frame_width=whole(1),
        walk_steps=whole(0),
    )
    def __init__(
        self,
        encoder: nn.Module,
        *,
        width: int,
        outputs: int,
        targets: Targets = "classes",
        categories: Sequence[int] = (),
        family: BandRotations | None = None,
        features: int = 16,
        hidden: int = 128,
        layers: int = 3,
        dropout: float = 0.3,
        frame_width: int = 4,
        walk_steps: int = 16,
        search: Maximizer | None = None,
        training_search: Maximizer | None = None,
        temperature: float | Sequence[float] | Tensor | Temperature | None = None,
        resample_every: int = SHARED_DRAWS,
        seed: int = 0,
    ) -> None:
        super().__init__()
        if targets not in get_args(Targets):
            raise UnknownNameError(f"targets must be one of {', '.join(get_args(Targets))}, got {targets!r}")
        numbers = targets == "numbers"
        family = BandRotations(dyadic(6), rows=2) if family is None else family
        temperature = (1.0 if numbers else 0.0) if temperature is None else temperature
        self.categories = tuple(categories)
        self.frame_width, self.walk_steps = frame_width, walk_steps
        self.encoder = PooledEncoder(encoder, width, features)
        network = SpectralMLP(
            sum(family.rows_per_band),
            features,
            classes=outputs + numbers,
            hidden=hidden,
            layers=layers,
            dropout=dropout,
            invariants=family.partition.bands * (features + 1) + width,
        )
        with torch.no_grad():
            network.first.weight.mul_(FIRST_WEIGHTS)
        self.canonicalized = Canonicalized(
            network,
            family,
            search_under(temperature) if search is None else search,
            prior=Confidence() if numbers else None,
            training_search=training_search,
            temperature=temperature,
            chunk_size=PAIRS_PER_CHUNK,
            seed=seed,
            resample_every=resample_every,
        )

    def framed(self, g: Any) -> FramedGraphs:
        """Graphs as the model reads them; those prepared beforehand are returned as they are."""
        if isinstance(g, FramedGraphs):
            return g
        return prepared_graphs(
            g,
            self.family.partition,
            categories=self.categories,
            operator=self.family.operator,
            frame_width=self.frame_width,
            walk_steps=self.walk_steps,
        )

    def coefficients(self, encoder: Any, g: FramedGraphs) -> BandCoefficients:
        """Of the encoded nodes, and their mean beside what else no basis changes."""
        if not self.categories:  # their numbers stay exact in float32 and in nothing narrower
            g = replace(g, signals=in_precision_of(encoder, g.signals))
        channels, means = encoder(g)
        factors = coefficients_in_frames(channels, g.graph, g.basis)
        fixed = torch.cat([invariants(factors, g.sizes), means], dim=1)
        return BandCoefficients(factors, g.sizes, g.ranks, fixed)


def mean_over_graphs(h: Tensor, graph: Tensor, graphs: int) -> Tensor:
    """The mean of the node features of each graph, (nodes, width) -> (graphs, width)."""
    total = h.new_zeros(graphs, h.shape[1]).index_add(0, graph, h)
    return total / torch.bincount(graph, minlength=graphs).unsqueeze(1)
