"""Partitions of the spectrum into bands (paper: appendix "Band Partition and Band-Preserving Eigenbasis Ambiguity")."""

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from adacanon.arguments import real_number, set_flags, whole_number
from adacanon.errors import InputError
from adacanon.takes import in_order

_ROUNDING = 1e-9
"""Eigenvalues this close to a boundary, relative to the total band, count as lying on it."""


MOST_BANDS = 10**6
"""More bands than a graph could have eigenvalues."""


@dataclass(frozen=True)
class Partition:
    r"""Bands :math:`[b_0, b_1), \dots, [b_{B-1}, b_B]` with boundaries :math:`b_0 < \dots < b_B`.

    The last band is closed, since :math:`\lambda = 2` occurs in every bipartite component. An eigenvalue that equals
    a boundary up to rounding belongs to the band above it.

    Args:
        boundaries: :math:`b_0, \dots, b_B`.
        partial: leave out eigenvalues outside :math:`[b_0, b_B]`, instead of refusing them.

    Example:
        >>> thirds = Partition((0.0, 0.5, 1.5, 2.0))
        >>> thirds.bands, thirds.assign(torch.tensor([0.0, 0.5, 2.0])).tolist()
        (3, [0, 1, 2])
    """

    boundaries: tuple[float, ...]
    partial: bool = False

    def __post_init__(self) -> None:
        boundaries = in_order("Partition", "boundaries", self.boundaries, what="numbers")
        numbers = tuple(b if type(b) in (int, float) else _boundary(b) for b in boundaries)
        object.__setattr__(self, "boundaries", numbers)
        set_flags(self, "partial")
        pairs = list(pairwise(numbers))
        if not pairs or not all(-math.inf < a < b < math.inf for a, b in pairs):  # NaN is not below anything
            raise InputError(f"Band boundaries must be finite and increase, two at least, got {self.boundaries}")

    @property
    def bands(self) -> int:
        """B, the number of bands."""
        return len(self.boundaries) - 1

    @property
    def reach(self) -> tuple[float, float]:
        """The interval of all bands, and what equals its ends up to rounding."""
        return self.boundaries[0] - self._slack, self.boundaries[-1] + self._slack

    @property
    def _slack(self) -> float:
        return _ROUNDING * (self.boundaries[-1] - self.boundaries[0])

    def assign(self, eigenvalues: Tensor) -> Tensor:
        """The band 0 .. B-1 of every eigenvalue; in a partial partition, -1 outside the total band."""
        edges = torch.tensor(self.boundaries, dtype=torch.float64)
        slack = _ROUNDING * float(edges[-1] - edges[0])
        band = torch.bucketize(eigenvalues.double() + slack, edges[1:-1].contiguous(), right=True)
        inside = (eigenvalues >= edges[0] - slack) & (eigenvalues <= edges[-1] + slack)
        if not self.partial and not bool(inside.all()):
            raise InputError(
                f"{int((~inside).sum())} of {inside.numel()} eigenvalues lie outside the bands, which cover "
                f"[{float(edges[0]):g}, {float(edges[-1]):g}]; the spectrum is [{float(eigenvalues.min()):g}, "
                f"{float(eigenvalues.max()):g}]. Hint: give low= and high= to dyadic or uniform, or Partition(..., "
                "partial=True) to leave them out"
            )
        return torch.where(inside, band, -1)


def _boundary(value: Any) -> float:
    """NaN is told by the partition, together with boundaries that do not increase."""
    number = real_number("Partition", "boundaries", 0.0 if value != value else value)
    return math.nan if value != value else number


def dyadic(bands: int, *, decay: float = 0.5, low: float = 0.0, high: float = 2.0) -> Partition:
    r""":math:`b_0 = \text{low},\; b_k = \text{low} + (\text{high}-\text{low})\, r^{B-k}`: finer towards the low end.

    Example:
        >>> dyadic(5).boundaries
        (0.0, 0.125, 0.25, 0.5, 1.0, 2.0)
    """
    bands = whole_number("dyadic", "bands", bands, least=1, most=MOST_BANDS)
    decay, low, high = (real_number("dyadic", n, x) for n, x in (("decay", decay), ("low", low), ("high", high)))
    if not 0 < decay < 1:
        raise InputError(f"A dyadic partition needs 0 < decay < 1, got {decay}")
    return Partition((low, *(low + (high - low) * decay ** (bands - k) for k in range(1, bands)), high))


def uniform(bands: int, *, low: float = 0.0, high: float = 2.0) -> Partition:
    r""":math:`b_k = \text{low} + (\text{high}-\text{low})\,k/B`: bands of equal width.

    Example:
        >>> uniform(4).boundaries
        (0.0, 0.5, 1.0, 1.5, 2.0)
    """
    bands = whole_number("uniform", "bands", bands, least=1, most=MOST_BANDS)
    low, high = (real_number("uniform", n, x) for n, x in (("low", low), ("high", high)))
    return Partition((low, *(low + (high - low) * k / bands for k in range(1, bands)), high))
