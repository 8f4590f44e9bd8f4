"""Families of images keep the laws of a family, and serve every search."""

import math
import pickle

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import adaptive_avg_pool2d

from adacanon import (
    Canonicalized,
    CoarseToFine,
    Composition,
    GridSearch,
    NegativeEntropy,
    Objective,
    RandomSearch,
    SampleAndRefine,
)
from adacanon.core import Family, Landscape, Maximizer, SearchResult, soft_maximum
from adacanon.core.prior import ClassScore
from adacanon.core.pytree import Tree, batch_size
from adacanon.errors import InputError, SpaceError, UnknownNameError
from adacanon.frozen import features_of_forms
from adacanon.images import (
    AffineMaps,
    Composed,
    Dilations,
    PlaneMaps,
    Reflections,
    Rotations,
    Shears,
    Translations,
    Truncations,
    Windows,
)
from adacanon.images.plane_maps import covering_set
from adacanon.images.resampling import Outside
from adacanon.testing import assert_invariant, check_family
from cases.image_cases import OUTSIDE, continuous, families, images

FINITE_LAWS = ("pairs", "purity", "equicontinuity", "identity")
ALL_LAWS = ("pairs", "purity", "continuity", "equicontinuity", "identity", "gradients")


class SmallCNN(nn.Module):
    """Takes images of any size."""

    def __init__(self, channels: int = 2, classes: int = 3) -> None:
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            self.features = nn.Conv2d(channels, 8, 3, padding=1).double()
            self.head = nn.Linear(8, classes).double()

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.features(x).tanh().mean((2, 3)))


class Pooled(nn.Module):
    """Sees a picture of 4 x 4 whatever the size of the image."""

    def __init__(self) -> None:
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            self.head = nn.Linear(32, 3).double()

    def forward(self, x: Tensor) -> Tensor:
        return self.head(adaptive_avg_pool2d(x, 4).flatten(1)).tanh()


@pytest.mark.parametrize("family", families(), ids=repr)
def test_laws_of_a_family(family: Family) -> None:
    g = images(dtype=torch.float64)
    finite = isinstance(family, Windows | Reflections)
    assert check_family(family, g) == (FINITE_LAWS if finite else ALL_LAWS)


@pytest.mark.parametrize("outside", ["border", "reflection", "disc"])
def test_laws_of_a_family_whatever_lies_outside(outside: Outside) -> None:
    for family in continuous(outside):
        assert check_family(family, images(dtype=torch.float64)) == ALL_LAWS


def test_truncation_after_rotation_is_a_family_too() -> None:
    family = Composition(Rotations("disc"), Truncations())
    assert check_family(family, images(dtype=torch.float64)) == ALL_LAWS


@pytest.mark.parametrize("outside", OUTSIDE)
def test_quarter_turns_of_any_picture_are_an_exact_symmetry(outside: Outside) -> None:
    g = images(4, height=9, width=9, dtype=torch.float64)
    family = Rotations(outside)
    model = Canonicalized(SmallCNN(), family, GridSearch(4)).eval()
    assert_invariant(model, g, lambda g: family.prepare(g).rot90(1, (2, 3)), tolerance=1e-12)
    with pytest.raises(AssertionError, match="not invariant"):
        assert_invariant(SmallCNN(), g, lambda g: g.rot90(1, (2, 3)), tolerance=1e-12)


def test_reflections_are_an_exact_symmetry() -> None:
    g = images(4, dtype=torch.float64)
    model = Canonicalized(SmallCNN(), Reflections("both")).eval()
    for axes in ((2,), (3,), (2, 3)):
        assert_invariant(model, g, lambda g, axes=axes: g.flip(axes), tolerance=1e-12)


