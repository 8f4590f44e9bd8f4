"""Shapes whose principal axes do not follow from them: the record of a search says so, and the model warns once."""

import copy
import math
import pickle
import warnings
from collections.abc import Iterator

import pytest
import torch
from torch import Tensor, nn

from adacanon import (
    AnchoredSearch,
    Canonicalized,
    CoarseToFine,
    Confidence,
    Objective,
    RandomSearch,
    Restarts,
    SampleAndRefine,
    SubsetSearch,
    WeightedAnchors,
    WithMemory,
)
from adacanon.core.maximizer import Maximizer
from adacanon.data.modelnet import load_modelnet
from adacanon.maximizers import ClimbStage, successive_halving
from adacanon.points import AxisRotations, CloudFamily, Isometries, Rotations, Unpacked
from adacanon.points.frames import axes_determined, principal_axes
from adacanon.points.rotations import axis_frames, rotations_about
from adacanon.spaces import SO3
from adacanon.spaces.so3 import rotation_group

AXIS = (1.0, 2.0, -2.0)
POSES = 200
WARNING = r"have no axes of their own .* depend on the pose .* Hint: .*determined"
ANCHORED: list[Maximizer] = [
    AnchoredSearch(24),
    AnchoredSearch(48, steps=1),
    SubsetSearch(AnchoredSearch(24), 6),
    WithMemory(AnchoredSearch(24), samples=8),
    WithMemory(SubsetSearch(AnchoredSearch(24), 6), samples=8),
    Restarts(AnchoredSearch(24), times=2),
    CoarseToFine(AnchoredSearch(24), size=6),
    successive_halving(AnchoredSearch(24), (ClimbStage(6, keep=2),)),
]


def cube() -> Tensor:
    return torch.cartesian_prod(*[torch.tensor([-1.0, 1.0], dtype=torch.float64)] * 3)


def polygon(corners: int) -> Tensor:
    angles = torch.arange(corners, dtype=torch.float64) * 2 * math.pi / corners
    return torch.stack([angles.cos(), angles.sin(), torch.zeros_like(angles)], 1)


def line() -> Tensor:
    along = torch.linspace(0, 1, 9, dtype=torch.float64).square().unsqueeze(1)
    return along * torch.tensor([1.0, 2.0, -0.7], dtype=torch.float64)


SYMMETRIC = {
    "cube": cube(),
    "square prism": cube() * torch.tensor([1.0, 1.0, 2.4], dtype=torch.float64),
    "square plate": cube() * torch.tensor([1.0, 1.0, 0.01], dtype=torch.float64),
    "square needle": cube() * torch.tensor([0.001, 0.001, 1.0], dtype=torch.float64),
    "triangle": polygon(3),
    "pentagon": polygon(5),
    "polygon of 1000 corners": polygon(1000),
    "two points": line()[:2],
    "points on a line": line(),
    "one point, repeated": torch.full((6, 3), 0.7, dtype=torch.float64),
}


def ordinary(dtype: torch.dtype = torch.float32, count: int = 4, points: int = 12) -> Tensor:
    return torch.randn(count, points, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64).to(dtype)


def cubes(count: int = 4) -> Tensor:
    return cube().float().expand(count, 8, 3)


def tied() -> Tensor:
    """A triangle above a pentagon that points the other way: two ways to turn it are as good, and not alike."""
    up = torch.tensor([0.0, 0.0, 1.0], dtype=torch.float64)
    return torch.cat([polygon(3) + 0.5 * up, -polygon(5) - 0.3 * up])


def several_tied(count: int = 4) -> Tensor:
    return tied().float().expand(count, 8, 3)


def turned(x: Tensor, matrices: Tensor) -> Tensor:
    """As a user turns a cloud: in its own precision."""
    return x @ matrices.to(x).mT


def poses() -> Tensor:
    return SO3().sample(POSES, generator=torch.Generator().manual_seed(1))


def turns() -> Tensor:
    angles = torch.rand(POSES, generator=torch.Generator().manual_seed(1), dtype=torch.float64) * 2 * math.pi
    return rotations_about(AXIS, angles)


def about_axis(x: Tensor) -> Tensor:
    """With the third coordinate along the axis."""
    return x @ torch.linalg.qr(torch.tensor(AXIS, dtype=torch.float64)[:, None], mode="complete").Q.roll(-1, 1).mT


class Lively(nn.Module):
    """Answers that a rotation changes."""

    def __init__(self) -> None:
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            self.point = nn.Sequential(nn.Linear(3, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh())
            self.head = nn.Linear(32, 3)
            for parameter in self.point.parameters():
                parameter.data *= 2

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.point(x).amax(1))


def model(search: Maximizer | None = None, family: CloudFamily | None = None) -> Canonicalized:
    return Canonicalized(Lively(), family or Rotations(), search).eval()


