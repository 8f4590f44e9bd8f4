"""Which of some samples a method named rightly, and how two methods on the same samples compare."""

import math
from dataclasses import dataclass
from typing import Literal

from torch import Tensor

from adacanon.errors import InputError

ERRORS = 2
"""A difference counts if it is larger than this many standard errors."""

Standing = Literal["above", "level with", "below"]


@dataclass(frozen=True)
class Hits:
    """The outcome for every sample, 1 if it was named rightly and 0 if not.

    Example:
        >>> Hits("1101").accuracy, round(Hits("1101").error, 1), str(Hits("1101"))
        (75.0, 21.7, '75.0 ± 21.7 %')
    """

    outcomes: str

    def __post_init__(self) -> None:
        if not self.outcomes or set(self.outcomes) - {"0", "1"}:
            raise InputError(f"Expected a 0 or a 1 for every sample, got {self.outcomes[:20]!r}")

    @classmethod
    def of(cls, right: Tensor) -> "Hits":
        """From booleans, (samples,)."""
        return cls("".join("1" if hit else "0" for hit in right.tolist()))

    def __len__(self) -> int:
        return len(self.outcomes)

    def __str__(self) -> str:
        return f"{self.accuracy:.1f} ± {self.error:.1f} %"

    @property
    def accuracy(self) -> float:
        """In percent."""
        return 100 * self.outcomes.count("1") / len(self)

    @property
    def error(self) -> float:
        r"""One standard error of the accuracy over samples, :math:`\sqrt{p(1-p)/n}`, in points."""
        share = self.accuracy / 100
        return 100 * math.sqrt(share * (1 - share) / len(self))

    def differing(self, other: "Hits") -> int:
        """Samples that one named rightly and the other did not."""
        return sum(a != b for a, b in zip(self.outcomes, other.outcomes, strict=True))


@dataclass(frozen=True)
class Difference:
    """Of two accuracies on the same samples, in points, with its standard error."""

    points: float
    error: float

    @classmethod
    def of(cls, first: Hits, second: Hits) -> "Difference":
        """Sample by sample: samples that both name rightly, or neither does, do not blur it.

        Example:
            >>> Difference.of(Hits("1110"), Hits("0010")).points
            50.0
        """
        if len(first) != len(second):
            raise InputError(f"Expected outcomes for the same samples, got {len(first)} and {len(second)}")
        gaps = [int(a) - int(b) for a, b in zip(first.outcomes, second.outcomes, strict=True)]
        mean = sum(gaps) / len(gaps)
        variance = sum((gap - mean) ** 2 for gap in gaps) / len(gaps)
        return cls(100 * mean, 100 * math.sqrt(variance / len(gaps)))

    def __str__(self) -> str:
        return f"{self.points:+.1f} ± {self.error:.1f} points"

    @property
    def standing(self) -> Standing:
        """Of the first, seen from the second."""
        if abs(self.points) <= ERRORS * self.error:
            return "level with"
        return "above" if self.points > 0 else "below"
