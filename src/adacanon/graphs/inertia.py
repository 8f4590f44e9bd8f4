r"""How many eigenvalues of a sparse symmetric matrix lie below a number, by Sylvester's law of inertia.

With diagonal pivots :math:`P(L - \sigma I)P^\top = \tilde L D \tilde L^\top`, and D has as many negative entries as L
has eigenvalues below :math:`\sigma`. Nothing is iterated, so that nothing can be missed: an eigenspace counts with its
whole dimension.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from adacanon.extras import optional
from adacanon.graphs.sparse_operators import Sparse

_PROBES = 4
_SAFETY = 10.0
"""The error of a factorization is estimated by random vectors, and multiplied by this."""

_NARROW = 0.05
"""A matrix is factorized if its mean bandwidth, well ordered, is below this share of its size. It is for meshes, grids,
trees and roads; for random graphs, which have no small separators, the factors would be almost dense."""


@dataclass(frozen=True)
class Factorization:
    """Factors of L - shift * I.

    Attributes:
        factors: scipy's ``SuperLU``.
        below: eigenvalues of L below the shift, or None if diagonal pivots were not enough.
        error: the norm of what the factors do not reproduce: ``below`` is right if no eigenvalue is so close to shift.
    """

    factors: Any
    below: int | None
    error: float


def factorized(matrix: Sparse, shift: float) -> Factorization | None:
    """The factors with diagonal pivots, ordered for little fill; None if the shifted matrix is singular."""
    with optional("A sparse eigensolver"):
        from scipy import sparse
        from scipy.sparse.linalg import splu

    shifted = (matrix - shift * sparse.identity(matrix.shape[0], format="csc")).tocsc()
    try:
        factors = splu(
            shifted, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True, "Equil": False}
        )
    except RuntimeError:  # "Factor is exactly singular"
        return None
    lower, upper = factors.L, factors.U
    symmetric = np.array_equal(factors.perm_r, factors.perm_c)
    below = int((upper.diagonal() < 0).sum()) if symmetric else None
    return Factorization(factors, below, _error(shifted, factors, lower, upper))


def eigenvalues_below(matrix: Sparse, shift: float, *, distance: float) -> int | None:
    """How many eigenvalues are below the shift, if none is closer to it than the distance; None if the factors are not
    exact enough to say.
    """
    found = factorized(matrix, shift)
    if found is None or found.error >= distance:
        return None
    return found.below


def is_narrow(matrix: Sparse) -> bool:
    """Whether factors of the matrix stay sparse, judged by its bandwidth in the order of Cuthill and McKee."""
    with optional("A sparse eigensolver"):
        from scipy.sparse.csgraph import reverse_cuthill_mckee

    nodes = matrix.shape[0]
    order = reverse_cuthill_mckee(matrix.tocsr(), symmetric_mode=True)
    place = np.empty(nodes, dtype=np.int64)
    place[order] = np.arange(nodes)
    entries = matrix.tocoo()
    first = np.arange(nodes)
    np.minimum.at(first, place[entries.row], place[entries.col])
    return float((np.arange(nodes) - first).mean()) <= _NARROW * nodes


def _error(shifted: Sparse, factors: Any, lower: Sparse, upper: Sparse) -> float:
    r"""An estimate of :math:`\|PAP' - \tilde LU\|_F` from above: a Gaussian vector x has
    :math:`\mathbb E\|Ex\|^2 = \|E\|_F^2`.
    """
    x = np.random.default_rng(0).standard_normal((shifted.shape[0], _PROBES))
    expected = np.empty_like(x)
    expected[factors.perm_r] = shifted @ x
    wrong = expected - lower @ (upper @ x[_inverse(factors.perm_c)])
    return _SAFETY * float(np.linalg.norm(wrong, axis=0).max())


def _inverse(order: Any) -> Any:
    inverse = np.empty_like(order)
    inverse[order] = np.arange(len(order))
    return inverse
