"""Laws that no other test noticed when they were broken (``make mutants``)."""

import inspect
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from adacanon import (
    Canonicalized,
    EqualWeights,
    Objective,
    RandomSearch,
    Temperature,
    cross_entropy,
    one_vs_rest,
)
from adacanon.core import Canonical
from adacanon.core.answers import Kind, check_outputs
from adacanon.core.maximizer import Support
from adacanon.core.naming import names_of
from adacanon.core.precision import reduced_precision
from adacanon.core.pytree import row_numel
from adacanon.core.soft_answers import _completed
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


@pytest.mark.parametrize("value", [True, 1j, torch.tensor(True), torch.tensor([1j, 2])])
def test_a_temperature_is_a_real_number(value: Any) -> None:
    with pytest.raises(InputError, match="got"):
        Temperature(value)


@pytest.mark.parametrize("loss", [one_vs_rest, cross_entropy])
def test_the_residual_is_the_size_of_the_gradient_by_the_scores(loss: Any) -> None:
    r"""Of a sum over samples: :math:`|p_d - y_d|`."""
    objective = Objective(Canonicalized(cloud_network(), Rotations()), loss=loss)
    scores = torch.tensor([[0.5, -1.0, 2.0], [3.0, 0.0, -2.0]], dtype=torch.float64, requires_grad=True)
    targets = torch.tensor([0, 2])
    if loss is one_vs_rest:
        labels = functional.one_hot(targets, 3).double()
        total = functional.binary_cross_entropy_with_logits(scores, labels, reduction="sum")
    else:
        total = functional.cross_entropy(scores, targets, reduction="sum")
    (gradient,) = torch.autograd.grad(total, scores)
    torch.testing.assert_close(objective._residual(scores.detach(), targets), gradient.abs())


def test_labels_that_are_missing_have_no_residual() -> None:
    objective = Objective(Canonicalized(cloud_network(), Rotations()), loss=one_vs_rest)
    targets = torch.tensor([[1.0, torch.nan], [torch.nan, 0.0]])
    assert (objective._residual(torch.zeros(2, 2), targets) == torch.tensor([[0.5, 0], [0, 0.5]])).all()


@pytest.mark.parametrize("asked", [None, torch.tensor([[True], [False]])])
@pytest.mark.parametrize("told", [None, torch.tensor([[False]])])
def test_estimates_count_beside_what_was_asked(asked: Tensor | None, told: Tensor | None) -> None:
    """Two candidates about which the network was asked, and one that is estimated."""
    ranks, estimate = torch.ones(2, 1, 1), Support(torch.zeros(1, 1, 3), told, torch.full((1, 1, 1), 5.0))
    values, counts = _completed(ranks, Support(torch.zeros(2, 1, 3), asked), estimate)
    assert values.flatten().tolist() == [1, 1, 5]
    expected = [True, asked is None, told is None]
    assert (counts is None and all(expected)) or (counts is not None and counts.flatten().tolist() == expected)


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_numbers_per_row_are_counted_whatever_the_number_of_rows(rows: int) -> None:
    assert row_numel((torch.zeros(rows, 3), torch.zeros(rows, 2, 2))) == 7


@pytest.mark.parametrize("known", ["amx_bf16", "avx512_bf16", None])
def test_either_instruction_for_sixteen_bits_is_enough(known: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {known: True, "avx2": True})
    assert reduced_precision("cpu") == (torch.bfloat16 if known else None)


@pytest.mark.parametrize("supported", [True, False])
def test_emulated_sixteen_bits_are_not_used(supported: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def asked(including_emulation: bool = True) -> bool:
        return supported or including_emulation

    monkeypatch.setattr(torch.cuda, "is_bf16_supported", asked)
    assert reduced_precision("cuda") == (torch.bfloat16 if supported else None)


def test_a_search_for_training_is_shown() -> None:
    plain = Canonicalized(cloud_network(), Rotations(), RandomSearch(2))
    other = Canonicalized(cloud_network(), Rotations(), RandomSearch(2), training_search=RandomSearch(7))
    assert "training_search" not in repr(plain)
    assert "training_search=RandomSearch(candidates=7)" in repr(other)


@pytest.mark.parametrize(("seed", "fits"), [(2**63 - 1, True), (-(2**63), True), (2**63, False), (-(2**63) - 1, False)])
def test_seeds_have_sixty_four_bits_with_a_sign(seed: int, fits: bool) -> None:
    """They are kept in a buffer of this type."""
    if fits:
        assert int(Canonicalized(cloud_network(), Rotations(), seed=seed).seed) == seed
    else:
        with pytest.raises(InputError, match=r"expects (a seed of 64 bits|seed to be at most)"):
            Canonicalized(cloud_network(), Rotations(), seed=seed)


@pytest.mark.parametrize("place", [0, 5])
@pytest.mark.parametrize("value", [torch.nan, torch.inf])
def test_numbers_that_are_none_are_counted_and_placed(value: float, place: int) -> None:
    x = clouds(6)
    x[place, 1, 2] = value
    with pytest.raises(InputError, match=f"holds 1 NaN or infinite values, the first in sample {place}"):
        Canonicalized(cloud_network(), Rotations(), RandomSearch(2))(x)


def test_large_numbers_whose_sum_overflows_are_finite() -> None:
    x = torch.full((2, 4, 3), 3e38)
    network = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(12, 2)).requires_grad_(False)
    network[1].weight.fill_(1e-38)
    assert Canonicalized(network, Mirror(), RandomSearch(2)).eval().prepare(x) is not None