class TestAxes:
    @pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64], ids=str)
    @pytest.mark.parametrize("name", SYMMETRIC)
    @pytest.mark.parametrize("away", [0.0, 3.0])
    def test_of_symmetric_shapes_are_not_determined_in_any_pose(
        self, name: str, dtype: torch.dtype, away: float
    ) -> None:
        x = turned((SYMMETRIC[name] + away).to(dtype), poses())
        for family in (Rotations(), Isometries()):
            assert family.determined_for_scores(x).all() or dtype == torch.float16  # rounding hides symmetries
        assert not axes_determined(x).any()

    def test_of_a_cloud_without_a_choice_are_not_settled_and_its_answers_depend_on_the_pose(self) -> None:
        x = turned(tied(), poses()[:20])
        with pytest.warns(UserWarning, match="20 of 20"):
            found = model().double().canonicalize(x)
        assert found.determined is not None
        assert not found.determined.any()
        assert found.logits.std(0).max() > 1e-3

    @pytest.mark.parametrize("away", [0.0, 3.0])
    @pytest.mark.parametrize("name", SYMMETRIC)
    def test_of_symmetric_shapes_give_one_answer_in_all_poses(self, name: str, away: float) -> None:
        where = away * torch.tensor([0.3, -0.5, 0.8], dtype=torch.float64)
        found = model().double().canonicalize(turned(SYMMETRIC[name] + where, poses()[:20]))
        assert found.evaluations == 24
        assert found.determined is not None
        assert found.determined.all()
        assert found.logits.std(0).max() < 1e-6

    def test_that_are_settled_by_symmetry_alone_do_not_count_where_points_have_more_than_coordinates(self) -> None:
        """Colours and normals may not have the symmetry, and an answer that is carried back shows which axes it had."""
        x, colours, category = cubes(), ordinary(points=8), torch.eye(4)
        assert Rotations().determined_for_scores((x, category)).all()
        assert not Rotations().determined_for_scores((x, colours)).any()
        assert not Rotations(vectors=2).determined_for_scores(torch.cat([x, colours], 2)).any()
        shared = Canonicalized(Lively(), Rotations(), prior=Confidence()).eval()
        with pytest.warns(UserWarning, match="4 of 4"):
            found = shared.canonicalize(x)
        assert found.determined is not None
        assert not found.determined.any()

    def test_where_variances_differ_nothing_is_asked_of_further_moments(self) -> None:
        x = ordinary(count=50, points=40)
        plain = rotation_group("cube") @ principal_axes(x).unsqueeze(1)
        assert torch.equal(axis_frames(x), plain.to(x.dtype))

    @pytest.mark.parametrize("name", [name for name in SYMMETRIC if name not in ("points on a line", "two points")])
    @pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64], ids=str)
    def test_angles_about_an_axis_of_symmetry_are_not_determined_at_any_angle(
        self, name: str, dtype: torch.dtype
    ) -> None:
        x = turned(about_axis(SYMMETRIC[name]).to(dtype), turns())
        assert not AxisRotations(AXIS).determined(x).any()

    def test_angles_are_determined_about_one_axis_and_not_about_another(self) -> None:
        box = cube() * torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)
        assert AxisRotations((0, 0, 1)).determined(box[None]).item()
        square = cube() * torch.tensor([1.0, 1.0, 3.0], dtype=torch.float64)
        assert [AxisRotations(a).determined(square[None]).item() for a in ((0, 0, 1), (0, 1, 0))] == [False, True]

    @pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
    @pytest.mark.parametrize("stretch", [1.001, 1.1, 2.0])
    def test_are_determined_where_variances_differ(self, stretch: float, dtype: torch.dtype) -> None:
        sides = torch.tensor([1.0, stretch, stretch**2], dtype=torch.float64)
        for scale in (1e-6, 1.0, 1e6):
            x = turned((scale * sides * cube()).to(dtype), poses())
            assert Rotations().determined(x).all()

    def test_of_a_thin_rod_are_determined_if_its_section_is(self) -> None:
        """The gap of two small variances counts beside themselves, not beside the largest one."""
        rod = cube() * torch.tensor([0.001, 0.0013, 1.0], dtype=torch.float64)
        assert Rotations().determined(turned(rod.float(), poses())).all()

    def test_of_ordinary_clouds_are_determined(self) -> None:
        for x in (ordinary(count=500, points=4), ordinary(torch.float64, 500, 40)):
            for family in (Rotations(), Isometries(), AxisRotations(AXIS)):
                assert family.determined(x).all()

    def test_padding_neither_gives_nor_takes_them(self) -> None:
        x = torch.cat([torch.cat([cubes(1), ordinary(count=1, points=8)]), 9 * ordinary(count=2, points=5)], dim=1)
        real = (torch.arange(13) < 8).expand(2, 13)
        assert axes_determined(x, real).tolist() == [False, True]
        assert Rotations().determined((x, real)).tolist() == [False, True]
        assert AxisRotations((0, 0, 1)).determined((x, real)).tolist() == [False, True]
        assert Rotations().determined(x).all()

    def test_normals_do_not_count(self) -> None:
        x = torch.cat([cubes(1), ordinary(count=1, points=8)], dim=2)
        assert not Rotations(vectors=2).determined(x).any()

    @pytest.mark.data
    def test_of_all_test_shapes_of_modelnet10_are_determined(self) -> None:
        clouds = load_modelnet(10, 128).test.points
        assert len(clouds) == 908
        assert Rotations().determined(clouds).all()
        assert AxisRotations((0, 0, 1)).determined(clouds).all()


