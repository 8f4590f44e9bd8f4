"""The table of turned photographs: what is proved of its rows, and that they run."""

import math
from pathlib import Path

import pytest
import torch
from torch import Tensor

from adacanon.baselines.graphs.graph_baseline import GraphBaseline
from adacanon.data.images import ImageDataset, Images
from adacanon.data.turned_pictures import TurnedPictures, steps_between, turned_pictures
from adacanon.experiments.toy import directions
from adacanon.experiments.toy.direction_methods import METHODS
from adacanon.experiments.toy.directions import DIRECTIONS, execute, task_of, told_apart
from adacanon.experiments.toy.orientation import task_spectrum
from adacanon.experiments.toy.shared_graph import OnSharedGraph
from adacanon.runs.run import Run, Settings
from adacanon.training.learner import Learner, looked_up
from adacanon.training.loop import DataSplit, TrainingControl, accuracy, train
from adacanon.training.records import read_records
from adacanon.training.schedule import Schedule

RESULTS = Path(__file__).parents[3] / "results"
DATA = directions.DATA
KINDS = {"gin": 4, "gatedgcn": 4, "gcn": 4, "gat": 4, "sage": 4, "pna": 4, "chebnet": 2}
"""Layers of message passing, as many as stay within four steps: a layer of ChebNet takes two."""


def photographs(samples: int, seed: int) -> Images:
    """Noise in colours, smoothed a little by the table itself."""
    generator = torch.Generator().manual_seed(seed)
    pixels = torch.randint(0, 256, (samples, 3, 32, 32), generator=generator, dtype=torch.uint8)
    return Images(pixels, torch.zeros(samples, dtype=torch.int64), torch.arange(samples))


@pytest.fixture
def _made_up(monkeypatch: pytest.MonkeyPatch) -> None:
    made_up = ImageDataset("cifar10", photographs(60, 0), photographs(30, 1), ("none",), subset=True)
    monkeypatch.setattr(directions, "load_images", lambda name: made_up)
    directions._task.cache_clear()


def exact_task(count: int = 6, noise: float = 1.0) -> TurnedPictures:
    """In the sizes of the table and in double precision."""
    generator = torch.Generator().manual_seed(0)
    pictures = torch.rand(count, DATA["side"], DATA["side"], generator=generator, dtype=torch.float64)
    return turned_pictures(pictures, size=DATA["size"], noise=noise, generator=generator)


def scores_of_twins(kind: str, layers: int, *, brightness: float = 1000.0) -> tuple[Tensor, Tensor]:
    """Of an untrained network in double precision, with the statistics of a training step behind it. Bright pictures
    keep its rectifiers from being linear where signals are weak.
    """
    task = exact_task()
    signals = brightness * task.signals
    degrees = {"degrees": torch.tensor([0, 0, 0, 0, 1])} if kind == "pna" else {}
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = GraphBaseline(kind, 2, classes=2, width=16, layers=layers, **degrees).double()
        module = OnSharedGraph(network, task.edge_index)
        module(signals)
    with torch.no_grad():
        scores = module.eval()(signals)
    return scores[::2], scores[1::2]


class TestProposition:
    """Everything that a method reads of the two samples of a picture is equal, so it names one of them wrongly."""

    @pytest.mark.parametrize("noise", [0.0, 1.0])
    def test_energies_of_every_channel_in_every_eigenspace_are_equal(self, noise: float) -> None:
        task = exact_task(noise=noise)
        spectrum = task_spectrum(task)
        space = torch.nn.functional.pad((spectrum.eigenvalues.diff() > 1e-9).cumsum(0), (1, 0))
        squares = (spectrum.eigenvectors.T @ task.signals).square()
        energies = torch.zeros(len(squares), int(space[-1]) + 1, 2, dtype=torch.float64).index_add(1, space, squares)
        assert energies.shape[1] > 50
        torch.testing.assert_close(energies[::2], energies[1::2], atol=1e-12, rtol=1e-10)
        assert float((energies[0] - energies[2]).abs().max()) > 1e-2

    @pytest.mark.parametrize("kind", KINDS)
    def test_message_passing_within_four_steps_gives_both_samples_the_same_scores(self, kind: str) -> None:
        assert steps_between(DATA["size"], DATA["side"]) > 2 * 4
        plain, turned = scores_of_twins(kind, KINDS[kind])
        torch.testing.assert_close(plain, turned, atol=1e-11, rtol=0.0)
        assert float(plain.std(0).min()) > 1e-3

    def test_message_passing_that_reaches_both_copies_does_not(self) -> None:
        plain, turned = scores_of_twins("gin", 6)
        assert float((plain - turned).abs().max()) > 1e-4

    def test_the_rows_of_the_table_stay_within_four_steps(self) -> None:
        steps = {
            row.name: DIRECTIONS.settings_of(row.name, "accuracy")["layers"] * (2 if row.backbone == "chebnet" else 1)
            for row in DIRECTIONS.rows
            if row.method == "message passing"
        }
        assert steps == {"GIN": 4, "ChebNet": 4, "GIN (6 layers)": 6}

    def test_a_layer_of_chebnet_takes_two_steps(self) -> None:
        plain, turned = scores_of_twins("chebnet", 3)
        assert float((plain - turned).abs().max()) > 1e-10


