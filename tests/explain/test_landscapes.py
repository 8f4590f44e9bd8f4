"""Pictures of scores, against the network called on one form at a time."""

import math
import re

import pytest
import roma
import torch
from torch import Tensor, nn

from adacanon import Canonicalized, Composition, GridSearch
from adacanon.core import Canonical
from adacanon.explain.answer_page import page
from adacanon.explain.chart import Chart
from adacanon.explain.drawn import Clouds
from adacanon.explain.landscapes import landscapes
from adacanon.explain.rotations import DIRECTIONS, SPINS, about, poses_upright, sphere
from adacanon.explain.scores import asked
from adacanon.explain.subject import Subject, subject_of
from adacanon.images import Dilations, Reflections, Translations
from adacanon.images import Rotations as ImageRotations
from adacanon.points import AxisRotations, Isometries
from cases.explained import Largest, classifier, of_clouds, of_graphs, of_images, pictures, rods


def subject(found: Canonical, top: int = 2) -> Subject:
    return subject_of(found, classes=(), labels=None, names=(), samples=2, index=None, top=top, inputs=None)


def charts(found: Canonical) -> list[list[Chart]]:
    assert found.model is not None
    about_it = subject(found)
    with asked(about_it, found.model) as scores:
        return landscapes(scores, Clouds())


def told_range(chart: Chart) -> tuple[float, float, float]:
    """The smallest, the largest and the chosen score that the words of a chart tell."""
    found = re.search(r"Scores go from (\S+) to (\S+); the chosen one has (\S+), and", chart.words)
    assert found, chart.words
    low, high, chosen = map(float, found.groups())
    return low, high, chosen


def test_scores_are_those_of_the_network_at_each_form() -> None:
    found = of_images()
    about_it, model = subject(found), found.model
    assert isinstance(model, Canonicalized)
    angles = torch.tensor([0.0, 0.4, 2.0])
    with asked(about_it, model) as scores:
        values, chosen = scores.at_shared(angles), scores.chosen()
    for i in range(2):
        for t, number in enumerate(about_it.leading[i].tolist()):
            for n, angle in enumerate(angles):
                form = found.family.transform(found.g, angle[None], torch.tensor([i]))
                assert float(values[n, i, t]) == pytest.approx(float(model.network(form)[0, number]), abs=1e-5)
            assert float(chosen[i, t]) == pytest.approx(float(found.scores[i, number]), abs=1e-5)


def test_the_curve_over_angles_has_the_range_of_the_network_on_turned_images() -> None:
    found = of_images()
    model = found.model
    assert isinstance(model, Canonicalized)
    ((chart,), _) = charts(found)
    angles = torch.linspace(-math.pi, math.pi, 121)
    forms = found.family.transform(found.g, angles, torch.zeros(121, dtype=torch.int64))
    values = model.network(forms)[:, found.logits[0].argmax()]
    low, high, chosen = told_range(chart)
    assert low == pytest.approx(float(values.min()), rel=2e-3)
    assert high == pytest.approx(float(values.max()), rel=2e-3)
    assert chosen == pytest.approx(float(found.scores[0].max()), rel=2e-3)
    assert chart.picture.content.count('class="curve"') == 2


def test_better_transformations_that_the_search_did_not_find_are_told() -> None:
    model = Canonicalized(classifier(), ImageRotations(), GridSearch(1)).eval()
    ((chart,), _) = charts(model.canonicalize(pictures()))
    assert "above it: the search did not find them" in chart.words
    fine = Canonicalized(classifier(), ImageRotations(), GridSearch(240)).eval()
    ((chart,), _) = charts(fine.canonicalize(pictures()))
    assert "none shown is above it" in chart.words


@pytest.mark.parametrize(
    ("family", "mark"),
    [(Translations(), 'class="cell"'), (Dilations(), 'class="curve"'), (Reflections("both"), 'class="bar"')],
    ids=repr,
)
def test_boxes_and_finite_sets_have_marks_in_their_pictures(family: object, mark: str) -> None:
    ((chart,), _) = charts(Canonicalized(classifier(), family).eval().canonicalize(pictures()))  # type: ignore[arg-type]
    assert mark in chart.picture.content


