"""Every search keeps the laws of maximizers, and finds what slow loops find."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor

from adacanon import (
    AnchoredSearch,
    Canonicalized,
    ClassScore,
    Composition,
    GridSearch,
    RandomSearch,
    Restarts,
    SampleAndRefine,
    SubsetSearch,
    WithMemory,
)
from adacanon.core import Landscape, Maximizer, SearchResult
from adacanon.core.pytree import map_tensors, take
from adacanon.errors import InputError
from adacanon.points import Rotations
from adacanon.spaces import SO3, rotation_group
from adacanon.testing import Problem, check_family, check_maximizer, circle_problem, finite_problem, rotation_problem
from cases.networks import Mirror, PaddedRotations, cloud_network, clouds, padded_vectors


@dataclass(frozen=True)
class FirstOfTwo:
    """A third party's search: no base class, one method. The better of the identity and one turn."""

    def maximize(self, landscape: Landscape, *, generator: torch.Generator) -> SearchResult:
        points = landscape.place(landscape.space.sample(2, generator=generator))
        block = map_tensors(lambda leaf: leaf.unsqueeze(1).expand(-1, landscape.batch, *leaf.shape[1:]), points)
        values, index = landscape(block).max(0)
        return SearchResult(take(block, index, torch.arange(landscape.batch).unsqueeze(1)), values)


SEARCHES = [
    RandomSearch(candidates=20),
    RandomSearch(candidates=300),
    SampleAndRefine(candidates=10, steps=3),
    SampleAndRefine(candidates=10, steps=0),
    SampleAndRefine(candidates=10, steps=3, method="projected"),
    SampleAndRefine(candidates=4, steps=3, every=True),
    SampleAndRefine(candidates=4, steps=3, every=True, method="projected"),
    Restarts(RandomSearch(candidates=5), times=3),
    Restarts(SampleAndRefine(candidates=3, steps=2), times=2),
    SubsetSearch(RandomSearch(candidates=300), candidates=20),
    FirstOfTwo(),
]
ANCHORED = [
    AnchoredSearch(candidates=12),
    AnchoredSearch(candidates=5, steps=3),
    SubsetSearch(AnchoredSearch(candidates=24), candidates=6),
]
GRIDS = {
    "30 rotations": (GridSearch(candidates=30), rotation_problem()),
    "300 rotations": (GridSearch(candidates=300), rotation_problem()),
    "rotations of a cube": (GridSearch(points=rotation_group("cube")), rotation_problem()),
    "12 angles": (GridSearch(candidates=12), circle_problem()),
    "all shifts": (GridSearch(), finite_problem()),
    "some shifts": (GridSearch(points=torch.tensor([0, 2, 5])), finite_problem()),
}


@pytest.mark.parametrize("search", SEARCHES + ANCHORED, ids=repr)
@pytest.mark.parametrize("problem", [rotation_problem(), circle_problem()], ids=["rotations", "circle"])
def test_searches_keep_the_laws_on_smooth_spaces(search: Maximizer, problem: Problem) -> None:
    check_maximizer(search, problem)


@pytest.mark.parametrize("search", SEARCHES, ids=repr)
def test_searches_keep_the_laws_on_finite_spaces(search: Maximizer) -> None:
    check_maximizer(search, finite_problem())


@pytest.mark.parametrize(("search", "problem"), GRIDS.values(), ids=GRIDS)
def test_grids_keep_the_laws(search: Maximizer, problem: Problem) -> None:
    check_maximizer(search, problem)


def test_grid_search_on_a_finite_space_is_the_brute_force_loop() -> None:
    problem = finite_problem(batch=5, classes=4, size=7)
    found = check_maximizer(GridSearch(), problem)
    for i in range(5):
        for d in range(4):
            scores = [float(problem.network(problem.g[i : i + 1].roll(k, 1))[0, d]) for k in range(7)]
            assert int(found.parameters[i, d]) == max(range(7), key=scores.__getitem__)
            assert float(found.values[i, d]) == pytest.approx(max(scores))


def test_random_search_is_the_best_of_its_draws() -> None:
    problem = rotation_problem()
    landscape = landscape_of(problem)
    found = RandomSearch(300).maximize(landscape, generator=seeded(1))
    assert landscape.pairs_evaluated == 300 * landscape.batch
    assert (found.values >= RandomSearch(20).maximize(landscape, generator=seeded(1)).values.min()).all()
    generator = seeded(1)
    points = torch.cat([SO3().sample(256, generator=generator), SO3().sample(44, generator=generator)])
    outputs = torch.einsum("bni,kji->kbnj", problem.g, points)
    values = torch.stack([problem.network(forms) for forms in outputs])
    torch.testing.assert_close(found.values, values.max(0).values)