class TestRecord:
    @pytest.mark.parametrize("search", [None, *ANCHORED], ids=str)
    def test_says_which_inputs_have_anchors_of_their_own(self, search: Maximizer | None) -> None:
        x = torch.stack([several_tied()[0], ordinary()[0, :8], several_tied()[0], ordinary()[1, :8]])
        with pytest.warns(UserWarning, match=r"2 of 4 inputs .* the first is sample 0"):
            found = model(search).canonicalize(x, ids=torch.arange(4))
        assert found.determined is not None
        assert found.determined.tolist() == [False, True, False, True]

    def test_says_nothing_where_the_search_uses_no_anchors(self) -> None:
        for search in (RandomSearch(4), SampleAndRefine(4, steps=1), CoarseToFine(RandomSearch(4), size=4)):
            assert model(search).canonicalize(several_tied()).determined is None

    def test_says_what_holds_for_the_answers(self) -> None:
        """The answers for inputs that are determined do not change with the pose; the others do."""
        box, matrices = ordinary(torch.float64)[:1], poses()[:20]
        network = model().double()
        spread = {}
        for name, x in (("tied", tied()[None]), ("box", box)):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)
                spread[name] = network(turned(x, matrices)).std(0).max()
        assert spread["box"] < 1e-9
        assert spread["tied"] > 1e-3

    def test_the_hint_helps(self) -> None:
        x = turned(tied().float(), poses()[:40])
        with pytest.warns(UserWarning, match=r"WeightedAnchors\(\)"):
            anchored = model()(x)
        assert model(WeightedAnchors())(x).std(0).max() < 1e-5 < anchored.std(0).max()
        x = turned(about_axis(cube()).float(), turns()[:40])
        with pytest.warns(UserWarning, match=r"SampleAndRefine\(200, steps=5\)"):
            anchored = model(family=AxisRotations(AXIS))(x)
        refined = model(SampleAndRefine(200, steps=5), AxisRotations(AXIS))
        assert refined(x).std(0).mean() < anchored.std(0).mean() / 2


class TestWarning:
    @pytest.fixture(autouse=True)
    def _as_python_shows_them(self) -> Iterator[None]:
        """What a user sees: of equal warnings from one line only the first."""
        with warnings.catch_warnings():
            warnings.simplefilter("default")
            yield

    def heard(self, *models: Canonicalized, x: Tensor | None = None) -> list[warnings.WarningMessage]:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("default")
            for one in models:
                one(several_tied() if x is None else x)
        return [w for w in caught if issubclass(w.category, UserWarning)]

    def test_comes_once_per_model(self) -> None:
        first, second = model(), model()
        assert len(self.heard(first, first, second, first, second)) == 2
        assert self.heard(first, second) == []

    def test_comes_at_the_first_input_that_needs_it(self) -> None:
        one = model()
        assert self.heard(one, x=ordinary()) == []
        assert len(self.heard(one)) == 1

    def test_names_the_line_that_called_the_model(self) -> None:
        assert {w.filename for w in self.heard(model())} == {__file__}
        with pytest.warns(UserWarning, match=WARNING) as caught:
            model().canonicalize(several_tied())
        assert caught[0].filename == __file__

    @pytest.mark.parametrize("forms", [None, 1.0])
    def test_comes_in_training_too(self, forms: float | None) -> None:
        objective = Objective(model().train(), forms=forms)
        with pytest.warns(UserWarning, match=WARNING):
            objective(several_tied(), torch.tensor([0, 1, 2, 0]))

    def test_is_no_state_of_the_model(self) -> None:
        one = model()
        before = one.state_dict().keys()
        assert self.heard(one)
        assert one.state_dict().keys() == before
        fresh = model()
        fresh.load_state_dict(one.state_dict())
        assert len(self.heard(fresh)) == 1

    def test_a_copy_has_heard_it_if_the_original_has(self) -> None:
        one = model()
        before = copy.deepcopy(one), pickle.loads(pickle.dumps(one))
        assert self.heard(one)
        assert self.heard(copy.deepcopy(one), pickle.loads(pickle.dumps(one))) == []
        assert len(self.heard(*before)) == 2

    def test_is_an_error_for_those_who_ask_for_errors(self) -> None:
        one = model()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for _ in range(2):
                with pytest.raises(UserWarning, match=WARNING):
                    one(several_tied())

    def test_masks_are_read(self) -> None:
        x = torch.cat([several_tied(), ordinary(points=5)], dim=1)
        masked = Canonicalized(Unpacked(Masked()), Rotations()).eval()
        with pytest.warns(UserWarning, match="4 of 4 inputs"):
            masked((x, (torch.arange(13) < 8).expand(4, 13)))


class Masked(Lively):
    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        return super().forward(x if mask is None else x * mask.unsqueeze(2))
