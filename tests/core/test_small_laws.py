"""Laws that no other test noticed when they were broken (``make mutants``)."""

import inspect
from typing import Any

import pytest
import torch

from adacanon import Canonicalized, EqualWeights, RandomSearch
from adacanon.core import Canonical
from adacanon.core.answers import Kind, check_outputs
from adacanon.core.naming import names_of
from adacanon.errors import InputError, ShapeError
from adacanon.explain import page
from adacanon.points import Rotations
from cases.networks import Mirror, cloud_network, clouds


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


class OwnSearch:
    """Has what a search needs, and derives from nothing."""

    def maximize(self, landscape: Any, *, generator: torch.Generator) -> Any:
        return RandomSearch(5).maximize(landscape, generator=generator)


class WithBudget(OwnSearch):
    def with_budget(self, budget: float, landscape: Any) -> RandomSearch:
        return RandomSearch(int(budget))


class TestSearchesOfOnesOwn:
    def test_an_object_with_a_method_maximize_is_a_search(self) -> None:
        own, ours = (
            Canonicalized(cloud_network(3), Rotations(), search).eval() for search in (OwnSearch(), RandomSearch(5))
        )
        assert torch.equal(own(clouds(4)), ours(clouds(4)))

    @pytest.mark.parametrize("search", [OwnSearch, RandomSearch, object(), "random", 3.5])
    def test_anything_else_is_refused(self, search: Any) -> None:
        with pytest.raises(InputError, match="must be an object with a method maximize, got "):
            Canonicalized(cloud_network(3), Rotations(), search)

    def test_a_budget_needs_a_method_too(self) -> None:
        found = Canonicalized(cloud_network(3), Rotations(), WithBudget()).eval().canonicalize(clouds(4), budget=3)
        assert found.parameters.shape[:2] == (4, 3)
        with pytest.raises(InputError, match="cannot keep a budget"):
            Canonicalized(cloud_network(3), Rotations(), OwnSearch()).eval()(clouds(4), budget=3)


class TestNamesInCheckpoints:
    def test_files_inside_the_library_may_move_and_packages_of_others_are_told_apart(self) -> None:
        assert names_of(Rotations(), RandomSearch(3), None)["family"] == "adacanon.points.Rotations"
        assert names_of(Mirror(), RandomSearch(3), None)["family"] == "cases.networks.Mirror"

    def test_the_search_in_training_is_the_other_one_where_there_is_one(self) -> None:
        alone, both = (names_of(Rotations(), RandomSearch(3), other) for other in (None, OwnSearch()))
        assert alone["search in training"] == "RandomSearch"
        assert both["search in training"] == "OwnSearch"