@pytest.mark.parametrize("method", ["riemannian", "projected"])
@pytest.mark.parametrize("problem", [rotation_problem(), circle_problem()], ids=["rotations", "circle"])
@pytest.mark.parametrize("step_size", [1e-3, 0.1, 0.9])
def test_refinement_never_ends_below_its_start(method: str, problem: Problem, step_size: float) -> None:
    values = [
        SampleAndRefine(6, steps, step_size=step_size, method=method)
        .maximize(landscape_of(problem), generator=seeded(2))
        .values
        for steps in (0, 1, 2, 5)
    ]
    start, *refined = values
    for after in refined:
        assert (after >= start).all()
    assert (refined[-1] > start).any()


@pytest.mark.parametrize(("method", "steps"), [("riemannian", 60), ("projected", 150)])
def test_refinement_reaches_the_closed_form_maximum(method: str, steps: int) -> None:
    problem = rotation_problem()
    found = check_maximizer(SampleAndRefine(30, steps, method=method), problem)
    torch.testing.assert_close(found.values, problem.maximum, atol=1e-3, rtol=0)


def test_refining_every_draw_is_at_least_as_good_as_refining_the_best() -> None:
    problem = rotation_problem()
    one = SampleAndRefine(6, 4).maximize(landscape_of(problem), generator=seeded(3))
    every = SampleAndRefine(6, 4, every=True).maximize(landscape_of(problem), generator=seeded(3))
    assert (every.values >= one.values - 1e-12).all()


def test_restarts_keep_the_best_of_independent_runs() -> None:
    problem, generator = rotation_problem(), seeded(4)
    runs = [RandomSearch(5).maximize(landscape_of(problem), generator=generator).values for _ in range(3)]
    assert not torch.equal(runs[0], runs[1])
    found = Restarts(RandomSearch(5), 3).maximize(landscape_of(problem), generator=seeded(4))
    torch.testing.assert_close(found.values, torch.stack(runs).max(0).values)


def test_a_subset_is_drawn_without_replacement_from_the_candidates_of_its_search() -> None:
    landscape = landscape_of(rotation_problem())
    whole, seen = AnchoredSearch(24), []
    (all_of_them,) = whole.propose(landscape, seeded(0))
    for seed in range(40):
        (block,) = SubsetSearch(whole, 6).propose(landscape, seeded(seed))
        assert len(block) == 6
        distances = torch.cdist(block.flatten(2).transpose(0, 1), all_of_them.flatten(2).transpose(0, 1))
        chosen = distances.argmin(2)
        assert (distances.amin(2) == 0).all()
        assert (chosen == chosen[0]).all()  # the same for all inputs
        assert len(chosen[0].unique()) == 6
        seen.append(chosen[0])
    assert len(torch.cat(seen).unique()) == 24


def test_a_subset_of_all_candidates_is_the_search_itself() -> None:
    problem = rotation_problem()
    whole = AnchoredSearch(24).maximize(landscape_of(problem), generator=seeded(0))
    for count in (24, 99):
        landscape = landscape_of(problem)
        found = SubsetSearch(AnchoredSearch(24), count).maximize(landscape, generator=seeded(1))
        torch.testing.assert_close(found.values, whole.values)
        assert landscape.pairs_evaluated == 24 * landscape.batch


def test_a_subset_and_a_memory_reach_the_maximum_over_all_candidates() -> None:
    problem = rotation_problem()
    landscape = Landscape(problem.network, problem.family, ClassScore(), problem.g, ids=torch.arange(len(problem.g)))
    whole = AnchoredSearch(24).maximize(landscape, generator=seeded(0)).values
    search = WithMemory(SubsetSearch(AnchoredSearch(24), 6), samples=len(problem.g))
    path = [search.maximize(landscape, generator=seeded(epoch)).values for epoch in range(30)]
    assert (path[0] < whole - 1e-6).any()
    torch.testing.assert_close(path[-1], whole)


def test_anchored_values_do_not_change_with_the_pose_of_the_input() -> None:
    problem = rotation_problem(batch=6)
    turned = Problem(problem.network, problem.family, problem.g @ SO3().sample(6, generator=seeded(5)), problem.maximum)
    a, b = (AnchoredSearch(16).maximize(landscape_of(p), generator=seeded(6)).values for p in (problem, turned))
    torch.testing.assert_close(a, b)


def test_anchored_search_takes_one_space_per_input() -> None:
    """Vectors of unequal lengths: the anchor sends each to the first axis, so its values depend on norms alone."""
    x, sizes = padded_vectors()
    problem = Problem(lambda forms: forms[:, :1], PaddedRotations(), (x, sizes), x.norm(dim=1, keepdim=True))
    found = check_maximizer(AnchoredSearch(candidates=6), problem)
    assert found.values.shape == (4, 1)


@pytest.mark.parametrize(
    "search",
    [
        RandomSearch(16),
        SampleAndRefine(8, 3),
        SampleAndRefine(8, 3, method="projected"),
        SampleAndRefine(3, 2, every=True),
    ],
    ids=repr,
)
def test_searches_take_one_space_per_input(search: Maximizer) -> None:
    """max over O(n) of the first coordinate of Ux is |x|."""
    x, sizes = padded_vectors()
    problem = Problem(
        lambda forms: forms[:, :2], PaddedRotations(), (x, sizes), x.norm(dim=1, keepdim=True).expand(4, 2)
    )
    check_maximizer(search, problem)


