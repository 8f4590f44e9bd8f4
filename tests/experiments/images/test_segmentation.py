"""Parts of turned scenes: rows do what their names say, figures are what they should be, the choice is a choice."""

import math
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from adacanon import Canonicalized, GridSearch
from adacanon.experiments.images import turned_scenes
from adacanon.experiments.images.segmentation import (
    COLUMN,
    SEGMENTATION,
    SEGMENTATION_TEMPERATURE,
    TEMPERATURE,
    TUNED_TEMPERATURE,
    canonicalized,
    execute,
    module_of,
    plain_network,
)
from adacanon.experiments.images.shown_masks import NAMES, first_runs, shown_masks
from adacanon.images import UNet
from adacanon.reports.masks_figure import draw
from adacanon.runs.run import Run, relevant
from adacanon.training.loop import TrainingControl
from oracles.blended_maps import blend, forms

RESULTS = Path(__file__).parents[3] / "results"
SMALL = {"scenes": 12, "epochs": 1, "batch": 6, "tested": 3}


def run_of(row: str) -> Run:
    options = {**SEGMENTATION.settings_of(row, COLUMN), **SMALL}
    options |= {name: value for name, value in {"angles": 4, "draws": 2}.items() if name in options}
    return Run.of("segmentation", row, COLUMN, 0, options)


class Answering(nn.Module):
    """Any function of images."""

    def __init__(self, function) -> None:  # type: ignore[no-untyped-def]
        super().__init__()
        self.function = function

    def forward(self, images: Tensor) -> Tensor:
        return self.function(images)


@pytest.mark.parametrize("row", SEGMENTATION.row_names)
def test_a_row_trains_and_is_reproducible(row: str) -> None:
    metrics, again = (execute(run_of(row), TrainingControl()) for _ in range(2))
    assert all(0 <= metrics[name] <= 100 for name in ("miou", "upright_miou", "changed"))
    times = ("seconds", "milliseconds")
    assert {k: v for k, v in again.items() if k not in times} == {k: v for k, v in metrics.items() if k not in times}


def test_rows_start_from_the_network_of_the_plain_row_and_only_some_change_it() -> None:
    plain = plain_network(run_of("U-Net").options(), 0).state_dict()
    changed = {}
    for row in SEGMENTATION.rows:
        module = module_of(run_of(row.name), TrainingControl())
        network = module.network if isinstance(module, Canonicalized) else module
        assert isinstance(network, UNet)
        changed[row.method] = any(not torch.equal(network.state_dict()[name], plain[name]) for name in plain)
    assert changed == {"plain": False, "augmented": True, "not retrained": False, "fine-tuned": True}


@pytest.mark.parametrize("row", [row.name for row in SEGMENTATION.rows if "temperature" in row.settings])
def test_canonicalized_rows_have_the_angles_and_the_temperature_of_their_settings(row: str) -> None:
    options = SEGMENTATION.settings_of(row, COLUMN)
    model = canonicalized(UNet(6), options)
    assert model.search == GridSearch(24)
    found = 0.0 if model.temperature is None else float(model.temperature())
    expected = {
        "U-Net (mean over angles)": math.inf,
        "AC-U-Net (blended)": TEMPERATURE,
        "AC-U-Net (blended; fine-tuned)": TUNED_TEMPERATURE,
    }
    assert found == pytest.approx(expected.get(row, 0.0))


@pytest.mark.parametrize("temperature", [0.0, 0.01, 0.3, "infinite"])
def test_shared_form_and_blend_are_those_of_a_slow_loop(temperature: float | str) -> None:
    torch.manual_seed(0)
    network = nn.Sequential(nn.Conv2d(1, 3, 3, padding=1), nn.Tanh(), nn.Conv2d(3, 4, 1)).double().eval()
    images, angles = torch.rand(2, 1, 12, 12, dtype=torch.float64), [2 * math.pi * i / 6 for i in range(6)]
    options = {"angles": 6, "temperature": temperature}
    with torch.no_grad():
        found = canonicalized(network, options).eval()(images)
    size = math.inf if temperature == "infinite" else float(temperature)
    expected = torch.stack([torch.from_numpy(blend(forms(network, x, angles), angles, size)) for x in images])
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)


def test_quarter_turns_of_the_image_turn_the_answer_whatever_the_temperature() -> None:
    torch.manual_seed(0)
    network, images = UNet(6).eval(), torch.rand(2, 1, 40, 40)
    disc = turned_scenes.on_disc(40)
    for temperature in (0.0, TEMPERATURE, "infinite"):
        model = canonicalized(network, {"angles": 4, "temperature": temperature}).eval()
        with torch.no_grad():
            answers, of_turned = model(images), model(images.rot90(1, (2, 3)))
        torch.testing.assert_close(of_turned[..., disc], answers.rot90(1, (2, 3))[..., disc], rtol=1e-3, atol=1e-4)


