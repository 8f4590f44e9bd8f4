"""Digits at any angle: the rows train, differ where they should, and share what they should."""

import math

import pytest
import torch

from adacanon import Canonicalized, GridSearch
from adacanon.data.images import ImageDataset, Images
from adacanon.experiments.images import rotated_mnist
from adacanon.experiments.images.rotated_digits import RotatedDigits, SmallCNN, randomly_rotated, rotated_digits
from adacanon.experiments.images.rotated_mnist import ROTATED_MNIST, build, execute
from adacanon.experiments.images.rotated_mnist import tested as as_tested
from adacanon.runs.run import Run
from adacanon.training.loop import TrainingControl

PIXELS = 12


def bars(samples: int, seed: int) -> Images:
    """A bar above the middle, or below it."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.arange(samples) % 2
    pixels = torch.randint(0, 40, (samples, 1, PIXELS, PIXELS), generator=generator, dtype=torch.uint8)
    pixels[labels == 0, :, 2:4, 3:9] = 250
    pixels[labels == 1, :, 7:9, 3:9] = 250
    return Images(pixels, labels, torch.arange(samples))


DATA = ImageDataset("mnist", bars(24, 0), bars(12, 1), ("above", "below"), subset=True)


@pytest.fixture(autouse=True)
def _small_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rotated_mnist, "mnist", lambda: DATA)


@pytest.fixture
def digits() -> RotatedDigits:
    return rotated_digits(DATA, seed=0)


def run_of(row: str) -> Run:
    options = {**ROTATED_MNIST.settings_of(row, "any angle"), "epochs": 1, "batch": 8}
    options |= {name: value for name, value in {"draws": 3}.items() if name in options}
    return Run.of("rotated-mnist", row, "any angle", 0, options)


@pytest.mark.parametrize("row", ROTATED_MNIST.row_names)
def test_a_row_trains_and_is_reproducible(row: str) -> None:
    metrics, again = (execute(run_of(row), TrainingControl()) for _ in range(2))
    assert 0 <= metrics["accuracy"] <= 100
    assert math.isfinite(metrics["train_loss"])
    assert {k: v for k, v in again.items() if k != "seconds"} == {k: v for k, v in metrics.items() if k != "seconds"}


def test_the_rows_search_as_their_names_say(digits: RotatedDigits) -> None:
    for row, angles in {"CNN (C4 maximum)": 4, "CNN (C8 maximum)": 8, "AC-CNN (not retrained)": 48}.items():
        record = ROTATED_MNIST.row(row)
        learner = build(record, digits, run_of(row).options())
        assert isinstance(learner.module, SmallCNN)
        model = as_tested(record, learner, digits, run_of(row).options()).module
        assert isinstance(model, Canonicalized)
        assert model.network is learner.module
        assert model.search == GridSearch(angles)
    record = ROTATED_MNIST.row("AC-CNN (paper)")
    retrained = build(record, digits, run_of(record.name).options())
    assert isinstance(retrained.module, Canonicalized)
    assert as_tested(record, retrained, digits, run_of(record.name).options()) is retrained


def test_only_the_augmented_row_turns_its_training_images(digits: RotatedDigits) -> None:
    turns = {row.name: build(row, digits, run_of(row.name).options()).training_inputs for row in ROTATED_MNIST.rows}
    assert [row for row, turned_inputs in turns.items() if turned_inputs is not None] == ["CNN (augmented)"]


def test_the_test_digits_are_turned_by_angles_of_the_seed_and_the_training_digits_are_upright(
    digits: RotatedDigits,
) -> None:
    same, other = rotated_digits(DATA, seed=0), rotated_digits(DATA, seed=1)
    assert torch.equal(digits.images, same.images)
    test = digits.split.test
    assert not torch.equal(digits.images[test], other.images[test])
    assert not torch.equal(digits.images[test], digits.images[digits.upright])
    assert torch.equal(digits.images[digits.split.train], other.images[digits.split.train])
    assert torch.equal(digits.labels[test], digits.labels[digits.upright])


def test_four_angles_make_a_network_exactly_invariant_to_quarter_turns(digits: RotatedDigits) -> None:
    row = ROTATED_MNIST.row("CNN (C4 maximum)")
    options = run_of(row.name).options()
    model = as_tested(row, build(row, digits, options), digits, options).module.eval()
    images = digits.images[digits.upright]
    with torch.no_grad():
        torch.testing.assert_close(model(images), model(images.rot90(1, (2, 3))))


def test_every_turn_is_new(digits: RotatedDigits) -> None:
    images = digits.images[:3]
    assert not torch.equal(randomly_rotated(images), randomly_rotated(images))


def test_the_table_has_at_least_three_seeds() -> None:
    assert len(ROTATED_MNIST.runs(rows=("CNN",))) >= 3
