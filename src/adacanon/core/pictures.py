"""What a page shows of an input or of a form: pictures as numbers, which ``adacanon.explain`` draws."""

from collections.abc import Iterable
from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class Pixels:
    """An image.

    Attributes:
        values: (channels, height, width), in [0, 1]; other ranges are stretched to it.

    Example:
        >>> import torch
        >>> Pixels(torch.rand(3, 8, 8)).values.shape
        torch.Size([3, 8, 8])
    """

    values: Tensor


@dataclass(frozen=True)
class Points:
    """A cloud, which a reader turns with the mouse or a finger.

    Attributes:
        coordinates: (points, 3).
        real: which points are real, (points,); None if all are.
        values: a number for every point, its colour, (points,); None if the height is to be seen.

    Example:
        >>> import torch
        >>> Points(torch.randn(100, 3)).coordinates.shape
        torch.Size([100, 3])
    """

    coordinates: Tensor
    real: Tensor | None = None
    values: Tensor | None = None


@dataclass(frozen=True)
class Numbers:
    """A table of numbers, drawn as a heat map.

    Attributes:
        values: (rows, columns).
        blocks: names of groups of rows, from the top, with the number of rows of each; none if rows have no groups.

    Example:
        >>> import torch
        >>> Numbers(torch.randn(6, 2), blocks=(("band 1", 2), ("band 2", 4))).values.shape
        torch.Size([6, 2])
    """

    values: Tensor
    blocks: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True)
class Graph:
    """A graph with numbers on its nodes.

    Attributes:
        edge_index: (2, edges).
        values: (nodes, channels), the colours of the nodes, a picture for each of the first channels.
        positions: (nodes, 2), or None to find some.

    Example:
        >>> import torch
        >>> Graph(torch.tensor([[0, 1], [1, 0]]), torch.eye(2)).values.shape
        torch.Size([2, 2])
    """

    edge_index: Tensor
    values: Tensor
    positions: Tensor | None = None


@dataclass(frozen=True)
class Drawing:
    """A picture of one's own.

    Attributes:
        svg: a whole SVG file as text; scripts in it are not run.
        words: the same in words.

    Example:
        >>> from xml.etree.ElementTree import Element, tostring
        >>> empty = Element("svg", xmlns="http://www.w3.org/2000/svg", viewBox="0 0 1 1")
        >>> Drawing(tostring(empty, encoding="unicode"), "an empty square").words
        'an empty square'
    """

    svg: str
    words: str


UNCHANGED = "as it is"
"""What families say of a transformation that changes nothing."""


def in_turn(words: Iterable[str]) -> str:
    """What several transformations do, one after the other.

    Example:
        >>> in_turn(["turned by 90°", "as it is", "mirrored"]), in_turn(["as it is", "as it is"])
        ('turned by 90°, then mirrored', 'as it is')
    """
    return ", then ".join(text for text in words if text != UNCHANGED) or UNCHANGED


Picture = Pixels | Points | Numbers | Graph | Drawing
