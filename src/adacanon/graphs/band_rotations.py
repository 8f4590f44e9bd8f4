"""The change of basis within each band (paper: section "Anisotropic nonlinear spectral filters")."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from adacanon.arguments import MOST, whole_number
from adacanon.core.family import Family, Fused, Searches
from adacanon.core.pictures import Numbers
from adacanon.core.pytree import Tree
from adacanon.errors import InputError, ShapeError, UnknownNameError
from adacanon.graphs.band_search import band_search
from adacanon.graphs.bands import Partition
from adacanon.graphs.coefficients import BandCoefficients, band_coefficients
from adacanon.graphs.lifted_mlp import LiftedMLP
from adacanon.graphs.shift_operators import ShiftOperator, known_operator
from adacanon.graphs.spectral_mlp import SpectralMLP
from adacanon.graphs.symmetric_factors import symmetric_coefficients
from adacanon.graphs.words import basis_change_in_words, coefficients_by_band
from adacanon.spaces.orthogonal_blocks import OrthogonalBlocks

FACTORS = ("triangular", "symmetric")


@dataclass(frozen=True)
class BandRotations(Family):
    r""":math:`\kappa_U(V, S) = \big(P_k(U_k^\top V_k^\top S)\big)_{k=1}^B` with :math:`U_k \in O(M_k)`.

    :math:`P_k` keeps the first :math:`J_k` rows or pads with zeros. The paper prints the coefficients as
    :math:`C_kU_k`; its derivation, and the shapes, say :math:`U_k^\top C_k`. The search runs over the blocks of
    :math:`U_k` that the result depends on, an exact reduction whose size does not grow with the graph.

    Args:
        partition: the bands.
        rows: :math:`J_k`, one number for all bands or one per band.
        operator: the shift operator with which raw graphs are decomposed.
        factor: "triangular", or "symmetric" for coefficients that are continuous in the node features also where the
            rank of a band changes; in bands of fewer dimensions than channels it searches over more bases
            (:mod:`~adacanon.graphs.symmetric_factors`), and its blocks are as wide as there are channels.

    Shape:
        transform gives (pairs, :math:`\sum_k J_k`, channels), beside the invariants of each graph if there are any.

    Example:
        >>> from torch_geometric.data import Data
        >>> from adacanon.graphs import dyadic
        >>> path = Data(x=torch.eye(3), edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
        >>> family = BandRotations(dyadic(4), rows=2)
        >>> g = family.prepare([path, path])
        >>> family.space(g).identity().shape
        torch.Size([2, 4, 2, 2])
    """

    partition: Partition
    rows: int | tuple[int, ...] = 16
    operator: ShiftOperator = "normalized"
    factor: str = "triangular"

    def __repr__(self) -> str:
        # The default is not named: saved models know their family by this text.
        other = "" if self.factor == "triangular" else f", factor={self.factor!r}"
        return f"BandRotations(partition={self.partition!r}, rows={self.rows!r}, operator={self.operator!r}{other})"

    def __post_init__(self) -> None:
        if not isinstance(self.partition, Partition):
            raise InputError(f"BandRotations needs a partition, got {self.partition!r}. Hint: BandRotations(dyadic(8))")
        if isinstance(self.operator, str):
            known_operator(self.operator)
        if not isinstance(self.factor, str) or self.factor not in FACTORS:
            raise UnknownNameError(f"Factors of band coefficients are {', '.join(FACTORS)}; got {self.factor!r}")
        several = isinstance(self.rows, tuple | list)
        each: Any = self.rows if several else (self.rows,)
        rows = tuple(whole_number("BandRotations", "rows", row, least=1, most=MOST) for row in each)
        if several and len(rows) != self.partition.bands:
            raise InputError(
                f"rows must be one number, or one for each of the {self.partition.bands} bands, got {self.rows}"
            )
        object.__setattr__(self, "rows", rows if several else rows[0])

    @property
    def rows_per_band(self) -> tuple[int, ...]:
        """:math:`(J_1, \\dots, J_B)`"""
        return (self.rows,) * self.partition.bands if isinstance(self.rows, int) else self.rows

    def prepare(self, g: Any) -> BandCoefficients:
        if not isinstance(g, BandCoefficients):
            g = self._coefficients(g)
        if g.sizes.shape[1] != self.partition.bands:
            raise ShapeError(
                f"BandRotations has {self.partition.bands} bands, but the coefficients have {g.sizes.shape[1]}"
            )
        return g

    def _coefficients(self, g: Any) -> BandCoefficients:
        dtype = torch.get_default_dtype()
        if self.factor == "symmetric":
            return symmetric_coefficients(g, self.partition, operator=self.operator, dtype=dtype)
        return band_coefficients(g, self.partition, operator=self.operator, dtype=dtype)

    def space(self, g: BandCoefficients) -> OrthogonalBlocks:
        width, dtype = int(g.factors.shape[2]), g.factors.dtype
        return OrthogonalBlocks(g.sizes, rows=self.rows_per_band, columns=g.ranks, width=width, dtype=dtype)

    def searches(self) -> Searches:
        return band_search(), band_search(low_precision=True)

    def transform(self, g: BandCoefficients, u: Tensor, owner: Tensor) -> Tree:
        rotated = u @ g.factors[owner]
        if isinstance(self.rows, int):
            rotated = rotated.flatten(1, 2)
        else:
            rotated = torch.cat([rotated[:, k, :rows] for k, rows in enumerate(self.rows)], dim=1)
        return rotated if g.invariants is None else (rotated, g.invariants[owner])

    def describe(self, g: BandCoefficients, u: Tensor, owner: Tensor) -> list[str]:
        owners = owner.tolist()
        return [basis_change_in_words(x, g.factors[i], g.sizes[i]) for x, i in zip(u, owners, strict=True)]

    def picture(self, form: Tree) -> Numbers:
        """Coefficients by band; of a graph as it came, those in the basis that the Gram matrices determine."""
        if isinstance(form, BandCoefficients):
            bands, width, _ = form.factors.shape
            return coefficients_by_band(form.factors.flatten(0, 1), (width,) * bands)
        return coefficients_by_band(form if isinstance(form, Tensor) else form[0], self.rows_per_band)

    def fused(self, network: Callable[[Tree], Tensor], g: BandCoefficients) -> Fused | None:
        r"""The first layer on rotated coefficients is :math:`W\,\mathrm{vec}(XR) = A\,\mathrm{vec}(X)`, where
        :math:`A` depends on the graph alone: it is formed once per batch, for all candidates and classes.
        """
        autocast = torch.is_autocast_enabled(g.factors.device.type)
        if (
            autocast
            or not isinstance(self.rows, int)
            or not isinstance(network, SpectralMLP)
            or not network.takes(sum(self.rows_per_band), g)
        ):
            return None
        return LiftedMLP(network, g, self.rows)
