"""The change of basis within each band, for analysis and for synthesis (paper: appendix "Node-Level Anisotropic
Nonlinear Filters").
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import register_dataclass

from adacanon.core.family import Family, Searches
from adacanon.core.pictures import Numbers
from adacanon.errors import ShapeError
from adacanon.graphs.band_rotations import BandRotations
from adacanon.graphs.band_search import band_search
from adacanon.graphs.bands import Partition
from adacanon.graphs.coefficients import BandCoefficients
from adacanon.graphs.node_coefficients import NodeCoefficients, node_coefficients
from adacanon.graphs.shift_operators import ShiftOperator
from adacanon.spaces.orthogonal_blocks import OrthogonalBlocks


@dataclass(frozen=True)
class NodeForms:
    r"""A signal in an oriented basis, and the basis.

    Attributes:
        coefficients: :math:`P_k(U_k^\top V_k^\top S)` of all bands, (pairs, :math:`\sum_k J_k`, channels).
        frames: the node vectors that they belong to, as rows, (pairs, :math:`\sum_k J_k`, nodes).
        mask: which nodes are the graph's own, (pairs, nodes).

    Example:
        >>> from torch_geometric.data import Data
        >>> from adacanon.graphs import dyadic
        >>> path = Data(x=torch.eye(3), edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
        >>> family = NodeRotations(dyadic(4), rows=2)
        >>> g = family.prepare(path)
        >>> forms = family.transform(g, family.space(g).identity().float(), torch.tensor([0]))
        >>> forms.coefficients.shape, forms.frames.shape
        (torch.Size([1, 8, 3]), torch.Size([1, 8, 3]))
    """

    coefficients: Tensor
    frames: Tensor
    mask: Tensor


register_dataclass(NodeForms, field_names=["coefficients", "frames", "mask"])


@dataclass(frozen=True)
class NodeRotations(Family):
    r""":math:`\kappa_U(V, S) = \big(P_k(U_k^\top V_k^\top S),\; P_k(U_k^\top V_k^\top\Pi_k)\big)_{k=1}^B` with
    :math:`U_k \in O(M_k)` and :math:`\Pi_k` the orthogonal projection on the span of :math:`V_kV_k^\top S`.

    The first part is what a graph-level filter sees. The second is the frame to synthesize with, the first
    :math:`J_k` columns of :math:`V_kU_k` without what is orthogonal to the signal in band k. With
    :math:`V_kV_k^\top S = W_kR_k` both parts are a block :math:`X_k = (U_k^\top Q_k)_{1..J_k}` times a function of the
    input, :math:`X_kR_k` and :math:`X_kW_k^\top`: the search runs over the same blocks as at graph level, its size does
    not grow with the graph, and with any number of candidates the outcome depends neither on the basis of the
    eigensolver nor on the order of the nodes.

    Why project, where the paper takes :math:`V_kU_k` whole: the coefficients say nothing about directions orthogonal to
    the signal. A filter that used them would write patterns to the nodes that no coefficient stands behind, found by
    a search that starts from whatever basis the eigensolver returned. Nothing is lost to filters that commute with
    rotations of the bands: a rotation that leaves the signal alone must leave their output alone, which is then in the
    span of the signal. And nothing changes where the channels span the band.

    What this means for one channel: it has one dimension in every band, so that the filter multiplies each band by
    numbers. To act along one direction and not along another, it needs channels that differ in direction.

    The set of frames moves continuously with the signal as long as the rank of :math:`V_kV_k^\top S` stays the same in
    every band; the set of coefficients always does.

    Args:
        partition: the bands.
        rows: :math:`J_k`, one number for all bands or one per band.
        operator: the shift operator with which raw graphs are decomposed.

    Example:
        >>> from torch_geometric.data import Data
        >>> from adacanon.graphs import dyadic
        >>> path = Data(x=torch.eye(3), edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
        >>> family = NodeRotations(dyadic(4), rows=2)
        >>> family.space(family.prepare(path)).identity().shape
        torch.Size([1, 4, 2, 2])
    """

    partition: Partition
    rows: int | tuple[int, ...] = 16
    operator: ShiftOperator = "normalized"

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", self._graph_level().rows)

    @property
    def rows_per_band(self) -> tuple[int, ...]:
        """:math:`(J_1, \\dots, J_B)`"""
        return self._graph_level().rows_per_band

    def prepare(self, g: Any) -> NodeCoefficients:
        if isinstance(g, BandCoefficients):
            raise ShapeError(
                "NodeRotations needs node vectors to synthesize with, got BandCoefficients. "
                "Hint: node_coefficients(graphs, partition)"
            )
        if not isinstance(g, NodeCoefficients):
            g = node_coefficients(g, self.partition, operator=self.operator, dtype=torch.get_default_dtype())
        if g.bases.shape[1] != self.partition.bands:
            raise ShapeError(
                f"NodeRotations has {self.partition.bands} bands, but the coefficients have {g.bases.shape[1]}"
            )
        return g

    def space(self, g: NodeCoefficients) -> OrthogonalBlocks:
        return self._graph_level().space(g.coefficients)

    def searches(self) -> Searches:
        """The search of the graph level; draws are ranked in full precision in training too, as in the tables."""
        return band_search(), None

    def real_points(self, g: NodeCoefficients) -> Tensor:
        return g.mask

    def transform(self, g: NodeCoefficients, u: Tensor, owner: Tensor) -> NodeForms:
        factors = g.coefficients.factors
        turned = self._rows(u @ torch.cat([factors, g.bases], dim=-1)[owner])
        coefficients, frames = turned.split([factors.shape[-1], g.bases.shape[-1]], dim=-1)
        return NodeForms(coefficients, frames, g.mask[owner])

    def describe(self, g: NodeCoefficients, u: Tensor, owner: Tensor) -> list[str]:
        return self._graph_level().describe(g.coefficients, u, owner)

    def picture(self, form: NodeForms | NodeCoefficients) -> Numbers:
        return self._graph_level().picture(form.coefficients)

    def _rows(self, turned: Tensor) -> Tensor:
        """The first :math:`J_k` rows of every band, one below the other."""
        if isinstance(self.rows, int):
            return turned.flatten(1, 2)
        return torch.cat([turned[:, k, :rows] for k, rows in enumerate(self.rows)], dim=1)

    def _graph_level(self) -> BandRotations:
        return BandRotations(self.partition, self.rows, self.operator)
