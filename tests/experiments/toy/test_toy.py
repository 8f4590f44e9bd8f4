"""The toy problem: its data, and the methods on it."""

import math

import pytest
import torch

from adacanon.data.grid_orientation import grid_orientation, grid_orientation_strict, torus_edges
from adacanon.errors import InputError
from adacanon.experiments.toy.orientation import TOY, build, task_coefficients, task_of
from adacanon.runs.run import Run
from adacanon.training.loop import DataSplit, TrainingControl, accuracy, stratified_folds, train
from adacanon.training.schedule import Schedule


def stream(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


class TestGridOrientation:
    def test_the_torus_is_four_regular_and_undirected(self) -> None:
        edges = torus_edges(5)
        assert torch.bincount(edges[0]).tolist() == [4] * 25
        pairs = set(map(tuple, edges.T.tolist()))
        assert pairs == {(b, a) for a, b in pairs}
        assert len(pairs) == 100

    def test_without_noise_the_signals_are_the_papers(self) -> None:
        task = grid_orientation(10, size=8, period=4, noise=0.0, generator=stream())
        x, y = torch.arange(64) // 8, torch.arange(64) % 8
        left = torch.sin(2 * math.pi * x / 4) * (x < 4)
        along = {0: x, 1: y}
        for signal, label in zip(task.signals, task.labels.tolist(), strict=True):
            torch.testing.assert_close(signal[:, 0], left)
            torch.testing.assert_close(signal[:, 1], torch.sin(2 * math.pi * along[label] / 4) * (x >= 4))

    def test_the_classes_are_balanced_and_the_noise_has_its_deviation(self) -> None:
        task = grid_orientation(400, noise=0.3, generator=stream())
        assert task.labels.double().mean() == 0.5
        clean = grid_orientation(400, noise=0.0, generator=stream())
        left = (task.signals - clean.signals)[:, :800, 0]
        assert abs(float(left.std()) - 0.3) < 0.01
        assert bool((task.signals[:, 800:, 0] == 0).all())

    def test_in_the_strict_task_the_energy_of_each_channel_says_nothing(self) -> None:
        """Without noise, band energies per channel are equal in both classes; in the original task they are not."""
        strict = self.energies(grid_orientation_strict(4, size=24, period=8, noise=0.0, generator=stream()))
        torch.testing.assert_close(strict[0], strict[1], atol=1e-5, rtol=1e-5)
        original = self.energies(grid_orientation(4, size=24, period=12, noise=0.0, generator=stream()))
        assert float((original[0] - original[1]).abs().max()) > 0.1 * float(original.max())

    def test_in_the_strict_task_the_relation_of_the_channels_says_it(self) -> None:
        task = grid_orientation_strict(4, size=24, period=8, noise=0.0, generator=stream())
        grams = task_coefficients(task, 8, 0.5).grams()
        cross = [grams[task.labels == label][0, :, 0, 1] for label in (0, 1)]
        assert float((cross[0] - cross[1]).abs().max()) > 0.1 * float(grams.abs().max())

    @staticmethod
    def energies(task) -> torch.Tensor:  # type: ignore[no-untyped-def]
        grams = task_coefficients(task, 8, 0.5).grams().diagonal(dim1=-2, dim2=-1)
        return torch.stack([grams[task.labels == label][0] for label in (0, 1)])

    def test_windows_that_do_not_fit_are_refused(self) -> None:
        with pytest.raises(InputError, match="do not fit"):
            grid_orientation_strict(4, size=10, period=8, generator=stream())


class TestMethods:
    @pytest.mark.parametrize("row", ["Energy MLP", "Gram MLP", "A-NLSF"])
    def test_spectral_methods_solve_a_small_toy_problem(self, row: str) -> None:
        run = Run.of("toy", row, "accuracy", 0, TOY.settings_of(row, "accuracy", "demo") | {"samples": 100})
        task, options = task_of(run), run.options()
        torch.manual_seed(0)
        train_index, test = stratified_folds(task.labels, 5, generator=stream())[0]
        learner = build(TOY.row(row), task, options, train=train_index, seed=0)
        schedule = Schedule(epochs=25, batch=20, learning_rate=1e-3)
        train(learner, DataSplit(train_index, train_index[:0], test), schedule, generator=stream())
        assert accuracy(learner, test, batch=50) >= 95

    @pytest.mark.parametrize("row", TOY.row_names)
    def test_a_run_gives_the_same_metrics_twice(self, row: str) -> None:
        tiny = {"samples": 20, "size": 8, "period": 4, "folds": 2, "epochs": 1, "hidden": 8}
        run = Run.of("toy", row, "accuracy", 1, TOY.settings_of(row, "accuracy", "demo") | tiny)
        first = TOY.execute(run, TrainingControl())
        torch.randn(7)
        second = TOY.execute(run, TrainingControl())
        assert second | {"seconds": 0.0} == first | {"seconds": 0.0}