class TestSearches:
    @pytest.mark.parametrize("family", families(), ids=repr)
    def test_a_named_default_runs_in_evaluation_and_in_training(self, family: Family) -> None:
        g = images(dtype=torch.float64)
        model = Canonicalized(SmallCNN(), family)
        Objective(model)(g, torch.tensor([0, 2, 1])).loss.backward()
        assert all(p.grad is not None and p.grad.any() for p in model.network.parameters())
        model.eval()
        assert model(g).shape == (3, 3)

    @pytest.mark.parametrize("family", [*continuous(), Reflections("both"), Truncations(), Windows()], ids=repr)
    def test_the_maximum_is_never_below_the_image_itself(self, family: Family) -> None:
        """The candidates of the default search hold the identity."""
        g, network = images(dtype=torch.float64), SmallCNN()
        g = family.prepare(g)
        assert (Canonicalized(network, family, temperature=0).eval()(g) >= network(g) - 1e-12).all()

    @pytest.mark.parametrize("family", [Truncations(), Windows(), Windows(levels=None)], ids=repr)
    def test_crops_have_a_temperature_near_the_mean_and_few_candidates_in_training(self, family: Family) -> None:
        model = Canonicalized(SmallCNN(), family)
        assert model.temperature is not None
        assert float(model.temperature()) == 3
        g = images(2, 2, 16, 16, dtype=torch.float64)
        spread = model.eval().canonicalize(g).effective_forms
        assert spread is not None
        assert bool((spread > 5).all())
        assert model.train().canonicalize(g).evaluations == 8

    def test_the_default_of_rotations_is_a_grid_of_angles(self) -> None:
        points = covering_set(Rotations().points, 48)
        assert points.shape == (48,)
        assert points[0] == 0
        assert points[12] == pytest.approx(math.pi / 2)

    def test_a_covering_set_of_a_product_has_about_as_many_points(self) -> None:
        family = Composed(Reflections("both"), Rotations(), Translations())
        assert batch_size(covering_set(family.points, 48)) == 1 + 4 * 3 * 3

    @pytest.mark.parametrize("family", [*continuous(), Truncations()], ids=repr)
    def test_coarse_views_find_close_to_what_the_whole_image_finds(self, family: Family) -> None:
        """On a smooth image, all of whose candidates are scored on a quarter of the pixels."""
        y, x = torch.meshgrid(torch.linspace(-1, 1, 24), torch.linspace(-1, 1, 24), indexing="ij")
        g = torch.stack([(-8 * ((x - a).square() + (y - 0.2).square())).exp() for a in (-0.4, 0.1)])
        g = g.unsqueeze(1).expand(-1, 2, -1, -1).double()
        search = RandomSearch(40)
        whole = found_by(search, family, g, Pooled())
        coarse = found_by(CoarseToFine(search, size=144, low_precision=False), family, g, Pooled())
        random = found_by(RandomSearch(1), family, g, Pooled()).values
        assert coarse.exact
        assert (coarse.values <= whole.values + 1e-12).all()
        gain = (coarse.values - random).sum() / (whole.values - random).sum()
        assert gain > 0.9

    def test_windows_have_no_coarse_views(self) -> None:
        with pytest.raises(SpaceError, match=r"Windows\(.*no coarse views"):
            found_by(CoarseToFine(RandomSearch(4)), Windows(), images(dtype=torch.float64))

    @pytest.mark.parametrize("failure", [RuntimeError, ValueError, AssertionError, IndexError])
    def test_a_network_for_images_of_one_size_is_told_the_cause_and_what_to_do(self, failure: type[Exception]) -> None:
        class OneSize(nn.Module):
            def forward(self, x: Tensor) -> Tensor:
                if x.shape[-1] != 16:
                    raise failure("Input height and width do not match model")
                return x.mean((2, 3))

        g = torch.rand(2, 3, 16, 16)
        with pytest.raises(failure) as caught:
            Canonicalized(OneSize(), Rotations(), CoarseToFine(RandomSearch(4), 64)).eval()(g)
        (note,) = caught.value.__notes__
        assert "on coarse views of shape (3, 8, 8) of inputs of shape (3, 16, 16). Hint: " in note
        assert "not CoarseToFine but GridSearch(50)" in note
        assert Canonicalized(OneSize(), Rotations(), GridSearch(50)).eval()(g).shape == (2, 3)

    @pytest.mark.parametrize("family", [*continuous("border")[:5], Truncations()], ids=repr)
    def test_refinement_climbs(self, family: Family) -> None:
        g = images(height=12, width=12, dtype=torch.float64)
        start, climbed = (found_by(search, family, g) for search in (RandomSearch(4), SampleAndRefine(4, steps=8)))
        assert (climbed.values >= start.values).all()
        assert (climbed.values > start.values + 1e-6).any()


