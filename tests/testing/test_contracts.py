"""The public contract tests accept what keeps the laws and name the law that is broken."""

from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor

from adacanon import AnchoredSearch, Canonicalized, RandomSearch
from adacanon.core import Family, Landscape, Maximizer, SearchResult, Space
from adacanon.core.pytree import map_tensors
from adacanon.errors import InputError
from adacanon.images import Reflections
from adacanon.points import Rotations
from adacanon.spaces import SO3, Circle, Orthogonal
from adacanon.testing import (
    assert_equivariant,
    assert_invariant,
    check_family,
    check_maximizer,
    check_space,
    circle_problem,
    finite_problem,
)
from cases.networks import PaddedRotations, Views, clouds, padded_vectors

ALL_LAWS = ("pairs", "purity", "continuity", "equicontinuity", "identity", "gradients")


class Bent(Space):
    """A circle of which single laws can be bent."""

    def __init__(self, **bent: Any) -> None:
        self.circle, self.bent = Circle(), bent

    @property
    def diameter(self) -> float:
        return self.circle.diameter

    def sample(self, count: int, *, generator: torch.Generator | None = None) -> Tensor:
        return self._call("sample", count, generator=generator)

    def project(self, u: Tensor) -> Tensor:
        return self._call("project", u)

    def tangent(self, u: Tensor, v: Tensor) -> Tensor:
        return self._call("tangent", u, v)

    def retract(self, u: Tensor, v: Tensor) -> Tensor:
        return self._call("retract", u, v)

    def norm(self, v: Tensor) -> Tensor:
        return self._call("norm", v)

    def distance(self, u: Tensor, v: Tensor) -> Tensor:
        return self._call("distance", u, v)

    def identity(self) -> Tensor:
        return self._call("identity")

    def compose(self, u: Tensor, v: Tensor) -> Tensor:
        return self._call("compose", u, v)

    def cover(self, count: int | None = None) -> Tensor:
        return self._call("cover", count)

    def _call(self, verb: str, *arguments: Any, **options: Any) -> Tensor:
        return self.bent.get(verb, getattr(self.circle, verb))(*arguments, **options)


CIRCLE = Circle()
BENT_SPACES = {
    "global random state": ({"sample": lambda n, generator: CIRCLE.sample(n)}, "random state"),
    "touched random state": (
        {"sample": lambda n, generator: CIRCLE.sample(n, generator=generator) + 0 * torch.rand(n)},
        "random state",
    ),
    "single precision": ({"sample": lambda n, generator: CIRCLE.sample(n, generator=generator).float()}, "float64"),
    "wrong count": ({"sample": lambda n, generator: CIRCLE.sample(n + 1, generator=generator)}, "leading axes"),
    "constant draws": ({"sample": lambda n, generator: torch.ones(n, dtype=torch.float64)}, "other draws"),
    "draws off the space": (
        {"sample": lambda n, generator: CIRCLE.sample(n, generator=generator) + 10},
        "draws must lie on the space",
    ),
    "creeping projection": ({"project": lambda u: torch.where(u.abs() > 3.1, u * 0.99, u)}, "idempotent"),
    "halved tangent": ({"tangent": lambda u, v: v / 2}, "tangent must be idempotent"),
    "rectified tangent": ({"tangent": lambda u, v: v.clamp(min=0)}, "linear"),
    "restless retraction": ({"retract": lambda u, v: CIRCLE.project(u + v + 1e-3)}, r"retract\(u, 0\)"),
    "retraction off the space": ({"retract": lambda u, v: u + 10 * v}, "stay on the space"),
    "long steps": ({"retract": lambda u, v: CIRCLE.project(u + 2 * v)}, "length t"),
    "wrong norm": ({"norm": lambda v: 3 * v.abs()}, "length t"),
    "signed distance": ({"distance": lambda u, v: CIRCLE.project(v - u)}, "length t|negative"),
    "squared distance": ({"distance": lambda u, v: CIRCLE.distance(u, v) ** 2, "norm": lambda v: 0 * v}, "triangle"),
    "blind distance": ({"distance": lambda u, v: 0 * u, "norm": lambda v: 0 * v}, "positive distance"),
    "identity elsewhere": ({"identity": lambda: torch.tensor(9.0, dtype=torch.float64)}, "identity must lie"),
    "identity that is not neutral": ({"identity": lambda: torch.tensor(1.0, dtype=torch.float64)}, "neutral"),
    "composition that is not associative": (
        {"compose": lambda u, v: CIRCLE.project(u + v + (u * v).sin())},
        "associative",
    ),
    "cover with repetitions": ({"cover": lambda n: torch.zeros(n, dtype=torch.float64)}, "distinct"),
    "random cover": ({"cover": lambda n: CIRCLE.sample(n, generator=ROAMING)}, "every call"),
}
ROAMING = torch.Generator().manual_seed(0)