class TestFigures:
    @pytest.fixture
    def data(self) -> turned_scenes.TurnedScenes:
        return turned_scenes.turned_scenes("validation", 30, seed=7)

    def test_a_perfect_segmenter_has_all_and_changes_nothing(self, data: turned_scenes.TurnedScenes) -> None:
        upright, turned = data.upright.labels, data.turned.labels
        assert turned_scenes.mean_iou(turned, turned) == 100
        assert turned_scenes.changed_pixels(upright, turned, data) == 0

    def test_one_that_forgets_to_turn_its_answer_changes_much(self, data: turned_scenes.TurnedScenes) -> None:
        upright, turned = data.upright.labels, data.turned.labels
        assert turned_scenes.mean_iou(upright, turned) < 40
        assert turned_scenes.changed_pixels(upright, upright, data) > 10

    def test_one_that_exchanges_two_classes_when_turned_changes_just_these(
        self, data: turned_scenes.TurnedScenes
    ) -> None:
        exchanged = torch.tensor([0, 1, 2, 3, 5, 4])[data.turned.labels]
        disc = turned_scenes.on_disc(40)
        share = 100 * float((data.turned.labels[:, disc] >= 4).double().mean())
        assert turned_scenes.changed_pixels(data.upright.labels, exchanged, data) == pytest.approx(share, abs=2)
        assert turned_scenes.mean_iou(exchanged, data.turned.labels) == pytest.approx(100 * 4 / 6)

    def test_all_figures_come_from_the_answers(self, data: turned_scenes.TurnedScenes) -> None:
        truth = {image.numpy().tobytes(): mask for image, mask in zip(*_both(data), strict=True)}

        def answer(images: Tensor) -> Tensor:
            masks = torch.stack([truth[image.numpy().tobytes()] for image in images])
            return nn.functional.one_hot(masks, 6).movedim(-1, 1).float()

        found = turned_scenes.segmentation_figures(Answering(answer), data)
        assert (found["miou"], found["upright_miou"], found["changed"]) == (100, 100, 0)


def _both(data: turned_scenes.TurnedScenes) -> tuple[Tensor, Tensor]:
    return torch.cat([data.upright.images, data.turned.images]), torch.cat([data.upright.labels, data.turned.labels])


def test_parts_and_seeds_have_other_scenes() -> None:
    drawn = [
        turned_scenes.turned_scenes(part, 2, seed=seed).upright.images
        for seed in (0, 1)
        for part in turned_scenes.PARTS
    ]
    assert not any(torch.equal(a, b) for i, a in enumerate(drawn) for b in drawn[:i])


def test_the_augmented_row_sees_a_scene_at_another_angle_each_time() -> None:
    data, seen = turned_scenes.turned_scenes("train", 4, seed=0), []
    network = Answering(lambda images: (seen.append(images), torch.zeros(len(images), 6, 40, 40))[1])
    learner = turned_scenes.augmented_segmenter(network, data)
    for _ in range(2):
        learner.loss(torch.arange(4))
    assert not torch.equal(*seen)
    assert not torch.equal(seen[0], data.upright.images)


def test_the_choice_reads_no_test_scene() -> None:
    assert {run.options()["part"] for run in SEGMENTATION_TEMPERATURE.runs()} == {"validation"}
    assert {run.options()["part"] for run in SEGMENTATION.runs()} == {"test"}


@pytest.mark.parametrize(("method", "chosen"), [("not retrained", TEMPERATURE), ("fine-tuned", TUNED_TEMPERATURE)])
def test_the_temperature_is_the_best_positive_one_of_the_validation_scenes(method: str, chosen: float) -> None:
    means = {}
    for row in SEGMENTATION_TEMPERATURE.rows:
        runs = SEGMENTATION_TEMPERATURE.runs(rows=(row.name,))
        records = relevant(runs, RESULTS / "segmentation-temperature.jsonl")
        assert len(records) == 3
        if row.method == method and row.settings["temperature"] not in (0.0, "infinite"):
            means[row.settings["temperature"]] = sum(record["metrics"]["miou"] for record in records)
    assert len(means) == 6
    assert max(means, key=lambda temperature: means[temperature]) == chosen


def test_the_picture_shows_the_same_scenes_for_all_rows() -> None:
    shown = shown_masks({name: run_of(row) for row, name in NAMES.items()}, scenes=2)
    assert list(shown.masks) == ["true classes", *NAMES.values()]
    assert torch.equal(shown.masks["true classes"], turned_scenes.turned_scenes("test", 3, seed=0).turned.labels[:2])
    content = draw(shown)
    assert content.startswith(b"\x89PNG")
    assert len(content) < 200_000
    assert [run.split for run in first_runs().values()] == [0] * len(NAMES)