def found_by(search: Maximizer, family: Family, g: Tree, network: nn.Module | None = None) -> SearchResult:
    landscape = Landscape(network or SmallCNN(), family, ClassScore(), family.prepare(g))
    return search.maximize(landscape, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("family", families(), ids=repr)
def test_inference_mode_and_pickling_change_nothing(family: Family) -> None:
    g = images(dtype=torch.float64)
    model = Canonicalized(SmallCNN(), family, SampleAndRefine(4, steps=2)).eval()
    expected = model(g).detach()
    with torch.inference_mode():
        torch.testing.assert_close(model(g.clone()), expected)
    torch.testing.assert_close(pickle.loads(pickle.dumps(model))(g).detach(), expected)


class Counting(nn.Module):
    """Remembers how many images it got at a time."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[int] = []

    def forward(self, x: Tensor) -> Tensor:
        self.seen.append(len(x))
        return x.mean((2, 3))


class TestChunks:
    @pytest.mark.parametrize("family", [Rotations(), Truncations(), Windows(), Composition(Rotations(), Windows())])
    @pytest.mark.parametrize(("size", "expected"), [(32, 42), (200, 8)])
    def test_a_network_gets_as_many_images_as_pay(self, family: Family, size: int, expected: int) -> None:
        network = Counting()
        Canonicalized(network, family, RandomSearch(50)).eval().canonicalize(torch.rand(1, 3, size, size))
        assert network.seen[0] == max(network.seen) == expected

    def test_a_number_that_is_set_counts(self) -> None:
        network = Counting()
        Canonicalized(network, Rotations(), GridSearch(8), chunk_size=3).eval().canonicalize(torch.rand(1, 3, 8, 8))
        assert network.seen == [3, 3, 2]

    def test_scores_do_not_depend_on_it(self) -> None:
        g, network = images(3, dtype=torch.float64), SmallCNN()
        one, other = (Canonicalized(network, Rotations(), chunk_size=chunk).eval()(g) for chunk in (None, 5))
        torch.testing.assert_close(one, other)


class TestOutputsOfAnyKind:
    """On all windows, so that the oracle is a maximum over a list."""

    def forms(self) -> tuple[Tensor, Tensor]:
        g = images(3, 2, 16, 16, dtype=torch.float64)
        every = torch.arange(55).repeat(3), torch.arange(3).repeat_interleave(55)
        return g, (20 * SmallCNN()(Windows().transform(g, *every))).unflatten(0, (3, 55))

    def test_probabilities_are_maximized_as_they_are(self) -> None:
        g, logits = self.forms()
        found = (
            Canonicalized(lambda x: (20 * SmallCNN()(x)).softmax(1), Windows(), temperature=0).eval().canonicalize(g)
        )
        torch.testing.assert_close(found.logits, logits.softmax(2).amax(1))
        assert torch.equal(found.parameters, logits.softmax(2).argmax(1))

    def test_labels_of_several_classes_have_a_form_each(self) -> None:
        g, logits = self.forms()
        found = Canonicalized(lambda x: (20 * SmallCNN()(x)).sigmoid(), Windows(), temperature=0).eval().canonicalize(g)
        torch.testing.assert_close(found.logits, logits.sigmoid().amax(1))
        assert torch.equal(found.parameters, logits.argmax(1))

    def test_the_entropy_of_probabilities_is_that_of_their_logarithm(self) -> None:
        g, logits = self.forms()
        network = nn.Sequential(SmallCNN(), Times(20), nn.Softmax(1))
        found = Canonicalized(lambda x: network(x).log(), Windows(), prior=NegativeEntropy()).eval().canonicalize(g)
        p = logits.softmax(2)
        surest = (p * p.log()).sum(2).argmax(1)
        assert torch.equal(found.parameters.squeeze(1), surest)
        torch.testing.assert_close(found.logits.exp(), p[torch.arange(3), surest])


class Times(nn.Module):
    def __init__(self, factor: float) -> None:
        super().__init__()
        self.factor = factor

    def forward(self, x: Tensor) -> Tensor:
        return self.factor * x


def test_features_of_all_windows_of_a_frozen_backbone() -> None:
    g = images(3, 2, 16, 16, dtype=torch.float64)
    network = SmallCNN()
    features = features_of_forms(network, Windows(), torch.arange(55), g)
    assert features.shape == (3, 55, 3)
    torch.testing.assert_close(features[:, 0], network(g))
    torch.testing.assert_close(features.amax(1), Canonicalized(network, Windows(), temperature=0).eval()(g))
    soft = soft_maximum(features.transpose(0, 1), 3.0)
    torch.testing.assert_close(soft, Canonicalized(network, Windows()).eval()(g))


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Rotations("wrap"), UnknownNameError, "zero, border, reflection, disc, got 'wrap'"),
        (lambda: Translations(-0.1), InputError, "Translations needs reach from zero, got reach=-0.1"),
        (lambda: Translations(float("nan")), InputError, "reach to be a number, got nan"),
        (lambda: Dilations(1.1, 2.0), InputError, "smallest <= 1 <= largest, got smallest=1.1"),
        (lambda: Dilations(0.0), InputError, "0 < smallest"),
        (lambda: Shears(1.0), InputError, "Shears needs reach from zero and below 1.*invertible, got reach=1.0"),
        (lambda: AffineMaps(0.5), InputError, "below 0.5.*invertible, got reach=0.5"),
        (lambda: AffineMaps(0.2, -1), InputError, "AffineMaps needs shift from zero, got shift=-1"),
        (lambda: Reflections("diagonal"), UnknownNameError, "horizontal, vertical, both, got 'diagonal'"),
        (lambda: Composed(), InputError, "maps of the plane, got none"),
        (lambda: Composed(Rotations(), Windows()), InputError, "Windows.*adacanon.Composition"),
        (lambda: Composed(Rotations("disc"), Shears()), InputError, "agree on what lies outside, got disc, zero"),
    ],
)
def test_families_that_make_no_sense_are_refused(make: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make()  # type: ignore[operator]


def test_maps_at_the_edge_of_a_compact_set_are_invertible() -> None:
    for family in (AffineMaps(0.49, 0.1), Shears(0.99)):
        low, high = (torch.tensor(corner, dtype=torch.float64) for corner in (family.points.low, family.points.high))
        corners = torch.cartesian_prod(*torch.stack([low, high], dim=1))
        assert torch.linalg.det(family.maps(corners)[..., :2]).min() > 0


def test_a_family_of_ones_own_needs_its_space_and_its_maps() -> None:
    """Squeezing along x, in a dozen lines."""

    class Squeezes(PlaneMaps):
        outside: Outside = "zero"
        points = Dilations(0.5, 2.0).points

        def maps(self, u: Tensor) -> Tensor:
            maps = Dilations().maps(u)
            maps[:, 1, 1] = 1
            return maps

    assert check_family(Squeezes(), images(dtype=torch.float64)) == ALL_LAWS
