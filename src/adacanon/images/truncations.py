"""Truncation to a rectangle with continuous coordinates (paper: appendix "Truncation Canonicalization", Theory)."""

from dataclasses import asdict, dataclass
from typing import Any

from torch import Tensor

from adacanon.core.family import Family, Searches
from adacanon.core.pictures import Pixels
from adacanon.errors import InputError
from adacanon.images.averaging import area_average, smaller
from adacanon.images.checks import check_images
from adacanon.images.chunks import images_at_once
from adacanon.images.plane_maps import CANDIDATES, covering_set
from adacanon.images.words import rectangle_in_words
from adacanon.maximizers.grid import GridSearch
from adacanon.maximizers.subset import SubsetSearch
from adacanon.spaces.rectangles import Rectangles

TEMPERATURE, IN_TRAINING = 3.0, 8
"""The temperature of crops, and how many are compared in a step of training: chosen on images that were held out, see
``docs/temperature.md``.
"""


@dataclass(frozen=True)
class Truncations(Family):
    r""":math:`\kappa_u(g) = Q((g\,1_{R(u)}) \circ \tau_u)`: the image is cut to the rectangle
    :math:`R(u) = [x_L, x_R] \times [y_T, y_B]`, which is dilated to the whole image and averaged over each pixel.

    Differentiable in :math:`u = (x_L, y_T, x_R, y_B)`, shares of width and height.

    Args:
        smallest: side of a rectangle, as a share of the image; below a pixel the map would not be continuous.
        largest: side of a rectangle.

    Example:
        >>> import torch
        >>> images = torch.rand(2, 3, 32, 32)
        >>> whole = torch.tensor([[0.0, 0.0, 1.0, 1.0]])
        >>> bool((Truncations().transform(images, whole, torch.tensor([1])) == images[1]).all())
        True
    """

    smallest: float = 0.5
    largest: float = 1.0

    def __post_init__(self) -> None:
        for name, side in asdict(Rectangles(self.smallest, self.largest)).items():  # which checks the sides
            object.__setattr__(self, name, side)

    @property
    def moves_pixels(self) -> bool:
        return True

    @property
    def points(self) -> Rectangles:
        """The rectangles, the same for all images."""
        return Rectangles(self.smallest, self.largest)

    def prepare(self, g: Any) -> Tensor:
        images = check_images("Truncations", g)
        check_side("Truncations", self.smallest, images)
        return images

    def space(self, g: Tensor) -> Rectangles:
        return self.points

    def transform(self, g: Tensor, u: Tensor, owner: Tensor) -> Tensor:
        return area_average(g[owner], u)

    def describe(self, g: Tensor, u: Tensor, owner: Tensor) -> list[str]:
        return [rectangle_in_words(*corners) for corners in u.tolist()]

    def picture(self, form: Tensor) -> Pixels:
        return Pixels(form)

    def coarse(self, g: Tensor, size: int) -> Tensor:
        """A smaller image of ``size`` pixels in all; rectangles mean the same on it."""
        return smaller(g, size)

    def chunk_size(self, g: Tensor) -> int:
        return images_at_once(g)

    def searches(self) -> Searches:
        """A fixed set that holds the whole image; in training some of it, others at every step."""
        every = GridSearch(points=covering_set(self.points, CANDIDATES))
        return every, SubsetSearch(every, IN_TRAINING)

    def temperature(self) -> float:
        """Near the mean: crops of an image agree more often than one of them knows best."""
        return TEMPERATURE


def check_side(caller: str, smallest: float, images: Tensor) -> None:
    """Refuse windows smaller than a pixel."""
    height, width = images.shape[-2:]
    if smallest * min(height, width) < 1:
        raise InputError(
            f"{caller} with smallest={smallest} has windows smaller than a pixel of images of {height} x {width}. "
            f"Hint: smallest={1 / min(height, width):.3g} or more"
        )