# Compositions


def composed_problem() -> tuple[Composition, Tensor, torch.nn.Module]:
    return Composition(Rotations(), Mirror()), clouds(), cloud_network()


def test_a_composition_is_a_family_over_the_product() -> None:
    family, g, _ = composed_problem()
    assert check_family(family, g)[:2] == ("pairs", "purity")
    u = family.space(g).sample(3, generator=seeded(0))
    expected = Mirror().transform(Rotations().transform(g, u[0], torch.arange(3)), u[1], torch.arange(3))
    torch.testing.assert_close(family.transform(g, u, torch.arange(3)), expected)


@pytest.mark.parametrize("method", ["riemannian", "projected"])
def test_refinement_leaves_the_discrete_factor_alone(method: str) -> None:
    family, g, network = composed_problem()
    landscape = Landscape(network, family, ClassScore(), g)
    start = RandomSearch(6).maximize(landscape, generator=seeded(1))
    end = SampleAndRefine(6, 4, method=method).maximize(landscape, generator=seeded(1))
    assert end.parameters[1].dtype == torch.int64
    assert torch.equal(start.parameters[1], end.parameters[1])
    assert (end.values > start.values).any()
    torch.testing.assert_close(SO3().project(end.parameters[0]), end.parameters[0])


def test_grid_search_on_a_product_is_the_brute_force_loop() -> None:
    family, g, network = composed_problem()
    landscape = Landscape(network, family, ClassScore(), g)
    found = GridSearch(candidates=25).maximize(landscape, generator=seeded(0))
    rotations = SO3().cover(12)
    signs = torch.tensor([[1.0, 1, 1], [-1, 1, 1]], dtype=torch.float64)
    forms = torch.einsum("bni,kji,sj->ksbnj", g, rotations, signs)
    values = network(forms.flatten(0, 2).detach()).unflatten(0, forms.shape[:3]).flatten(0, 1).max(0).values
    torch.testing.assert_close(found.values, values.detach())


def test_compositions_nest() -> None:
    family = Composition(Composition(Rotations(), Mirror()), Rotations())
    model = Canonicalized(cloud_network(), family, SampleAndRefine(6, 2)).eval()
    found = model.canonicalize(clouds())
    assert found.parameters[0][1].dtype == torch.int64
    assert found.logits.shape == (3, 3)


def test_refinement_on_a_finite_space_with_a_trained_network_changes_nothing() -> None:
    landscape = Landscape(cloud_network(), Mirror(), ClassScore(), clouds())
    found = SampleAndRefine(8, 3).maximize(landscape, generator=seeded(1))
    torch.testing.assert_close(found.values, RandomSearch(8).maximize(landscape, generator=seeded(1)).values)


def landscape_of(problem: Problem) -> Landscape:
    return Landscape(problem.network, problem.family, ClassScore(), problem.g)


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_scores_at_one_form_of_every_pair_are_those_of_all_forms() -> None:
    landscape = Landscape(cloud_network(), Rotations(), ClassScore(), clouds(), chunk_size=3)
    owner = torch.arange(landscape.batch).repeat(2)
    u = landscape.place(SO3().sample(len(owner), generator=torch.Generator().manual_seed(0)))
    every = landscape.scores(u, owner)
    form = torch.arange(len(owner)) % every.shape[1]
    assert every.shape[1] > 1
    assert torch.equal(landscape.scores(u, owner, form), every.gather(1, form.unsqueeze(1)))


class Own:
    """A search that is derived from nothing."""

    def maximize(self, landscape: Landscape, *, generator: torch.Generator) -> SearchResult:
        return RandomSearch(6).maximize(landscape, generator=generator)


@pytest.mark.parametrize("wrap", [lambda own: own, lambda own: Restarts(own, 1), lambda own: WithMemory(own, 9)])
def test_a_search_of_ones_own_serves_everywhere(wrap: Callable[[Any], Any]) -> None:
    model = Canonicalized(cloud_network(), Rotations(), wrap(Own())).eval()
    expected = Canonicalized(cloud_network(), Rotations(), RandomSearch(6)).eval()
    assert torch.equal(model(clouds()), expected(clouds()))
    with pytest.raises(InputError, match=r"cannot keep a budget|needs a search over a set of candidates"):
        model(clouds(), budget=3)


@pytest.mark.parametrize("wrap", [lambda own: Restarts(own), lambda own: WithMemory(own, 9), SubsetSearch])
def test_what_is_no_search_is_refused_at_once(wrap: Callable[[Any], Any]) -> None:
    with pytest.raises(InputError, match=r"method maximize|set of candidates"):
        wrap(RandomSearch)