@pytest.mark.parametrize("name", BENT_SPACES)
def test_a_space_that_breaks_a_law_is_caught(name: str) -> None:
    bent, law = BENT_SPACES[name]
    with pytest.raises(AssertionError, match=law):
        check_space(Bent(**bent), count=16)


POINT = "a tensor of shape (16,)"
WRONG_RETURNS = {
    "sample": (None, "sample must return at least one tensor, got None"),
    "project": ((1.0, 2.0), f"project(u) must return {POINT}, got a tuple of 2 (1.0, 2.0)"),
    "tangent": (None, f"tangent(u, v) must return {POINT}, got None"),
    "retract": (torch.zeros(3), f"retract(u, v) must return {POINT}, got a tensor of shape (3,)"),
    "norm": (1.0, f"norm(v) must return {POINT}, got 1.0"),
    "distance": (torch.zeros(()), f"distance(u, v) must return {POINT}, got a tensor of shape ()"),
    "identity": (0.0, "identity() must return a tensor of shape (), got 0.0"),
    "compose": ([torch.zeros(16)], f"compose(u, v) must return {POINT}, got a list of 1 ({POINT})"),
    "cover": (None, "cover(count) must return points, got None"),
}


@pytest.mark.parametrize("verb", WRONG_RETURNS)
def test_a_space_that_returns_something_else_is_told_what_came_and_what_is_expected(verb: str) -> None:
    value, words = WRONG_RETURNS[verb]
    with pytest.raises(AssertionError) as caught:
        check_space(Bent(**{verb: lambda *arguments, **options: value}), count=16)
    assert words in str(caught.value)


@pytest.mark.parametrize("value", [None, (1.0, 2.0), torch.zeros(3)], ids=["None", "tuple", "tensor"])
def test_a_space_without_a_diameter_is_told_so(value: Any) -> None:
    class Endless(Bent):
        diameter = value

    with pytest.raises(AssertionError, match="diameter must return a number, got "):
        check_space(Endless())


def test_classes_instead_of_instances_are_named() -> None:
    with pytest.raises(AssertionError, match=r"expects a Space, got .*Circle.*Hint: an instance"):
        check_space(Circle)  # type: ignore[arg-type]
    with pytest.raises(AssertionError, match=r"expects a Family, got .*Rotations.*Hint: an instance"):
        check_family(Rotations, clouds())  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"object with a method maximize, got .*RandomSearch.*Hint: an instance"):
        check_maximizer(RandomSearch)  # type: ignore[arg-type]


def test_the_unbent_space_passes() -> None:
    assert "composition" in check_space(Bent(), count=16)


class Crosstalk(Orthogonal):
    """Draws depend on the position in the batch."""

    def sample(self, count: int, *, generator: torch.Generator | None = None) -> Tensor:
        return (
            super().sample(count, generator=generator).roll(1, 0)
            if self.members == 2
            else super().sample(count, generator=generator)
        )

    def select(self, owner: Tensor) -> "Crosstalk":
        chosen = Crosstalk(self.size[owner])
        chosen.width, chosen.height = self.width, self.height
        return chosen


