"""Data-parallel training is right: two processes do what one does with the same batches."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from adacanon.training.engine import OneProcess
from cases import data_parallel as cases
from cases.data_parallel import PARTS, SAMPLES

WORLD = 2
Found = list[dict[str, Any]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where two processes have gone through all scenarios; one process has left them a checkpoint."""
    folder = tmp_path_factory.mktemp("two-processes")
    cases.resumed(OneProcess(), folder / "one-process.pt", 1)
    torch.multiprocessing.spawn(cases.work, (WORLD, str(folder)), nprocs=WORLD)
    return folder


@pytest.fixture(scope="module")
def found(folder: Path) -> Found:
    return [torch.load(folder / f"{rank}.pt", weights_only=False) for rank in range(WORLD)]


def of(found: Found, scenario: str) -> list[Any]:
    return [one[scenario] for one in found]


def assert_same_memory(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert torch.equal(one["known"], other["known"])
    torch.testing.assert_close(one["winners"], other["winners"])


class TestALoopOfOnesOwn:
    """``DistributedDataParallel(Objective(model))``."""

    def test_the_loss_curve_is_that_of_one_process(self, found: Found) -> None:
        alone = cases.loss_curve(0, 1)
        both = torch.tensor([one["losses"] for one in of(found, "loss curve")], dtype=torch.float64)
        torch.testing.assert_close(both.mean(0), torch.tensor(alone["losses"], dtype=torch.float64))
        assert both.mean(0)[-1] < both.mean(0)[0]

    def test_candidates_do_not_depend_on_the_rank(self, found: Found) -> None:
        assert [one["draws"] for one in of(found, "loss curve")] == [6, 6]

    def test_after_an_epoch_all_processes_remember_what_one_process_remembers(self, found: Found) -> None:
        alone = cases.loss_curve(0, 1)
        for one in of(found, "loss curve"):
            assert_same_memory(one["memory"], alone["memory"])
            assert one["known"] == [12, 24]  # before the processes first meet, each knows its own half
        assert alone["known"] == [24, 24]

    def test_a_calibration_becomes_that_of_one_process_with_all_inputs(self, found: Found) -> None:
        alone, (first, second) = cases.calibrated(0, 1), of(found, "calibrated")
        assert torch.equal(first["moments"], second["moments"])
        assert torch.equal(first["batches"], second["batches"])
        torch.testing.assert_close(first["moments"], alone["moments"])
        assert first["batches"].tolist() == alone["batches"].tolist() == [6, 6, 6]


class TestTheLoopOfTheTables:
    def test_curve_and_parameters_are_those_of_one_process(self, found: Found) -> None:
        alone = cases.trained(OneProcess())
        for one in of(found, "trained"):
            assert one["curve"] == pytest.approx(alone["curve"], rel=1e-9)
            assert one["selected"] == pytest.approx(alone["selected"], rel=1e-9)
            torch.testing.assert_close(one["parameters"], alone["parameters"])
            assert_same_memory(one["memory"], alone["memory"])
        assert alone["curve"][-1] < alone["curve"][0]

    def test_with_batch_normalization_all_processes_have_the_same_network(self, found: Found) -> None:
        first, second = of(found, "normalised")
        assert all(torch.equal(first["state"][name], second["state"][name]) for name in first["state"])
        assert first["state"]["unused"].tolist() == [1.0, 1.0]  # no loss reaches it

    def test_with_batch_normalization_it_learns_as_one_process_does(self, found: Found) -> None:
        alone, (first, second) = cases.normalised(OneProcess()), of(found, "normalised")
        assert first["loss"] != alone["loss"]  # the statistics are those of half a batch
        assert first["accuracy"] == second["accuracy"]
        assert min(first["accuracy"], alone["accuracy"]) > 70
        assert abs(first["accuracy"] - alone["accuracy"]) < 15  # of 60 samples

    def test_dropout_and_augmentation_are_drawn_independently_by_the_processes(self, found: Found) -> None:
        first, second = of(found, "normalised")
        assert not torch.equal(first["random"], second["random"])

    def test_an_evaluation_is_shared_and_gives_the_answer_of_one_process(self, found: Found) -> None:
        alone, both = cases.evaluated(OneProcess()), of(found, "evaluated")
        assert [one["figures"] for one in both] == 2 * [alone["figures"]]
        assert [one["few"] for one in both] == 2 * [alone["few"]]
        assert alone["rows"] == [4, 4, 4, 4, 4, 4, 3]
        assert [one["rows"] for one in both] == [[4, 4, 4, 3], [4, 4, 4]]

    def test_a_checkpoint_is_written_once_and_read_by_any_number_of_processes(
        self, folder: Path, found: Found, tmp_path: Path
    ) -> None:
        whole = cases.resumed(OneProcess(), tmp_path / "whole.pt", None)
        assert (folder / "checkpoint-0.pt").exists()
        assert not (folder / "checkpoint-1.pt").exists()
        from_two = cases.resumed(OneProcess(), folder / "checkpoint-0.pt", None)
        assert_equal_up_to_rounding(from_two, whole)
        for from_one in of(found, "resumed"):
            assert_equal_up_to_rounding(from_one, whole)


def assert_equal_up_to_rounding(parameters: list[Tensor], others: list[Tensor]) -> None:
    assert len(parameters) == len(others) > 0
    torch.testing.assert_close(parameters, others)


class TestATable:
    """The first process writes the records, and the others follow it."""

    def test_a_run_has_one_record_that_names_its_processes(self, found: Found) -> None:
        (record,) = of(found, "table")[0]["records"]
        assert record["machine"] == {"device": "cpu", "precision": "32", "processes": 2, "nodes": 1}
        assert record["metrics"]["accuracy"] >= 0
        assert len(PARTS.train) < SAMPLES

    def test_a_run_that_fails_everywhere_is_a_failed_run(self, found: Found) -> None:
        assert of(found, "table")[0]["failures"] == ["B, accuracy, split 1: LookupError: no such sample"]

    def test_a_failure_of_one_process_ends_the_command(self, found: Found) -> None:
        assert of(found, "table")[0]["error"].startswith(
            "ProcessesDisagreeError: process 1 of 2 failed: LookupError: no sample; others did not"
        )
        assert of(found, "table")[1]["exit codes"] == [0, 0]
