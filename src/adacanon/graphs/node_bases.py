"""Changes of basis for answers at every node: candidates that are constants, and the features of the nodes beside."""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch.utils._pytree import register_dataclass

from adacanon.arguments import whole_number
from adacanon.core.family import Family, Searches
from adacanon.core.pictures import Numbers
from adacanon.errors import InputError, ShapeError
from adacanon.graphs.coefficients import list_of_graphs, node_signal
from adacanon.graphs.node_coefficients import NodeCoefficients
from adacanon.graphs.node_rotations import NodeForms, NodeRotations
from adacanon.maximizers.anchored import AnchoredSearch
from adacanon.spaces.orthogonal_blocks import OrthogonalBlocks

_CONSTANT = 0
"""Seed of the candidates. It is no argument: the candidates are part of the definition of the family."""

_NUMBERS_AT_A_TIME = 2**22
"""Of the frames in one evaluation of a network; more do not stay in the cache."""


@dataclass(frozen=True)
class NodeInputs:
    """What a network with an answer per node reads of graphs.

    Attributes:
        spectral: coefficients and node vectors of the bands.
        features: of the nodes themselves, (graphs, nodes, channels), zero at padding.

    Example:
        >>> from torch_geometric.data import Data
        >>> from adacanon.graphs import dyadic
        >>> path = Data(x=torch.eye(3), edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
        >>> inputs = NodeBases(NodeRotations(dyadic(4), rows=2)).prepare([path, path])
        >>> len(inputs), inputs.features.shape, inputs[:1].mask.shape
        (2, torch.Size([2, 3, 3]), torch.Size([1, 3]))
    """

    spectral: NodeCoefficients
    features: Tensor

    def __len__(self) -> int:
        return len(self.spectral)

    def __getitem__(self, index: Tensor | slice) -> "NodeInputs":
        """Some of the graphs."""
        spectral = self.spectral[index]
        return NodeInputs(spectral, self.features[index][:, : spectral.mask.shape[1]])

    @property
    def mask(self) -> Tensor:
        """Which nodes are real, (graphs, nodes)."""
        return self.spectral.mask

    def to(self, *target: Any) -> "NodeInputs":
        """Move or cast."""
        return NodeInputs(self.spectral.to(*target), self.features.to(*target))


register_dataclass(NodeInputs, field_names=["spectral", "features"])


@dataclass(frozen=True)
class NodeBases(Family):
    r"""Node-level forms and the features of the nodes beside them, :math:`\kappa_U(V, S) = (\kappa'_U(V, S),\, S)` with
    :math:`\kappa'` of :class:`NodeRotations`, over a finite set of :math:`U` that is the same in every call.

    The candidates are the identity, which is the Gram-Schmidt frame of the channels in every band, and constant blocks
    of orthogonal matrices after it. They are told in coordinates that the Gram matrices of the bands determine, so that
    neither the eigensolver, nor the order of the nodes, nor a random number has an influence on the answer.

    Args:
        rotations: bands, rows per band and shift operator.
        candidates: how many there are.

    Example:
        >>> from torch_geometric.data import Data
        >>> from adacanon.graphs import dyadic
        >>> path = Data(x=torch.eye(3), edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
        >>> family = NodeBases(NodeRotations(dyadic(4), rows=2), candidates=5)
        >>> family.anchor(family.prepare(path)).shape  # graphs, candidates, bands, rows, width
        torch.Size([1, 5, 4, 2, 2])
    """

    rotations: NodeRotations
    candidates: int = 16

    def __post_init__(self) -> None:
        if not isinstance(self.rotations, NodeRotations):
            raise InputError(f"NodeBases needs NodeRotations, got {self.rotations!r}. Hint: NodeRotations(dyadic(8))")
        object.__setattr__(self, "candidates", whole_number("NodeBases", "candidates", self.candidates, least=1))

    def prepare(self, g: Any) -> NodeInputs:
        if isinstance(g, NodeInputs):
            self.rotations.prepare(g.spectral)
            return g
        if isinstance(g, NodeCoefficients):
            raise ShapeError("NodeBases reads node features too, got NodeCoefficients alone. Hint: give the graphs")
        graphs = list_of_graphs(g)
        spectral = self.rotations.prepare(graphs)
        nodes = spectral.mask.shape[1]
        signals = [node_signal(graph, index) for index, graph in enumerate(graphs)]
        features = torch.stack([functional.pad(x, (0, 0, 0, nodes - len(x))) for x in signals])
        return NodeInputs(spectral, features.to(spectral.bases))

    def space(self, g: NodeInputs) -> OrthogonalBlocks:
        return self.rotations.space(g.spectral)

    def searches(self) -> Searches:
        """All candidates, in training too."""
        return AnchoredSearch(1), None

    def anchor(self, g: NodeInputs) -> Tensor:
        space, generator = self.space(g), torch.Generator().manual_seed(_CONSTANT)
        drawn = space.sample(self.candidates - 1, generator=generator) if self.candidates > 1 else None
        blocks = space.identity().unsqueeze(0).to(g.spectral.bases)
        if drawn is not None:
            blocks = torch.cat([blocks, drawn.to(blocks)])
        return blocks.transpose(0, 1)

    def real_points(self, g: NodeInputs) -> Tensor:
        return g.mask

    def chunk_size(self, g: NodeInputs) -> int:
        rows = sum(self.rotations.rows_per_band) + g.features.shape[2]
        return max(1, _NUMBERS_AT_A_TIME // (rows * g.mask.shape[1]))

    def transform(self, g: NodeInputs, u: Tensor, owner: Tensor) -> tuple[NodeForms, Tensor]:
        features = g.features.expand(len(owner), -1, -1) if len(g) == 1 else g.features[owner]
        return self.rotations.transform(g.spectral, u, owner), features

    def describe(self, g: NodeInputs, u: Tensor, owner: Tensor) -> list[str]:
        return self.rotations.describe(g.spectral, u, owner)

    def picture(self, form: Any) -> Numbers:
        return self.rotations.picture(form.spectral if isinstance(form, NodeInputs) else form[0])