class TestWhatANLSFSees:
    def test_in_the_lowest_band_the_copies_are_opposite_and_turned_copies_are_not(self) -> None:
        r"""In the plane waves of longest period, half the torus is a change of sign. A quarter turn exchanges cosines
        :math:`a, b` and turns sines :math:`c, d`, about the centre of the picture: the cosine of the angle between the
        copies is :math:`-2ab/(a^2 + b^2 + c^2 + d^2)`.
        """
        task = exact_task(noise=0.0)
        spectrum = task_spectrum(task)
        lowest = spectrum.eigenvectors[:, 1:5].T @ task.signals
        cosines = torch.cosine_similarity(lowest[..., 0], lowest[..., 1], dim=1)
        torch.testing.assert_close(cosines[::2], -torch.ones(6, dtype=torch.float64))
        torch.testing.assert_close(cosines[1::2], self.by_formula())
        assert float(cosines[1::2].min()) > -0.9

    @staticmethod
    def by_formula() -> Tensor:
        size, side = DATA["size"], DATA["side"]
        pictures = torch.rand(6, side, side, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
        pictures = pictures - pictures.mean((1, 2), keepdim=True)
        angles = 2 * math.pi * (torch.arange(side, dtype=torch.float64) - (side - 1) / 2) / size
        rows, columns = pictures.sum(2), pictures.sum(1)
        a, c = rows @ angles.cos(), rows @ angles.sin()
        b, d = columns @ angles.cos(), columns @ angles.sin()
        return -2 * a * b / (a**2 + b**2 + c**2 + d**2)

    @pytest.mark.parametrize("row", ["A-NLSF", "Gram MLP", "Energy MLP"])
    def test_what_small_trainings_come_to(self, row: str) -> None:
        generator = torch.Generator().manual_seed(0)
        task = turned_pictures(torch.rand(120, 8, 8, generator=generator), size=DATA["size"], generator=generator)
        training, test = torch.arange(160), torch.arange(160, 240)
        with torch.random.fork_rng():
            torch.manual_seed(0)
            record, options = DIRECTIONS.row(row), DIRECTIONS.settings_of(row, "accuracy")
            learner = METHODS[record.method](record, task, options, training, 0)
            split = DataSplit(training, training[:0], training[:0])
            train(learner, split, Schedule(epochs=30, batch=20, learning_rate=3e-3), generator=generator)
        found = accuracy(learner, test, batch=40)
        assert found == 50 if row == "Energy MLP" else found >= 90
        assert (told_apart(learner, test, batch=40) < 0.01) == (row == "Energy MLP")


def tiny(row: str) -> Run:
    few: Settings = {
        "train": 8,
        "validation": 4,
        "test": 6,
        "epochs": 1,
        "batch": 4,
        "hidden": 8,
        "size": 12,
        "side": 4,
    }
    return Run.of("directions", row, "accuracy", 1, DIRECTIONS.settings_of(row, "accuracy") | few)


@pytest.mark.usefixtures("_made_up")
class TestRuns:
    @pytest.mark.parametrize("row", DIRECTIONS.row_names)
    def test_a_run_gives_the_same_metrics_twice(self, row: str) -> None:
        first = execute(tiny(row), TrainingControl())
        torch.randn(7)
        second = execute(tiny(row), TrainingControl())
        assert second | {"seconds": 0.0} == first | {"seconds": 0.0}
        assert 0 <= first["accuracy"] <= 100

    def test_both_samples_of_a_photograph_are_in_one_part_and_test_photographs_are_those_of_the_test_part(self) -> None:
        task, split = task_of(tiny("GIN"))
        assert [len(part) for part in (split.train, split.validation, split.test)] == [16, 8, 12]
        for part in (split.train, split.validation, split.test):
            assert task.labels[part].tolist() == [0, 1] * (len(part) // 2)

    def test_noise_leaves_the_first_copy_as_it_is(self) -> None:
        clean, noisy = (tiny("GIN").options() | {"noise": noise} for noise in (0.0, 1.0))
        tasks = [task_of(Run.of("directions", "GIN", "accuracy", 1, options))[0] for options in (clean, noisy)]
        first, second = (torch.stack([task.signals[..., channel] for task in tasks]) for channel in range(2))
        assert torch.equal(first[0].sort(1).values, first[1].sort(1).values)
        assert not torch.equal(second[0].sort(1).values, second[1].sort(1).values)


def test_samples_with_equal_scores_are_not_told_apart() -> None:
    scores = torch.tensor([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    learner = Learner(torch.nn.Identity(), torch.tensor([0, 1, 0, 1]), looked_up(scores))
    assert told_apart(learner, torch.arange(4), batch=2) == 0
    assert told_apart(learner, torch.tensor([0, 2, 1, 3]), batch=2) > 100


def test_committed_records_belong_to_runs_of_the_table() -> None:
    keys = {run.key for run in DIRECTIONS.runs()}
    records = read_records(RESULTS / "directions.jsonl")
    assert len(records) == len(keys) == 48
    assert [record["row"] for record in records if record["key"] not in keys] == []
