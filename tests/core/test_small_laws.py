"""Laws that no other test noticed when they were broken (``make mutants``)."""

import inspect

import pytest
import torch

from adacanon import EqualWeights
from adacanon.core import Canonical
from adacanon.core.answers import Kind, check_outputs
from adacanon.errors import ShapeError
from adacanon.explain import page
from adacanon.points import Rotations


def test_the_three_ways_to_a_page_have_the_same_defaults() -> None:
    """Four inputs, three classes of each, eight moves: also what the documents say."""
    defaults = [
        {name: one.default for name, one in inspect.signature(way).parameters.items() if one.kind is one.KEYWORD_ONLY}
        for way in (Canonical.save, Canonical.show, page)
    ]
    assert defaults[0] == defaults[1] == defaults[2]
    assert (defaults[0]["samples"], defaults[0]["top"], defaults[0]["moves"]) == (4, 3, 8)


@pytest.mark.parametrize(
    ("kind", "shape", "fits"),
    [
        ("vectors", (2, 3), True),
        ("vectors", (2, 5, 6), True),
        ("vectors", (2, 0), False),
        ("vectors", (2, 5, 0), False),
        ("vectors", (2, 4), False),
        ("vectors", (3,), False),
        ("rotations", (2, 3, 3), True),
        ("rotations", (2, 5, 3, 3), True),
        ("rotations", (2, 9), True),
        ("rotations", (2, 5, 9), True),
        ("rotations", (3, 3), False),
        ("rotations", (9,), False),
        ("rotations", (2, 3, 4), False),
    ],
)
def test_answers_have_the_shape_of_their_kind(kind: Kind, shape: tuple[int, ...], fits: bool) -> None:
    def check() -> None:
        check_outputs(kind, Rotations(), EqualWeights(), torch.zeros(shape), torch.zeros(2, 5, 3))

    if fits:
        check()
    else:
        with pytest.raises(ShapeError, match=f"Answers of the kind {kind!r} have shape"):
            check()