def test_the_heat_map_of_two_parameters_has_x_to_the_right_and_y_upwards() -> None:
    """A network that likes shifts to the right alone: columns differ, rows do not, and the right is bright."""

    class Right(nn.Module):
        def forward(self, images: Tensor) -> Tensor:
            x = torch.arange(12.0)
            total = images.sum((1, 2, 3))
            return ((images.sum((1, 2)) * x).sum(1) / total)[:, None].expand(-1, 2)

    image = torch.zeros(2, 1, 12, 12)
    image[:, :, 5, 5] = 1.0
    ((chart,), _) = charts(Canonicalized(Right(), Translations(0.25)).eval().canonicalize(image))
    cells = re.findall(r'<rect x="([\d.]+)" y="([\d.]+)"[^>]*fill="(#\w+)" class="cell"', chart.picture.content)
    by_place = {(float(x), float(y)): fill for x, y, fill in cells}
    xs, ys = sorted({x for x, _ in by_place}), sorted({y for _, y in by_place})
    assert (len(xs), len(ys)) == (21, 21)
    assert {by_place[xs[-1], y] for y in ys} == {"#fde725"}
    assert {by_place[xs[0], y] for y in ys} == {"#440154"}


def test_a_turn_about_an_axis_is_drawn_over_its_angle() -> None:
    ((chart,), _) = charts(Canonicalized(Largest(), AxisRotations((0, 1, 0))).eval().canonicalize(rods()))
    assert chart.title == "Score over the angle"


def test_spaces_of_many_dimensions_are_drawn_by_distance() -> None:
    for found in (
        of_graphs(),
        Canonicalized(
            classifier(), Composition(ImageRotations(), Dilations()), GridSearch(12)
        ).eval().canonicalize(pictures()),
    ):  # fmt: skip
        ((chart,), _) = charts(found)
        assert chart.title == "Score of random transformations"
        assert chart.picture.content.count("<circle") == 193


class TestRotationsOfSpace:
    def test_poses_turn_their_directions_upwards(self) -> None:
        directions = sphere(40)
        poses = poses_upright(directions, 5)
        up = (poses @ directions[:, None, :, None]).squeeze(-1)
        torch.testing.assert_close(up, torch.tensor([0.0, 1.0, 0.0]).double().expand_as(up))
        assert bool((torch.linalg.det(poses) > 0.999).all())
        eye = torch.eye(3).double().expand_as(poses)
        torch.testing.assert_close(poses @ poses.mT, eye)

    @pytest.mark.parametrize("axis", range(3))
    def test_turns_about_axes_are_those_of_roma(self, axis: int) -> None:
        angles = torch.tensor([-2.0, 0.3]).double()
        expected = roma.rotvec_to_rotmat(angles[:, None] * torch.eye(3).double()[axis])
        torch.testing.assert_close(about(axis, angles), expected)

    def test_directions_cover_the_sphere(self) -> None:
        anywhere = torch.nn.functional.normalize(
            torch.randn(500, 3, generator=torch.Generator().manual_seed(0)).double(), dim=1
        )
        nearest = (anywhere @ sphere(DIRECTIONS).T).amax(1)
        assert float(nearest.min()) > math.cos(math.radians(20))

    @pytest.mark.parametrize("mirrored", [False, True])
    def test_the_globe_has_the_best_score_of_every_direction(self, mirrored: bool) -> None:
        """The same range by a loop over directions and spins."""
        family = Isometries() if mirrored else of_clouds().family
        model = Canonicalized(Largest(), family).eval()
        found = model.canonicalize(rods())
        (globe, _), _ = charts(found)
        number, best = int(found.logits[0].argmax()), []
        for poses in poses_upright(sphere(DIRECTIONS), SPINS).float():
            both = [poses, torch.diag(torch.tensor([-1.0, 1.0, 1.0])) @ poses] if mirrored else [poses]
            scores = [float(model.network(rods()[:1] @ pose.T)[0, number]) for some in both for pose in some]
            best.append(max(scores))
        low, high, _ = told_range(globe)
        assert low == pytest.approx(min(best), rel=2e-3)
        assert high == pytest.approx(max(best), rel=2e-3)
        assert ("and their mirror images" in globe.words) == mirrored

    def test_the_line_in_the_globe_is_what_the_chosen_form_turns_upwards(self) -> None:
        found = of_clouds()
        pose = found.parameters[0, found.logits[0].argmax()]
        text = page(found, samples=1, moves=0)
        (line,) = re.findall(r'"lines": \[\[0\.0, 0\.0, 0\.0, (\S+), (\S+), (\S+), \d+\]\]', text)
        assert (pose @ torch.tensor([float(x) for x in line])).tolist() == pytest.approx([0, 1, 0], abs=1e-3)
