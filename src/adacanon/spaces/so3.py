"""The rotation group SO(3): points are matrices (..., 3, 3), quaternions are (x, y, z, w) as in roma."""

import itertools
import math
from dataclasses import dataclass
from functools import cache

import torch
from torch import Tensor

from adacanon.arguments import whole_number
from adacanon.core.space import Space
from adacanon.errors import ShapeError, UnknownNameError
from adacanon.takes import takes, text, whole


@dataclass(frozen=True)
class SO3(Space):
    r"""Rotations of three-dimensional space, :math:`\{R : R^\top R = I, \det R = 1\}`, with the angle as distance.

    Draws are Haar (a normalised Gaussian quaternion); tangent steps are :math:`R\exp(\Omega)` by Rodrigues' formula.

    Example:
        >>> SO3().cover(100).shape
        torch.Size([100, 3, 3])
    """

    @property
    def diameter(self) -> float:
        return math.pi

    def sample(self, count: int, *, generator: torch.Generator | None = None) -> Tensor:
        quaternions = torch.randn(count, 4, generator=generator, dtype=torch.float64)
        return quaternion_to_matrix(quaternions)

    def project(self, u: Tensor) -> Tensor:
        import roma

        return roma.special_procrustes(_matrices(u))

    def tangent(self, u: Tensor, v: Tensor) -> Tensor:
        w = u.mT @ v
        return u @ (w - w.mT) / 2

    def retract(self, u: Tensor, v: Tensor) -> Tensor:
        import roma

        w = u.mT @ v
        rotation_vector = torch.stack([w[..., 2, 1], w[..., 0, 2], w[..., 1, 0]], dim=-1)
        return u @ roma.rotvec_to_rotmat(rotation_vector)

    def norm(self, v: Tensor) -> Tensor:
        return v.flatten(-2).norm(dim=-1) / math.sqrt(2)

    def distance(self, u: Tensor, v: Tensor) -> Tensor:
        """The angle of the relative rotation; accurate also near zero, where the arc cosine is not."""
        half_chord = (_matrices(u) - _matrices(v)).flatten(-2).norm(dim=-1) / math.sqrt(8)
        return 2 * half_chord.clamp(max=1).asin()

    def identity(self) -> Tensor:
        return torch.eye(3, dtype=torch.float64)

    def compose(self, u: Tensor, v: Tensor) -> Tensor:
        return u @ v

    def cover(self, count: int | None = None) -> Tensor:
        """The super-Fibonacci set of ``count`` rotations."""
        return super_fibonacci(whole_number("SO3.cover", "count", count, least=1, hint="GridSearch(100)"))


def quaternion_to_matrix(quaternions: Tensor) -> Tensor:
    """Rotation matrices (..., 3, 3) of quaternions (..., 4) of any non-zero length, order (x, y, z, w)."""
    import roma

    return roma.unitquat_to_rotmat(quaternions / quaternions.norm(dim=-1, keepdim=True))


@takes(count=whole(1))
def super_fibonacci(count: int) -> Tensor:
    r"""An evenly spread set of any size on SO(3): two spirals with irrational slopes
    :math:`\phi = \sqrt2` and :math:`\psi \approx 1.5338` on the sphere of unit quaternions.

    Example:
        >>> super_fibonacci(100).shape
        torch.Size([100, 3, 3])

    Reference: Alexa, "Super-Fibonacci Spirals: Fast, Low-Discrepancy Sampling of SO(3)", CVPR 2022.
    """
    count = whole_number("super_fibonacci", "count", count, least=1)
    rotations = torch.empty(count, 3, 3, dtype=torch.float64)
    for block in torch.arange(count).split(1024):  # so that a large set takes no more memory than itself
        rotations[block] = _spiral(block, count)
    return rotations


def _spiral(index: Tensor, count: int) -> Tensor:
    psi = 1.533751168755204288118041
    s = index.double() + 0.5
    inner, outer = (s / count).sqrt(), (1 - s / count).sqrt()
    alpha, beta = 2 * math.pi * s / math.sqrt(2), 2 * math.pi * s / psi
    return quaternion_to_matrix(
        torch.stack([inner * alpha.sin(), inner * alpha.cos(), outer * beta.sin(), outer * beta.cos()], dim=-1)
    )


@takes(solid=text)
def rotation_group(solid: str) -> Tensor:
    """The rotations of a platonic solid: ``"tetrahedron"`` (12), ``"cube"`` (24) or ``"icosahedron"`` (60).

    Example:
        >>> [len(rotation_group(solid)) for solid in ("tetrahedron", "cube", "icosahedron")]
        [12, 24, 60]
    """
    if solid not in _GROUPS:
        raise UnknownNameError(
            f"Rotation groups exist for {', '.join(_GROUPS)}; got {solid!r}. "
            "Hint: for other sizes, super_fibonacci(count)"
        )
    return torch.tensor(_rotations_of(solid), dtype=torch.float64)


@cache
def _rotations_of(solid: str) -> list[list[list[float]]]:
    """The rotations as numbers, which no caller can change, and which are constants of an exported program."""
    quaternions = torch.tensor(_GROUPS[solid](), dtype=torch.float64)
    return quaternion_to_matrix(_one_of_each_pair(quaternions)).tolist()


def _units() -> list[tuple[float, ...]]:
    """Tetrahedral quaternions: ±1, ±i, ±j, ±k and (±1 ±i ±j ±k)/2."""
    axes = [tuple(sign if a == b else 0.0 for b in range(4)) for a in range(4) for sign in (1.0, -1.0)]
    return axes + [tuple(signs) for signs in itertools.product((0.5, -0.5), repeat=4)]


def _cubic() -> list[tuple[float, ...]]:
    """Octahedral quaternions: the tetrahedral ones and all (±1 ±1 0 0)/√2."""
    half = math.sqrt(0.5)
    pairs = [
        tuple(s if i == a else t if i == b else 0.0 for i in range(4))
        for a, b in itertools.combinations(range(4), 2)
        for s in (half, -half)
        for t in (half, -half)
    ]
    return _units() + pairs


def _icosahedral() -> list[tuple[float, ...]]:
    """Icosahedral quaternions: the tetrahedral ones and all even permutations of (±φ ±1 ±1/φ 0)/2."""
    golden = (1 + math.sqrt(5)) / 2
    even = [p for p in itertools.permutations(range(4)) if _is_even(p)]
    values = [(a * golden / 2, b / 2, c / golden / 2, 0.0) for a in (1, -1) for b in (1, -1) for c in (1, -1)]
    return _units() + [tuple(value[p[i]] for i in range(4)) for value in values for p in even]


def _is_even(permutation: tuple[int, ...]) -> bool:
    inversions = sum(a > b for a, b in itertools.combinations(permutation, 2))
    return inversions % 2 == 0


def _one_of_each_pair(quaternions: Tensor) -> Tensor:
    """q and -q are the same rotation: keep the one whose last non-zero entry is positive."""
    reverse = quaternions.flip(-1)
    leading = reverse.gather(1, (reverse.abs() > 1e-9).int().argmax(1, keepdim=True))
    return quaternions[leading.squeeze(1) > 0]


_GROUPS = {"tetrahedron": _units, "cube": _cubic, "icosahedron": _icosahedral}


def _matrices(u: Tensor) -> Tensor:
    if u.shape[-2:] != (3, 3):
        raise ShapeError(f"SO3 expects rotation matrices of shape (..., 3, 3), got {tuple(u.shape)}")
    return u
