"""Transformations of images in words, against what they do to single pixels."""

import math
import re

import pytest
import torch

from adacanon.core import Family
from adacanon.families import Composition
from adacanon.images import (
    AffineMaps,
    Composed,
    Dilations,
    Reflections,
    Rotations,
    Shears,
    Translations,
    Truncations,
    Windows,
)

IMAGE = torch.zeros(1, 1, 20, 32)
ONE = torch.zeros(1, dtype=torch.int64)


def told(family: Family, u: object) -> str:
    words = family.describe(IMAGE, u, ONE)
    assert words is not None
    return words[0]


def test_a_shift_in_words_moves_a_pixel_by_so_many_pixels() -> None:
    image = IMAGE.clone()
    image[0, 0, 10, 10] = 1.0
    u = torch.tensor([[3 / 20, -2 / 20]])  # the shorter side is 1
    assert told(Translations(0.5), u) == "shifted by 3.0 pixels to the right and 2.0 pixels up"
    moved = Translations(0.5).transform(image, u, ONE)
    assert moved[0, 0].argmax() == 8 * 32 + 13


def test_a_quarter_turn_in_words_takes_the_right_to_the_top() -> None:
    image = torch.zeros(1, 1, 9, 9)
    image[0, 0, 4, 8] = 1.0
    u = torch.tensor([math.pi / 2])
    assert told(Rotations(), u) == "turned by 90° anticlockwise"
    assert Rotations().transform(image, u, ONE)[0, 0, 0, 4] == 1
    assert told(Rotations(), -u / 2) == "turned by 45° clockwise"


@pytest.mark.parametrize("number", [0, 3, 17, 54])
def test_a_window_in_words_is_the_part_of_the_image_that_is_seen(number: int) -> None:
    rows = torch.arange(32.0).reshape(1, 1, 32, 1).expand(1, 1, 32, 32)
    words = Windows().describe(rows, torch.tensor([number]), ONE)[0]
    seen = Windows(resize="area").transform(rows, torch.tensor([number]), ONE)
    if number == 0:
        assert words == "the whole image"
        return
    found = re.fullmatch(r"window of (\d+) × (\d+) pixels from row (\d+), column (\d+)", words)
    assert found, words
    height, _, top, _ = map(int, found.groups())
    assert float(seen.mean()) == pytest.approx(top + (height - 1) / 2, abs=0.01)


@pytest.mark.parametrize(
    ("family", "u", "words"),
    [
        (Rotations(), torch.zeros(1), "as it is"),
        (Translations(), torch.zeros(1, 2), "as it is"),
        (Dilations(), torch.tensor([[math.log(1.25)]]), "enlarged to 125 %"),
        (Dilations(), torch.tensor([[math.log(0.8)]]), "shrunk to 80 %"),
        (
            Shears(),
            torch.tensor([[0.25, 0.0]]),
            "slanted and stretched: right becomes (1.00, 0.00), down becomes (0.25, 1.00)",
        ),
        (AffineMaps(), torch.tensor([[0.0, 0.0, 0.0, 0.0, 0.1, 0.0]]), "shifted by 2.0 pixels to the right"),
        (Reflections(), torch.tensor([1]), "mirrored left to right"),
        (Reflections("vertical"), torch.tensor([1]), "mirrored top to bottom"),
        (Reflections("both"), torch.tensor([3]), "mirrored left to right and top to bottom"),
        (
            Truncations(),
            torch.tensor([[0.1, 0.0, 0.8, 1.0]]),
            "cut to 10 % to 80 % of the width and 0 % to 100 % of the height",
        ),
        (Truncations(), torch.tensor([[0.0, 0.0, 1.0, 1.0]]), "the whole image"),
        (
            Composed(Rotations(), Translations(0.5)),
            (torch.tensor([math.pi]), torch.tensor([[0.1, 0.0]])),
            "turned by 180° anticlockwise, then shifted by 2.0 pixels to the right",
        ),
        (
            Composition(Rotations(), Reflections()),
            (torch.tensor([0.0]), torch.tensor([1])),
            "mirrored left to right",
        ),
    ],
    ids=lambda value: repr(value)[:40] if isinstance(value, Family) else "",
)  # fmt: skip
def test_words(family: Family, u: object, words: str) -> None:
    assert told(family, u) == words
