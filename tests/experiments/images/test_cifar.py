"""The table on CIFAR: rows train on cached features, see the windows that their names say, and resume."""

import math
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from benchmarks.images import cifar_crops
from torch import Tensor, nn

from adacanon import Canonicalized, GridSearch
from adacanon.core import soft_maximum
from adacanon.data.images import ImageDataset, Images
from adacanon.errors import DataError, InputError
from adacanon.experiments.catalogue import TABLES
from adacanon.experiments.images import chosen_crops, cifar, pretrained, window_features
from adacanon.experiments.images.cifar import CIFAR, build, execute, split_of
from adacanon.experiments.images.window_classifier import WindowClassifier, central_window, some_of
from adacanon.experiments.images.window_features import WindowFeatures
from adacanon.images import ResNet18, Windows
from adacanon.reports.crops_figure import draw
from adacanon.runs.run import Run
from adacanon.runs.runner import run_missing, summary_of
from adacanon.training.learner import Learner
from adacanon.training.loop import TrainingControl

PIXELS, CLASSES = 16, 2


class TinyBackbone(nn.Module):
    """Means over quarters of the image, as many features as ResNet-18 has channels of colour times four."""

    def features(self, images: Tensor) -> Tensor:
        self.calls = getattr(self, "calls", 0) + 1
        return nn.functional.adaptive_avg_pool2d(images, 2).flatten(1)