class Spilling(Orthogonal):
    """Tangents reach into the padding."""

    def _zero_outside(self, v: Tensor) -> Tensor:
        return v


def test_draws_that_depend_on_other_members_are_caught() -> None:
    with pytest.raises(AssertionError, match="must not depend on the other members"):
        check_space(Crosstalk(torch.tensor([3, 2])))


def test_tangents_in_the_padding_are_caught() -> None:
    with pytest.raises(AssertionError):
        check_space(Spilling(torch.tensor([3, 2])))


# Families


@dataclass(frozen=True)
class Broken(Family):
    """Rotations with a fault."""

    fault: str

    def space(self, g: Tensor) -> SO3:
        return SO3()

    def transform(self, g: Tensor, u: Tensor, owner: Tensor) -> Tensor:
        forms = g[owner] @ u.mT
        match self.fault:
            case "crosstalk between pairs":
                return forms - forms.mean(0)
            case "crosstalk between inputs":
                return forms * g.square().mean()
            case "ignores the owner":
                return g[torch.arange(owner.shape[0]) % g.shape[0]] @ u.mT
            case "writes to its input":
                g *= 1.0 + 1e-15
                return forms
            case "drops rows":
                return forms[1:]
            case "jumps in u":
                return forms + (u[:, :1, :1] * 1e7).round().remainder(2)
            case "steep in g":
                return forms + (1e-20 + g[owner].sum((1, 2), keepdim=True).frac().abs() * 1e12).frac()
            case "identity does something":
                return forms + 1
            case "gradient is cut":
                return forms.detach()
        raise ValueError(self.fault)


