r"""Some eigenpairs of a sparse symmetric matrix, complete: no eigenvector of the wanted set is missing, and no
eigenspace is split.

Lanczos iterations find the largest eigenvalues of a transformed matrix T that has the same eigenvectors:
:math:`(L - \sigma I)^{-1}` where factors stay sparse, and :math:`cI \mp L` elsewhere. An iteration from one vector may
miss copies of a multiple eigenvalue. So what was found is counted against the inertia of :math:`L - \sigma I`, and
where that is not to be had, a second iteration from another vector, orthogonal to what was found, looks for more.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from adacanon.errors import InputError, ScoreError
from adacanon.extras import optional
from adacanon.graphs.inertia import eigenvalues_below, factorized
from adacanon.graphs.sparse_operators import Sparse, largest_entry_sum

TOLERANCE = 1e-10
r"""Largest residual :math:`\|Lv - \lambda v\|` of a pair, as a share of :math:`\|L\|`."""

SAME_EIGENSPACE = 1e-6
r"""Eigenvalues closer than this share of :math:`\|L\|` to their neighbours are treated as one eigenspace."""

_EXTRA = 8
"""Pairs computed beyond the wanted ones: they show where the wanted set ends."""

_AGAIN = 4
"""Pairs that a second iteration looks for."""

_FIRST = 64
"""Pairs that are looked for first where their number is not known; it is doubled until they are enough."""

_BELOW = 1e-5
r"""How far below zero the shift is for matrices without negative eigenvalues, as a share of :math:`\|L\|`."""

_ROUNDS = 50
_RESTARTS = 3000


class TooManyPairsError(InputError):
    """More eigenpairs are wanted than a partial solver is made for."""


@dataclass(frozen=True)
class Pairs:
    """Eigenvalues in increasing order, and eigenvectors as columns (numpy, float64)."""

    values: Any
    vectors: Any

    def where(self, chosen: Any) -> "Pairs":
        """Some of the pairs."""
        return Pairs(self.values[chosen], self.vectors[:, chosen])


@dataclass(frozen=True)
class Transformed:
    """A matrix with the eigenvectors of L whose largest eigenvalues are looked for.

    Attributes:
        matrix: L.
        apply: from vectors to T times them.
        size: the norm of L, or a bound.
        end: which eigenvalues of L come first: the low ones, the high ones, or those in the middle.
        middle: where the middle is.
        factorized: whether T is an inverse.
    """

    matrix: Sparse
    apply: Callable[[Any], Any]
    size: float
    end: Literal["low", "high", "middle"]
    middle: float = 0.0
    factorized: bool = False

    @property
    def nodes(self) -> int:
        """Rows of L."""
        return int(self.matrix.shape[0])

    def depth(self, values: Any) -> Any:
        """How late T finds eigenvalues of L: their distance from where it begins."""
        return {"low": values, "high": -values, "middle": abs(values - self.middle)}[self.end]


def from_below(matrix: Sparse, *, by_factors: bool) -> Transformed:
    """T whose largest eigenvalues belong to the smallest of L."""
    size = _size(matrix)
    found = factorized(matrix, _shift_below(matrix, size)) if by_factors else None
    if found is not None:
        return Transformed(matrix, found.factors.solve, size, "low", factorized=True)
    return Transformed(matrix, lambda x: size * x - matrix @ x, size, "low")


def from_above(matrix: Sparse) -> Transformed:
    """T whose largest eigenvalues belong to the largest of L."""
    size = _size(matrix)
    return Transformed(matrix, lambda x: size * x + matrix @ x, size, "high")


def from_within(matrix: Sparse, low: float, high: float) -> Transformed:
    """T whose largest eigenvalues, up to sign, belong to those of L that are closest to the middle of an interval."""
    with optional("A sparse eigensolver"):
        from scipy import sparse
        from scipy.sparse.linalg import splu

    for nudge in (0.0, 1e-3, -2e-3):
        middle = (low + high) / 2 + nudge * (high - low)
        try:
            factors = splu((matrix - middle * sparse.identity(matrix.shape[0], format="csc")).tocsc())
        except RuntimeError:  # the shift is an eigenvalue
            continue
        return Transformed(matrix, factors.solve, _size(matrix), "middle", middle=middle, factorized=True)
    raise InputError(f"Three numbers in [{low:g}, {high:g}] are eigenvalues. Hint: move the boundaries of the bands")


def lowest_pairs(solver: Transformed, count: int, *, most: int) -> tuple[Pairs, float]:
    """The first ``count`` pairs, and those that complete the last eigenspace; and the next eigenvalue after them."""
    gap, wanted = SAME_EIGENSPACE * solver.size, count + _EXTRA
    while True:
        found = _sorted(solver, _iterate(solver, min(wanted, most)))
        while (end := end_of_eigenspace(found.values, count, gap)) is not None:
            cut = float(found.values[end - 1] + found.values[end]) / 2
            complete = _with_missing(solver, found, cut)
            if len(complete.values) == len(found.values):
                return _checked(solver, found.where(slice(0, end))), float(found.values[end])
            found = complete
        if wanted >= most:
            raise TooManyPairsError(
                f"The eigenspace of {float(found.values[-1]):.6g} begins before eigenpair {count} and goes on after "
                f"eigenpair {len(found.values)}. Hint: ask for fewer eigenpairs, so that it is left out, or use the "
                "dense solver"
            )
        wanted *= 2


def pairs_up_to(solver: Transformed, limit: float, *, most: int) -> Pairs:
    """All pairs whose depth is at most the limit."""
    wanted = _FIRST
    while True:
        found = _sorted(solver, _iterate(solver, min(wanted, most)))
        depth = solver.depth(found.values)
        if depth.max() > limit or len(depth) >= solver.nodes - 1:
            found = _with_missing(solver, found, limit)
            return _checked(solver, found.where(solver.depth(found.values) <= limit))
        if wanted >= most:
            raise TooManyPairsError(
                f"The bands hold more than {len(depth)} of {solver.nodes} eigenvalues, more than a partial eigensolver "
                "is for. Hint: narrower bands, such as lowest_bands(graph, 64)"
            )
        wanted *= 2


def _size(matrix: Sparse) -> float:
    return largest_entry_sum(matrix) or 1.0


def end_of_eigenspace(values: Any, count: int, gap: float) -> int | None:
    """The first place from ``count`` on where the next value is farther than the gap."""
    ends = np.flatnonzero(np.diff(np.asarray(values))[count - 1 :] > gap)
    return count + int(ends[0]) if len(ends) else None


def _shift_below(matrix: Sparse, size: float) -> float:
    """A number below all eigenvalues: close below zero if none is negative."""
    return -_BELOW * size if not _may_be_negative(matrix, size) else -(1 + _BELOW) * size


def _may_be_negative(matrix: Sparse, size: float) -> bool:
    """Whether L has eigenvalues clearly below zero, or it cannot be told."""
    return eigenvalues_below(matrix, -_BELOW * size, distance=_BELOW * size / 2) != 0


def _iterate(solver: Transformed, count: int, *, known: Any = None, seed: int = 0) -> Any:
    """Vectors that span the eigenspaces of the ``count`` largest eigenvalues of T, orthogonal to the known ones."""
    with optional("A sparse eigensolver"):
        from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

    nodes = solver.matrix.shape[0]

    def apply(x: Any) -> Any:
        return solver.apply(x) if known is None else _without(known, solver.apply(_without(known, x)))

    start = np.random.default_rng(seed).standard_normal(nodes)
    count = min(count, nodes - 1)
    try:
        _, vectors = eigsh(
            LinearOperator((nodes, nodes), matvec=lambda x: apply(x.ravel()), dtype=np.float64),
            k=count,
            which="LM",
            v0=start if known is None else _without(known, start),
            ncv=min(nodes, max(2 * count + 16, 40)),
            tol=0 if solver.factorized else TOLERANCE / 10,
            maxiter=_RESTARTS,
        )
    except ArpackError as error:
        raise ScoreError(
            f"The eigensolver did not converge on {count} eigenpairs of {nodes} nodes ({error}). "
            "Hint: ask for fewer eigenpairs, or use the dense solver"
        ) from error
    return vectors if known is None else _without(known, vectors)


def _sorted(solver: Transformed, vectors: Any) -> Pairs:
    """Rayleigh-Ritz in the span of the vectors, in the order in which T finds them."""
    basis, _ = np.linalg.qr(vectors)
    values, turn = np.linalg.eigh(basis.T @ (solver.matrix @ basis))
    order = np.argsort(solver.depth(values), kind="stable")
    return Pairs(values[order], (basis @ turn)[:, order])


def _with_missing(solver: Transformed, found: Pairs, limit: float) -> Pairs:
    """What was found, with all further pairs whose depth is at most the limit."""
    for seed in range(1, _ROUNDS):
        if len(found.values) > solver.nodes - 2 or _counted(solver, found, limit):
            return found
        again = min(_AGAIN, solver.nodes - len(found.values) - 1)
        extra = _sorted(solver, _iterate(solver, again, known=found.vectors, seed=seed))
        close = solver.depth(extra.values) <= limit
        if not close.any():
            return found
        found = _sorted(solver, np.concatenate([found.vectors, extra.vectors[:, close]], axis=1))
    raise ScoreError(f"After {_ROUNDS} iterations eigenpairs are still missing. Hint: use the dense solver")


def _counted(solver: Transformed, found: Pairs, limit: float) -> bool:
    """Whether the inertia proves that no pair up to the limit is missing."""
    if not solver.factorized:
        return False
    inside = solver.depth(found.values) <= limit
    ends = (-np.inf, limit) if solver.end == "low" else (solver.middle - limit, solver.middle + limit)
    first, last = (_below(solver, found, end) for end in ends)
    return first is not None and last is not None and last - first == int(inside.sum())


def _below(solver: Transformed, found: Pairs, cut: float) -> int | None:
    """Eigenvalues below the middle of the gap that what was found shows around the cut."""
    if np.isinf(cut):
        return 0
    under, over = found.values[found.values <= cut], found.values[found.values > cut]
    if len(under) and len(over):
        cut = float(under.max() + over.min()) / 2
    distance = float(abs(found.values - cut).min())
    return eigenvalues_below(solver.matrix, cut, distance=distance)


def _without(known: Any, x: Any) -> Any:
    return x - known @ (known.T @ x)


def _checked(solver: Transformed, found: Pairs) -> Pairs:
    """In increasing order, and with small residuals."""
    order = np.argsort(found.values, kind="stable")
    found = found.where(order)
    residual = np.linalg.norm(solver.matrix @ found.vectors - found.vectors * found.values, axis=0)
    worst = float(residual.max()) if len(residual) else 0.0
    if worst > TOLERANCE * solver.size:
        raise ScoreError(
            f"Eigenpairs have residuals up to {worst:.2g}, more than the tolerance {TOLERANCE * solver.size:.2g}. "
            "Hint: ask for fewer eigenpairs, or use the dense solver"
        )
    return found