def part(samples: int, seed: int) -> Images:
    """Bright squares in a corner, or none."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.arange(samples) % CLASSES
    pixels = torch.randint(0, 90, (samples, 3, PIXELS, PIXELS), generator=generator, dtype=torch.uint8)
    pixels[labels == 1, :, :6, :6] += 150
    return Images(pixels, labels, torch.arange(samples))


@pytest.fixture(autouse=True)
def backbone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> TinyBackbone:
    """Small images, a small network, an own cache, and a file in the place of the weights."""
    data = ImageDataset("cifar10", part(40, 0), part(20, 1), ("dark", "bright"), subset=True)
    network = TinyBackbone()
    weights = tmp_path / "weights.npz"
    weights.write_bytes(b"weights")
    monkeypatch.setenv("ADACANON_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(window_features, "load_images", lambda name: data)
    monkeypatch.setattr(window_features, "pretrained_resnet18", lambda: network)
    monkeypatch.setattr(window_features, "weights_file", lambda: weights)
    monkeypatch.setattr(window_features, "NAMES", {"CIFAR-10": "cifar10", "CIFAR-100": "cifar100"})
    window_features._loaded.cache_clear()
    return network


def options_of(row: str) -> dict:
    small = {"epochs": 2, "batch": 16, "input_size": PIXELS, "precision": "float32", "centre_side": PIXELS * 3 // 4}
    return {**CIFAR.settings_of(row, "CIFAR-10"), **small}


def run_of(row: str, split: int = 0) -> Run:
    return Run.of("cifar", row, "CIFAR-10", split, options_of(row))


@pytest.mark.parametrize("row", CIFAR.row_names)
def test_a_row_trains_and_is_reproducible(row: str) -> None:
    metrics = execute(run_of(row), TrainingControl())
    assert 0 <= metrics["accuracy"] <= 100
    assert math.isfinite(metrics["train_loss"])
    again = execute(run_of(row), TrainingControl())
    assert {k: v for k, v in again.items() if k != "seconds"} == {k: v for k, v in metrics.items() if k != "seconds"}


def test_the_canonicalized_row_is_the_canonicalized_network(backbone: TinyBackbone) -> None:
    """Scores on cached features against the wrapper on images; half precision lies between them."""
    data = window_features.window_features("CIFAR-10", options_of("Truncation canonicalization (paper)"))
    learner = build(data, options_of("Truncation canonicalization (paper)"))
    preprocess = window_features.Preprocessing(PIXELS)
    network = nn.Sequential(preprocess, nn.AdaptiveAvgPool2d(2), nn.Flatten(), learner.module)
    whole = Canonicalized(network, Windows(), GridSearch()).eval()
    images = window_features.images_of("CIFAR-10").train.scaled(slice(0, 5))
    with torch.no_grad():
        torch.testing.assert_close(learner.scores(torch.arange(5)), whole(images), atol=5e-3, rtol=5e-3)


def test_features_are_extracted_once_and_resumed(backbone: TinyBackbone, tmp_path: Path) -> None:
    window_features.window_features("CIFAR-10", options_of("Vanilla"))
    calls = backbone.calls
    assert calls > 0
    window_features._loaded.cache_clear()
    told: list[tuple[int, int]] = []
    window_features.window_features("CIFAR-10", options_of("Vanilla"), on_shard=lambda *done: told.append(done))
    assert backbone.calls == calls
    assert told[-1] == (60, 60)


def test_other_weights_have_other_features(backbone: TinyBackbone, tmp_path: Path) -> None:
    window_features.window_features("CIFAR-10", options_of("Vanilla"))
    (tmp_path / "weights.npz").write_bytes(b"others")
    window_features._loaded.cache_clear()
    calls = backbone.calls
    window_features.window_features("CIFAR-10", options_of("Vanilla"))
    assert backbone.calls == 2 * calls


class TestRowsSee:
    def learner(self, row: str) -> tuple[Learner, nn.Linear]:
        """With its linear map."""
        learner = build(self.data, options_of(row))
        assert isinstance(learner.module, WindowClassifier)
        return learner, learner.module.linear

    @property
    def data(self) -> WindowFeatures:
        return window_features.window_features("CIFAR-10", options_of("Vanilla"))

    def test_the_whole_image_or_its_centre(self) -> None:
        index = torch.arange(4)
        (vanilla, linear), (centre, other) = self.learner("Vanilla"), self.learner("Centre crop")
        features = self.data.features.float()
        torch.testing.assert_close(vanilla.scores(index), linear(features[index, 0]))
        place = central_window(self.data.windows, 12, pixels=PIXELS)
        assert self.data.windows[place].tolist() == [2, 2, 12, 12]
        torch.testing.assert_close(centre.scores(index), other(features[index, place]))

    def test_the_mean_of_probabilities_or_the_maximum_of_scores(self) -> None:
        index = torch.arange(4)
        (mean, linear), (most, other) = self.learner("Test-time mean"), self.learner("Test-time max")
        features = self.data.features[index].float()
        torch.testing.assert_close(mean.scores(index).exp(), linear(features).softmax(-1).mean(1))
        torch.testing.assert_close(most.scores(index), other(features).amax(1))

    def test_random_windows_in_training_and_the_whole_image_in_the_test(self) -> None:
        learner, _ = self.learner("Random crops")
        index = torch.zeros(64, dtype=torch.long)
        assert learner.training_inputs is not None
        assert len(learner.training_inputs(index)[0].unique(dim=0)) > 5
        assert len(learner.scores(index).unique(dim=0)) == 1

    @pytest.mark.parametrize(("count", "side"), [(5, 14), (14, 12), (30, 10), (55, 8)])
    def test_so_many_windows_the_largest_first(self, count: int, side: int) -> None:
        row = f"Truncation canonicalization ({'paper' if count == 55 else f'{count} windows'})"
        learner, linear = self.learner(row)
        assert learner.inputs(torch.arange(3))[0].shape[1] == count
        assert int(self.data.windows[:count, 2].min()) == side
        expected = linear(self.data.features[:3, :count].float()).amax(1)
        torch.testing.assert_close(learner.scores(torch.arange(3)), expected)

    def test_a_centre_that_is_no_window_is_refused(self) -> None:
        with pytest.raises(InputError, match="no central window of 7"):
            central_window(Windows().windows(16, 16), 7, pixels=16)


def test_the_seed_holds_out_a_tenth_of_the_training_images_and_never_touches_the_test_images() -> None:
    data = window_features.window_features("CIFAR-10", options_of("Vanilla"))
    first, second = (split_of(data, seed=seed, held_out=0.1) for seed in (0, 1))
    assert (len(first.train), len(first.validation), len(first.test)) == (36, 4, 20)
    assert sorted(torch.cat([first.train, first.validation]).tolist()) == list(range(40))
    assert torch.equal(first.test, torch.arange(40, 60))
    assert not torch.equal(first.validation, second.validation)


def test_the_table_prepares_its_features_first(
    backbone: TinyBackbone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []
    trained = cifar.trained
    monkeypatch.setattr(cifar, "trained", lambda *words: (calls.append(backbone.calls), trained(*words))[1])
    file = tmp_path / "cifar.jsonl"
    runs = [run_of(row, split) for row in ("Vanilla", "Test-time max") for split in (0, 1)]
    assert run_missing(CIFAR, runs, file, show=False) == []
    assert calls[0] > 0
    assert calls == [backbone.calls] * len(runs)  # nothing is extracted once runs are trained
    summary = summary_of(TABLES["cifar"], runs, file)
    assert summary.cells["Vanilla"]["CIFAR-10"].paper == 72.09
    assert summary.cells["Vanilla"]["CIFAR-10"].n == 2


def test_published_rows_and_columns_are_those_of_the_table() -> None:
    figures = TABLES["cifar"].published
    assert set(figures) == {"Vanilla", "Truncation canonicalization (paper)"} <= set(CIFAR.row_names)
    assert all(set(columns) == set(CIFAR.columns) for columns in figures.values())


class TestChosenCrops:
    def test_the_window_is_where_the_true_class_has_its_largest_score(self) -> None:
        options = options_of("Truncation canonicalization (paper)")
        data = window_features.window_features("CIFAR-10", options)
        learner = build(data, options)
        pixels = window_features.images_of("CIFAR-10").test.scaled()
        assert isinstance(learner.module, WindowClassifier)
        crops = chosen_crops.crops_of(learner.module, data, pixels, examples=2)
        scores = learner.module.linear(data.features[41].float())[:, 1]  # the first test image of class 1
        assert crops.windows[1, 0].tolist() == data.windows[int(scores.argmax())].tolist()
        assert torch.equal(crops.images[1, 0], pixels[1])
        assert draw(crops)[:8] == b"\x89PNG\r\n\x1a\n"

    def test_there_is_a_picture_for_each_data_set(self, tmp_path: Path) -> None:
        cifar_crops.main(tmp_path / "figures")
        pictures = {file.name: file.read_bytes()[:8] for file in (tmp_path / "figures").iterdir()}
        assert set(pictures) == {"cifar10-crops.png", "cifar100-crops.png"}
        assert set(pictures.values()) == {b"\x89PNG\r\n\x1a\n"}

    def test_coverage_counts_the_windows_over_each_pixel(self) -> None:
        windows = torch.tensor([[0, 0, 2, 2], [1, 1, 2, 2]])
        expected = torch.tensor([[0.5, 0.5, 0], [0.5, 1, 0.5], [0, 0.5, 0.5]], dtype=torch.float64)
        torch.testing.assert_close(chosen_crops.coverage(windows, 3), expected)


class TestWeights:
    def test_the_file_is_found_and_loaded(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("ADACANON_DATA", str(tmp_path))
        (tmp_path / "weights").mkdir()
        network = ResNet18()
        torch.save(network.state_dict(), tmp_path / "weights" / "resnet18-f37072fd.pth")
        loaded = pretrained.pretrained_resnet18()
        assert not loaded.training
        assert torch.equal(loaded.fc.weight, network.fc.weight)

    def test_where_there_is_none_the_message_says_where_to_put_it(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("ADACANON_DATA", str(tmp_path))
        monkeypatch.setenv("ADACANON_CACHE", str(tmp_path / "cache"))
        with pytest.raises(DataError, match=r"resnet18-f37072fd\.pth into"):
            pretrained.weights_file()


def test_the_classifier_for_the_doctor_takes_images(monkeypatch: pytest.MonkeyPatch) -> None:
    """The head that was trained on cached features sits on the network that takes images."""
    small = replace(CIFAR, settings=lambda row, column, preset: options_of(row.name))
    monkeypatch.setattr(cifar, "CIFAR", small)
    monkeypatch.setattr(pretrained, "pretrained_resnet18", _backbone_with_head)
    network = cifar.cifar10_classifier()
    data = window_features.images_of("CIFAR-10").test
    with torch.no_grad():
        scores = network(data.scaled())
    assert scores.shape == (20, 2)
    classifier, _ = cifar.trained(
        Run.of("cifar", "Vanilla", "CIFAR-10", 0, {**options_of("Vanilla"), "levels": 1}), TrainingControl()
    )
    with torch.no_grad():
        torch.testing.assert_close(scores, classifier.scores(torch.arange(40, 60)), atol=5e-3, rtol=5e-3)


def _backbone_with_head() -> nn.Module:
    class WithHead(TinyBackbone):
        fc: nn.Module

        def forward(self, images: Tensor) -> Tensor:
            return self.fc(self.features(images))

    return WithHead()


def test_eight_crops_are_eight_samples(backbone: TinyBackbone) -> None:
    """Every crop has a loss of its own; in the test their probabilities are averaged."""
    data = window_features.window_features("CIFAR-10", options_of("Vanilla"))
    options = options_of("Eight random crops + test-time mean")
    learner = build(data, options)
    index = torch.arange(6)
    learner.module.train()
    torch.manual_seed(3)
    loss = learner.loss(index)
    torch.manual_seed(3)
    (features,) = learner.training_inputs(index)  # type: ignore[misc]
    assert features.shape[:2] == (6, 8)
    assert isinstance(learner.module, WindowClassifier)
    scores = learner.module.linear(features.float())
    slow = [
        nn.functional.cross_entropy(s, y) for image, y in zip(scores, data.labels[index], strict=True) for s in image
    ]
    torch.testing.assert_close(loss, torch.stack(slow).mean())
    learner.module.eval()
    every = learner.module.linear(data.features[index].float()).softmax(-1).mean(1).log()
    torch.testing.assert_close(learner.scores(index), every)


def test_the_soft_row_draws_windows_in_training_and_takes_all_in_the_test(backbone: TinyBackbone) -> None:
    data = window_features.window_features("CIFAR-10", options_of("Vanilla"))
    learner = build(data, options_of("Truncation canonicalization (soft)"))
    index = torch.arange(5)
    (seen,), (again,) = (learner.training_inputs(index) for _ in range(2))  # type: ignore[misc]
    assert seen.shape[:2] == (5, 8)
    assert not torch.equal(seen, again)
    assert isinstance(learner.module, WindowClassifier)
    every = learner.module.linear(data.features[index].float()).transpose(0, 1)
    torch.testing.assert_close(learner.scores(index), soft_maximum(every, 3.0))


@pytest.mark.parametrize("drawn", [1, 8, 55])
def test_no_window_is_drawn_twice(drawn: int) -> None:
    windows = some_of(55, drawn, 20)
    assert windows.shape == (20, drawn)
    assert all(len(set(row)) == drawn and max(row) < 55 for row in windows.tolist())