FAULTS = {
    "crosstalk between pairs": "must not depend on the other pairs",
    "crosstalk between inputs": "must not depend on the other inputs",
    "ignores the owner": "must not depend on the other pairs",
    "writes to its input": "must not modify",
    "drops rows": "one row per pair",
    "jumps in u": "continuous in u",
    "steep in g": "equicontinuous in g",
    "identity does something": "identity",
    "gradient is cut": "gradients",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_family_that_breaks_a_law_is_caught(fault: str) -> None:
    with pytest.raises(AssertionError, match=FAULTS[fault]):
        check_family(Broken(fault), clouds())


@pytest.mark.parametrize(
    ("family", "g", "laws"),
    [
        (Rotations(), clouds(), ALL_LAWS),
        (Views(), clouds(), tuple(law for law in ALL_LAWS if law != "identity")),
        (PaddedRotations(), padded_vectors(), tuple(law for law in ALL_LAWS if law != "identity")),
        (circle_problem().family, circle_problem().g, ALL_LAWS),
        (finite_problem().family, finite_problem().g, ("pairs", "purity", "equicontinuity", "identity")),
    ],
    ids=repr,
)
def test_good_families_pass(family: Family, g: Any, laws: tuple[str, ...]) -> None:
    assert check_family(family, g) == laws


@dataclass(frozen=True)
class Returning(Family):
    """Rotations of which one method returns something else."""

    verb: str
    value: Any

    def prepare(self, g: Tensor) -> Any:
        return self.value if self.verb == "prepare" else g

    def space(self, g: Tensor) -> Any:
        return self.value if self.verb == "space" else SO3()

    def transform(self, g: Tensor, u: Tensor, owner: Tensor) -> Any:
        return self.value if self.verb == "transform" else g[owner] @ u.mT


@pytest.mark.parametrize(
    ("verb", "value", "message"),
    [
        ("prepare", None, r"prepare must return a tensor or a tree of tensors, got None"),
        ("space", SO3, r"space must return a Space, got the class SO3"),
        ("space", None, r"space must return a Space, got None"),
        ("transform", None, r"one row per pair, 16, got None"),
        ("transform", torch.zeros(()), r"one row per pair, 16, got a tensor of shape \(\)"),
        (
            "transform",
            (torch.zeros(16, 2), torch.zeros(3)),
            r"got a tuple of 2 \(a tensor of .*, a tensor of shape \(3,\)",
        ),
    ],
)
def test_a_family_that_returns_something_else_is_told_so(verb: str, value: Any, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        check_family(Returning(verb, value), clouds())


def test_a_given_perturbation_replaces_the_default() -> None:
    seen: list[float] = []

    def perturb(g: Tensor, t: float) -> Tensor:
        seen.append(t)
        return g * (1 + t)

    check_family(Rotations(), clouds(), perturb=perturb)
    assert min(seen) <= 1e-6


# Maximizers


@dataclass(frozen=True)
class Faulty(Maximizer):
    """Random search with a fault."""

    fault: str

    def maximize(self, landscape: Landscape, *, generator: torch.Generator) -> SearchResult:
        if self.fault == "global randomness":
            generator = torch.default_generator
        found = RandomSearch(8).maximize(landscape, generator=generator)
        u, values = found.parameters, found.values
        match self.fault:
            case "global randomness":
                return found
            case "flat values":
                return SearchResult(u, values.flatten())
            case "invented values":
                return SearchResult(u, values + 1e-3)
            case "off the space":
                return SearchResult(2 * u, 2 * values)
            case "other parameters":
                return SearchResult(u.roll(1, 0), values)
            case "minimum":
                worst = RandomSearch(8).maximize(_negative(landscape), generator=generator)
                return SearchResult(worst.parameters, -worst.values)
            case "shared between forms":
                return _at(landscape, u[:, :1].expand_as(u))
            case "shared between inputs":
                return _at(landscape, u[:1].expand_as(u))
        raise ValueError(self.fault)


def _negative(landscape: Landscape) -> Landscape:
    return Landscape(lambda x: -landscape.network(x), landscape.family, landscape.prior, landscape.g)


def _at(landscape: Landscape, u: Tensor) -> SearchResult:
    """Honest values at given parameters (batch, forms, 3, 3)."""
    return SearchResult(u, landscape.value_and_gradient(u.unsqueeze(0))[0][0])


MAXIMIZER_FAULTS = {
    "global randomness": "random state",
    "flat values": "values must have shape",
    "invented values": "values must be those of the landscape",
    "off the space": "must lie on the space",
    "other parameters": "values must be those of the landscape",
    "minimum": "below those of random points",
    "shared between forms": "other forms",
    "shared between inputs": "rest of the batch",
}


@pytest.mark.parametrize("fault", MAXIMIZER_FAULTS)
def test_a_maximizer_that_breaks_a_law_is_caught(fault: str) -> None:
    with pytest.raises(AssertionError, match=MAXIMIZER_FAULTS[fault]):
        check_maximizer(Faulty(fault))


@dataclass(frozen=True)
class Answering(Maximizer):
    """A search that returns what it is told."""

    value: Any

    def maximize(self, landscape: Landscape, *, generator: torch.Generator) -> Any:
        return self.value


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, r"must return SearchResult\(parameters, values\), got None"),
        (torch.zeros(4, 3), r"SearchResult\(parameters, values\), got a tensor of shape \(4, 3\)"),
        (
            (torch.zeros(4, 3, 3, 3), torch.zeros(4, 3)),
            r"got a tuple of 2 \(a tensor of shape \(4, 3, 3, 3\), a tensor",
        ),
        (SearchResult(None, torch.zeros(4, 3)), "with tensors as parameters, got None"),
        (SearchResult(torch.zeros(4, 3, 3, 3), None), "with a tensor of values, got None"),  # type: ignore[arg-type]
    ],
    ids=["None", "tensor", "tuple", "no parameters", "no values"],
)
def test_a_maximizer_that_returns_something_else_is_told_so(value: Any, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        check_maximizer(Answering(value))


def test_a_search_of_ones_own_is_checked_without_a_base_class() -> None:
    class Own:
        def maximize(self, landscape: Landscape, *, generator: torch.Generator) -> SearchResult:
            return RandomSearch(8).maximize(landscape, generator=generator)

    assert check_maximizer(Own()).values.shape == (4, 3)  # type: ignore[arg-type]


# Invariance


def test_an_invariant_model_passes_and_its_error_is_returned() -> None:
    def gram(g: Tensor) -> Tensor:
        return (g @ g.mT).flatten(1)

    assert assert_invariant(gram, clouds(), Rotations(), tolerance=1e-12) <= 1e-12
    assert assert_invariant(gram, clouds(), lambda g: -g, tolerance=1e-12) <= 1e-12


def test_an_anchored_model_is_invariant() -> None:
    from cases.networks import cloud_network

    model = Canonicalized(cloud_network(), Rotations(), AnchoredSearch(candidates=16)).eval()
    assert_invariant(model, clouds(8), Rotations(), tolerance=1e-9)


def test_a_model_that_is_not_invariant_is_caught_with_its_worst_sample() -> None:
    g = clouds(4) * torch.tensor([0.0, 0.1, 10.0, 0.0], dtype=torch.float64)[:, None, None]
    with pytest.raises(AssertionError, match="for sample 2 by"):
        assert_invariant(lambda x: x.flatten(1), g, Rotations(), tolerance=1e-6)
    with pytest.raises(AssertionError, match="not invariant"):
        assert_invariant(lambda x: x.flatten(1), g, lambda x: x + 1, tolerance=1e-6)


def test_nan_is_not_invariance() -> None:
    with pytest.raises(AssertionError, match="not invariant"):
        assert_invariant(lambda x: x.flatten(1) * torch.nan, clouds(), Rotations(), tolerance=1.0)


def test_structures_survive_the_invariance_check() -> None:
    def lengths(g: Any) -> Tensor:
        x = g[0] if isinstance(g, tuple) else g
        return map_tensors(lambda leaf: leaf.norm(dim=1, keepdim=True), x)

    assert_invariant(lengths, padded_vectors(), PaddedRotations(), tolerance=1e-9)


# Equivariance


def test_an_equivariant_model_passes_and_its_error_is_returned() -> None:
    assert assert_equivariant(lambda g: g.mean(1), clouds(), Rotations(), "vectors", tolerance=1e-12) <= 1e-12
    assert assert_equivariant(lambda g: g.norm(dim=2), clouds(), Rotations(), "invariant", tolerance=1e-12) <= 1e-12
    assert assert_equivariant(lambda g: g.sum(1), clouds(), lambda g: -g, lambda y: -y, tolerance=1e-12) <= 1e-12


def test_a_model_that_is_not_equivariant_is_caught_with_its_worst_sample() -> None:
    g = clouds(4) * torch.tensor([0.0, 0.1, 10.0, 0.0], dtype=torch.float64)[:, None, None]
    with pytest.raises(AssertionError, match="sample 2 elsewhere"):
        assert_equivariant(lambda x: x[:, 0].abs(), g, Rotations(), "vectors", tolerance=1e-6)
    with pytest.raises(AssertionError, match="not equivariant"):
        assert_equivariant(lambda x: x[:, 0], g, lambda x: -x, lambda y: y, tolerance=1e-6)


def test_nan_is_not_equivariance() -> None:
    with pytest.raises(AssertionError, match="not equivariant"):
        assert_equivariant(lambda x: x[:, 0] * torch.nan, clouds(), Rotations(), "vectors", tolerance=1.0)


def test_maps_are_compared_where_they_have_a_source() -> None:
    images = torch.rand(2, 1, 8, 8, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    steps = Reflections("both")
    assert assert_equivariant(lambda x: x * x, images, steps, "maps", tolerance=1e-12) <= 1e-12
    with pytest.raises(AssertionError, match="not equivariant"):
        assert_equivariant(lambda x: x.cumsum(2), images, steps, "maps", tolerance=1e-3)


def test_an_action_on_inputs_needs_one_on_answers() -> None:
    with pytest.raises(AssertionError, match="two functions"):
        assert_equivariant(lambda x: x, clouds(), lambda x: x, "vectors", tolerance=1.0)
    with pytest.raises(AssertionError, match="two functions"):
        assert_equivariant(lambda x: x, clouds(), Rotations(), lambda x: x, tolerance=1.0)
