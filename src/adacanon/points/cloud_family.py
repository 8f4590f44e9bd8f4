"""What families on clouds have in common: a matrix turns the vectors of all points, and the rest is handed on."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from adacanon.core.answers import Carried, Kind
from adacanon.core.family import Family, Searches
from adacanon.core.pictures import Points
from adacanon.errors import InputError, ShapeError
from adacanon.maximizers.coarse_to_fine import CoarseToFine
from adacanon.maximizers.random_search import RandomSearch
from adacanon.maximizers.ranker import Ranker, view_ranker
from adacanon.points.checks import check_mask
from adacanon.points.neighbours import farthest_points
from adacanon.points.pointnet import PointNet
from adacanon.points.unpacked import Unpacked
from adacanon.points.words import isometry_in_words

DRAWS = 50
"""Of the searches that are used where none is named."""

RANKER_POINTS, RANKER_WIDTHS, RANKER_HEAD = 128, (32, 64, 256), (128,)
"""The view and the layers of a light network that orders candidates."""

RANKER_SHARE, LEAST_POINTS = 32, 24
"""The share of the points on which a copy of the network orders candidates, where these are enough."""

Clouds = Tensor | tuple[Tensor, ...]
"""Points alone, or points and what stands beside them."""


class CloudFamily(Family):
    r""":math:`\kappa_u(X) = XM_u^\top` for clouds X whose rows are points, with orthogonal matrices :math:`M_u`.

    A point has one vector or several, which all turn alike: its coordinates, and perhaps a normal, or features that are
    vectors.

    A batch is a tensor of points, or a tuple of points and what stands beside them, which every form gets as it is: a
    mask (batch, points) of booleans, True for real points, where clouds are padded to a common size; numbers of every
    point that do not turn, such as the element of an atom (batch, points, elements); or numbers of the whole cloud,
    such as its category (batch, categories). Networks of several arguments take such forms by
    :class:`~adacanon.points.unpacked.Unpacked`.

    Shape:
        points (batch, points, 3 * vectors), the numbers of a vector side by side, coordinates first

    Example:
        >>> from adacanon.points import Rotations
        >>> family = Rotations(vectors=2)  # points with normals
        >>> isinstance(family, CloudFamily), family.prepare(torch.randn(4, 100, 6)).shape
        (True, torch.Size([4, 100, 6]))
    """

    @property
    @abstractmethod
    def vectors(self) -> int:
        """How many a point has: one for coordinates, two with normals."""

    @abstractmethod
    def matrices(self, u: Tensor) -> Tensor:
        """The matrices :math:`M_u`, (..., 3, 3)."""

    def prepare(self, g: Any) -> Clouds:
        points, *beside = g if isinstance(g, tuple | list) and g else (g,)
        self._check_one_tensor(g)
        self._check(points)
        if any(not isinstance(x, Tensor) or x.dim() < 1 or x.shape[0] != points.shape[0] for x in beside):
            came = [tuple(x.shape) if isinstance(x, Tensor) else type(x).__name__ for x in beside]
            raise ShapeError(
                f"{type(self).__name__} expects tensors with one row for each of {len(points)} clouds beside the "
                f"points, got {came}. Hint: a mask (batch, points), a category (batch, categories)"
            )
        if torch.compiler.is_exporting():  # a program does not look at values
            return (points, *beside) if beside else points
        for x in beside:
            _check_no_mask_of_numbers(type(self).__name__, x, points)
        clouds = (points, *beside) if beside else points
        mask = mask_of(clouds)
        if mask is not None:
            check_mask(type(self).__name__, mask, points)
            if not bool(points.detach().sum().isfinite()):  # padding may be anything
                return points.masked_fill(~mask.unsqueeze(2), 0), *beside
        return clouds

    def transform(self, g: Clouds, u: Tensor, owner: Tensor) -> Clouds:
        points = points_of(g)[owner]
        turned = (points.reshape(points.shape[0], -1, 3) @ self.matrices(u).mT).view_as(points)
        return turned if isinstance(g, Tensor) else (turned, *(x[owner] for x in g[1:]))

    @property
    def carries(self) -> frozenset[Kind]:
        """Poses too, as long as no :math:`M_u` is a reflection: the mirror image of a rotation is none."""
        return frozenset({"invariant", "vectors", "rotations"})

    def act(self, u: Tensor, answers: Tensor, kind: Kind) -> Carried:
        r""":math:`M_u^{-1}v` for vectors, :math:`M_u^{-1}Q` for poses."""
        if kind not in ("vectors", "rotations"):
            return super().act(u, answers, kind)
        matrices = self.matrices(u).to(answers.dtype)
        if kind == "vectors":
            return Carried((answers.reshape(answers.shape[0], -1, 3) @ matrices).view_as(answers))
        poses = answers.reshape(answers.shape[0], -1, 3, 3)
        return Carried((matrices.mT.unsqueeze(1) @ poses).view_as(answers))

    def real_points(self, g: Clouds) -> Tensor:
        mask, points = mask_of(g), points_of(g)
        return torch.ones(points.shape[:2], dtype=torch.bool, device=points.device) if mask is None else mask

    def searches(self) -> Searches:
        """Coarse to fine; in training on the whole cloud, for coarse views cost accuracy there (``docs/speed.md``)."""
        return CoarseToFine(RandomSearch(DRAWS)), RandomSearch(DRAWS)

    def coarse(self, g: Clouds, size: int) -> Clouds:
        """The farthest points, a set that depends neither on their order nor on the pose; clouds that have no more
        real points than that keep all of them.
        """
        points, mask = points_of(g), mask_of(g)
        if size >= points.shape[1]:
            return g
        chosen = _chosen(points[..., :3], mask, size)
        view = points.gather(1, chosen.unsqueeze(2).expand(-1, -1, points.shape[2]))
        if isinstance(g, Tensor):
            return view
        return (view, *(_taken(x, chosen) if x is mask or _of_points(x, points) else x for x in g[1:]))

    def ranker(self, g: Clouds, outputs: int, network: Callable[[Any], Tensor] | None = None) -> Ranker | None:
        """For large clouds the network itself, on a 32nd of the points; else a small PointNet on 128 points, or none
        for clouds that have more beside them than a mask.
        """
        points, mask = points_of(g), mask_of(g)
        if isinstance(network, nn.Module) and points.shape[1] >= RANKER_SHARE * LEAST_POINTS:
            return view_ranker(network, outputs, size=points.shape[1] // RANKER_SHARE)
        light: nn.Module = PointNet(
            outputs, channels=points.shape[2], widths=RANKER_WIDTHS, head=RANKER_HEAD, dropout=0.0
        )
        if not isinstance(g, Tensor):
            if len(g) > 2 or mask is None:
                return None
            light = Unpacked(light)
        return Ranker(light, outputs, size=RANKER_POINTS).to(points)

    def _only_coordinates(self, g: Clouds) -> bool:
        """Whether points have nothing else that a symmetry of the coordinates might not keep."""
        points, mask = points_of(g), mask_of(g)
        beside = () if isinstance(g, Tensor) else g[1:]
        return self.vectors == 1 and all(x is mask or x.dim() < 2 or x.shape[1] != points.shape[1] for x in beside)

    def describe(self, g: Clouds, u: Tensor, owner: Tensor) -> list[str]:
        return [isometry_in_words(matrix) for matrix in self.matrices(u)]

    def picture(self, form: Clouds) -> Points:
        """The coordinates of one cloud, without its padding."""
        mask = None if isinstance(form, Tensor) else next((x for x in form[1:] if x.dtype == torch.bool), None)
        return Points(coordinates_of(form), mask)

    @property
    def _expected(self) -> str:
        return f"{type(self).__name__} expects a tensor of points of shape (batch, points, {3 * self.vectors})"

    def _check_one_tensor(self, g: Any) -> None:
        """Refuse clouds one by one, which are no tuple of points and what stands beside them."""
        shapes = [tuple(getattr(cloud, "shape", ())) for cloud in g] if isinstance(g, tuple | list) else []
        if shapes and all(len(shape) == 2 and shape[1] == 3 * self.vectors for shape in shapes):
            raise ShapeError(
                f"{self._expected}, got a {type(g).__name__} of {len(g)} clouds, the first of shape {shapes[0]}. "
                "Hint: adacanon.points.padded_clouds(clouds) makes points and a mask of tensors of unequal sizes, for "
                "a network in adacanon.points.Unpacked; torch.stack(clouds) if all sizes are equal"
            )

    def _check(self, points: Any) -> None:
        name, expected = type(self).__name__, self._expected
        if not isinstance(points, Tensor):
            raise ShapeError(f"{expected}, got {type(points).__name__}. Hint: torch.as_tensor(points)")
        if points.dim() != 3 or points.shape[-1] != 3 * self.vectors:
            raise ShapeError(f"{expected}, got {tuple(points.shape)}. Hint: {_hint(points, name, 3 * self.vectors)}")
        if points.shape[0] > 0 and points.shape[1] == 0:
            raise ShapeError(f"{expected}, got clouds without points. Hint: drop them from the data set")
        if not points.is_floating_point():
            raise InputError(f"{name} expects floating-point coordinates, got {points.dtype}. Hint: points.float()")


def points_of(g: Clouds) -> Tensor:
    """The points of a batch, alone or with something beside them."""
    return g if isinstance(g, Tensor) else g[0]


def coordinates_of(g: Clouds) -> Tensor:
    """The first vector of every point."""
    return points_of(g)[..., :3]


def mask_of(g: Clouds) -> Tensor | None:
    """Which points are real; None if all are."""
    if isinstance(g, Tensor):
        return None
    return next((x for x in g[1:] if x.dtype == torch.bool and x.dim() == 2), None)


def _check_no_mask_of_numbers(caller: str, x: Tensor, points: Tensor) -> None:
    """Refuse what can only be meant as a mask, but would be handed on as numbers of the cloud and hide no padding."""
    places = points.shape[:2]
    flat = x.squeeze(2) if x.shape == (*places, 1) else x
    if flat.shape != places or (x.dtype == torch.bool and x.dim() == 2):
        return
    zeros_and_ones = bool(((flat == 0) | (flat == 1)).all())
    one_hot = x.dim() == 2 and bool((flat.sum(1) == 1).all())
    if zeros_and_ones and not one_hot:
        raise ShapeError(
            f"{caller} expects a mask of shape {tuple(places)} and type bool, True for real points, got "
            f"{tuple(x.shape)} of {x.dtype}. Hint: mask.bool(), one per point; a feature of zeros and ones "
            "takes two columns, torch.cat([x, 1 - x], 2), to be told from a mask"
        )


def _chosen(points: Tensor, mask: Tensor | None, size: int) -> Tensor:
    """Indices (batch, size) of the farthest points, or of all real ones and then of padding."""
    if mask is None:
        return farthest_points(points, size)
    chosen = (~mask).int().argsort(dim=1, stable=True)[:, :size]
    many = mask.sum(1) >= size
    if bool(many.any()):
        chosen[many] = farthest_points(points[many], size, mask=mask[many])
    return chosen


def _of_points(x: Tensor, points: Tensor) -> bool:
    """Whether it holds numbers of every point; a second axis alone may be that of categories."""
    return x.dim() > 2 and x.shape[1] == points.shape[1]


def _taken(x: Tensor, chosen: Tensor) -> Tensor:
    """What belongs to the chosen points: (batch, points, ...) -> (batch, chosen, ...)."""
    return x[torch.arange(len(x), device=x.device).unsqueeze(1), chosen]


def _hint(points: Tensor, name: str, expected: int) -> str:
    if points.dim() == 2:
        return "add the batch, points[None]"
    count, channels = points.shape[-2:] if points.dim() == 3 else (0, 0)
    if count % 3 == 0 < count < channels:
        return "move the coordinates last, points.mT"
    vectors = f"{name}(vectors={channels // 3}), if all of them turn, as normals do"
    beside = (
        "numbers that do not turn, such as intensity or colour, go beside the coordinates: "
        f"model((points[..., :{expected}], points[..., {expected}:])), with adacanon.points.Unpacked(network) around a "
        "network of two arguments"
    )
    hints = [vectors] * (channels % 3 == 0 < channels) + [beside] * (channels > expected)
    return "; ".join(hints) or "the last axis holds the coordinates of a point, and then those of its other vectors"
