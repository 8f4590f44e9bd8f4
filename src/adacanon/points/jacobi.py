"""Eigenvectors of symmetric matrices of size 3 by operations that every runtime has."""

import torch
from torch import Tensor

SWEEPS = 5
"""Rotations of every pair of axes; convergence is at least quadratic, and these reach rounding in float64."""

PAIRS = ((0, 1), (0, 2), (1, 2))

State = tuple[Tensor, Tensor]
"""Matrices that become diagonal, and the rotations that have made them so."""


def proper_eigenvectors(matrices: Tensor) -> Tensor:
    r"""Rotations V whose columns are eigenvectors of :math:`A = V\Lambda V^\top`, eigenvalues ascending.

    Jacobi's method, :math:`A \leftarrow J^\top A J` with a rotation J in the plane of two axes that makes their
    entry of A zero. ``torch.linalg.eigh`` is faster; this one is for programs that are exported, because formats such
    as ONNX have no eigensolver.

    Shape:
        (..., 3, 3) -> (..., 3, 3)

    Example:
        >>> proper_eigenvectors(torch.tensor([[2.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 3.0]])).abs().int().tolist()
        [[0, 1, 0], [1, 0, 0], [0, 0, 1]]
    """
    matrices = matrices / _or_one(matrices.abs().amax((-2, -1), keepdim=True))  # squares of tiny numbers would be zero
    start = matrices, torch.eye(3, dtype=matrices.dtype, device=matrices.device).repeat(*matrices.shape[:-2], 1, 1)
    diagonal, vectors = _after_all_turns(start, planes().to(matrices).repeat(SWEEPS, 1, 1, 1))
    order = diagonal.diagonal(dim1=-2, dim2=-1).argsort(-1)
    first, second, _ = vectors.gather(-1, order.unsqueeze(-2).expand_as(vectors)).unbind(-1)
    return torch.stack([first, second, torch.linalg.cross(first, second)], -1)


def planes() -> Tensor:
    """For every pair of axes p and q three matrices, (pairs, 3, 3, 3): the projection on their plane, a quarter turn
    of q into p within it, and the signs of the difference of the entries (q, q) and (p, p).
    """
    return torch.tensor([[_projection(p, q), _quarter_turn(p, q), _difference(p, q)] for p, q in PAIRS])


def _after_all_turns(state: State, steps: Tensor) -> State:
    if torch.compiler.is_exporting():  # a loop of the program, instead of a program of fifteen times the length
        from torch._higher_order_ops.scan import scan

        state, _ = scan(lambda state, step: (_turned(state, step), step.new_zeros(1)), state, steps)
        return state
    for step in steps:
        state = _turned(state, step)
    return state


def _turned(state: State, step: Tensor) -> State:
    r"""Turn by the smaller of the two angles that make the entry of the two axes zero:
    :math:`\tan\theta = \frac{2a_{pq}\,\mathrm{sign}(d)}{|d| + \sqrt{d^2 + 4a_{pq}^2}}`, :math:`d = a_{qq} - a_{pp}`.
    """
    (matrices, vectors), (plane, quarter, difference) = state, step.unbind(0)
    twice, gap = (matrices * quarter.abs()).sum((-2, -1)), (matrices * difference).sum((-2, -1))
    bottom = _or_one(gap.abs() + (gap.square() + twice.square()).sqrt())
    tangent = torch.where(gap < 0, -twice, twice) / bottom
    cosine = (1 + tangent.square()).rsqrt()[..., None, None]
    turn = torch.eye(3, dtype=plane.dtype, device=plane.device) - plane
    turn = turn + cosine * (plane + tangent[..., None, None] * quarter)
    return turn.mT @ matrices @ turn, vectors @ turn


def _or_one(divisor: Tensor) -> Tensor:
    """One where there is nothing to divide. Not the smallest number: runtimes may hold it in float32, where it is 0."""
    return torch.where(divisor > 0, divisor, torch.ones_like(divisor))


def _projection(p: int, q: int) -> list[list[float]]:
    return [[float(i == j and i in (p, q)) for j in range(3)] for i in range(3)]


def _quarter_turn(p: int, q: int) -> list[list[float]]:
    return [[float((i, j) == (p, q)) - float((i, j) == (q, p)) for j in range(3)] for i in range(3)]


def _difference(p: int, q: int) -> list[list[float]]:
    return [[float(i == j == q) - float(i == j == p) for j in range(3)] for i in range(3)]
