"""Runs and their records: what is missing is run, what fails is named, what is there is kept."""

import math
import multiprocessing
import pickle
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from adacanon.errors import DataError, InputError
from adacanon.experiments.catalogue import TABLES, table_named
from adacanon.experiments.graphs.tu import TU
from adacanon.reports import progress
from adacanon.runs import fleet
from adacanon.runs.run import Run, Training, TrainingControl, attempt, checkpoint_of, missing, relevant, taken_over
from adacanon.runs.runner import run_missing, summary_of
from adacanon.runs.table import Table
from adacanon.training.checkpoint import load_checkpoint
from adacanon.training.records import Record, append_record, read_records
from cases.full_disk import files_limited_to
from cases.tiny_table import TINY, tiny_run


def table_of(accuracy: Callable[[Run], float]) -> Table:
    return replace(TINY, execute=lambda run, control: {"accuracy": accuracy(run), "seconds": 1.0})


def raises(error: BaseException) -> Training:
    def execute(run: Run, control: TrainingControl) -> dict[str, float]:
        raise error

    return execute


def without_time(records: list[Record]) -> list[Record]:
    return sorted(({**record, "seconds": None} for record in records), key=lambda record: str(record["key"]))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "results" / "tiny.jsonl"


class TestKeys:
    def test_equal_settings_have_equal_keys_and_any_change_another(self) -> None:
        a = Run.of("toy", "GIN", "accuracy", 0, {"x": 1, "y": 2})
        assert a.key == Run.of("toy", "GIN", "accuracy", 0, {"y": 2, "x": 1}).key
        others = [("toy", "GIN", 1, {"x": 1, "y": 2}), ("toy", "GCN", 0, {"x": 1, "y": 2}), ("toy", "GIN", 0, {"x": 2})]
        assert all(a.key != Run.of(table, row, "accuracy", split, s).key for table, row, split, s in others)

    @pytest.mark.parametrize("name", list(TABLES))
    def test_no_two_runs_of_a_table_have_the_same_key(self, name: str) -> None:
        runs = [run for preset in table_named(name).presets for run in table_named(name).runs(preset=preset)]
        assert len(runs) > 10
        assert len({run.key for run in runs}) == len(set(runs))

    def test_first_splits_come_first_and_their_number_is_checked(self) -> None:
        assert [(run.split, run.row) for run in TINY.runs()] == [(0, "A"), (0, "B"), (1, "A"), (1, "B")]
        assert len(TINY.runs(rows=("B",), splits=1)) == 1
        for splits in (0, 3):
            with pytest.raises(InputError, match=f"splits 1 to 2, got {splits}"):
                TINY.runs(splits=splits)


class TestMissing:
    def test_what_has_a_record_is_not_run_again(self, file: Path) -> None:
        calls: list[str] = []

        def accuracy(run: Run) -> float:
            calls.append(run.row)
            return 50.0 + run.split

        table = table_of(accuracy)
        runs = table.runs()
        assert run_missing(table, runs[:1], file, show=False) == []
        assert len(missing(runs, file)) == 3
        assert run_missing(table, runs, file, show=False) == []
        assert run_missing(table, runs, file, show=False) == []
        assert calls == ["A", "B", "A", "B"]
        assert len(relevant(runs[:2], file)) == 2

    def test_a_failing_run_does_not_lose_the_others(self, file: Path) -> None:
        def accuracy(run: Run) -> float:
            if run.row == "A" and run.split == 0:
                raise IndexError("out of range")
            return 1.0 if run.row == "B" else math.nan

        table = table_of(accuracy)
        failures = run_missing(table, table.runs(), file, show=False)
        assert len(failures) == 2
        assert str(failures[0]) == "A, accuracy, split 1: IndexError: out of range"
        assert "accuracy not finite" in failures[1].reason
        assert [record["row"] for record in read_records(file)] == ["B", "B"]
        summary = summary_of(table, table.runs(), file)
        assert summary.missing() == ["A / accuracy: 0 of 2"]

    def test_a_run_that_ends_without_figures_leaves_no_checkpoint(self, file: Path) -> None:
        run, checkpoint = tiny_run("A", 0), file.parent / "run.pt"
        checkpoint.parent.mkdir(parents=True, exist_ok=True)
        checkpoint.touch()
        outcome = attempt(lambda run, control: {"accuracy": math.nan, "seconds": 1.0}, run, TrainingControl(checkpoint))
        assert "not finite" in outcome.failure
        assert not checkpoint.exists()

    @pytest.mark.parametrize("error", [DataError("absent"), InputError("empty"), KeyError("x"), RuntimeError("y")])
    def test_what_a_run_may_end_with_becomes_a_line_of_text(self, error: Exception) -> None:
        outcome = attempt(raises(error), tiny_run("A", 0), TrainingControl())
        assert outcome == (tiny_run("A", 0), None, f"{type(error).__name__}: {error}")

    @pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError("disk"), MemoryError()])
    def test_anything_else_ends_the_command(self, error: BaseException) -> None:
        with pytest.raises(type(error)):
            attempt(raises(error), tiny_run("A", 0), TrainingControl())

    def test_a_record_says_what_was_run_and_with_what(self, file: Path) -> None:
        run = tiny_run("A", 1)
        assert run_missing(TINY, [run], file, show=False) == []
        (record,) = read_records(file)
        assert (record["key"], record["row"], record["split"]) == (run.key, "A", 1)
        assert record["settings"] == {"epochs": 2}
        assert set(record["metrics"]) == {"accuracy", "validation_accuracy", "validation_loss", "train_loss"}
        assert set(record["versions"]) == {"python", "adacanon", "torch", "torch-geometric", "numpy", "commit"}

    def test_checkpoints_are_gone_when_the_records_are_there(self, file: Path) -> None:
        run = tiny_run("A", 0)
        folder = file.parent / "checkpoints"
        folder.mkdir(parents=True)
        (folder / f"{run.key}.pt.123.part").touch()
        assert run_missing(TINY, [run], file, show=False) == []
        assert list(folder.iterdir()) == []
        (folder / f"{run.key}.pt").touch()  # as if stopped between the record and this
        assert run_missing(TINY, [run], file, show=False) == []
        assert list(folder.iterdir()) == []


class TestFullDisk:
    def test_when_the_record_does_not_fit_running_again_finishes_without_training(self, file: Path) -> None:
        """Room for the checkpoint, but none for a further record."""
        append_record(file, {"key": "another", "long": "x" * 100_000})
        before = file.read_bytes()
        run = tiny_run("A", 0)
        with files_limited_to(len(before)), pytest.raises(DataError, match="Hint: make room on the disk"):
            run_missing(TINY, [run], file, show=False)
        assert file.read_bytes() == before
        assert [path.name for path in (file.parent / "checkpoints").iterdir()] == [f"{run.key}.pt"]

        epochs: list[int] = []

        def watched(run: Run, control: TrainingControl) -> dict[str, float]:
            return TINY.execute(run, replace(control, on_epoch=lambda epoch, loss: epochs.append(epoch)))

        assert run_missing(replace(TINY, execute=watched), [run], file, show=False) == []
        assert epochs == []
        undisturbed = file.with_name("undisturbed.jsonl")
        assert run_missing(TINY, [run], undisturbed, show=False) == []
        assert without_time(relevant([run], file)) == without_time(read_records(undisturbed))


class TestProcesses:
    """Few scenarios, because every process costs seconds."""

    def test_a_run_that_dies_is_named_like_one_that_fails_and_the_others_are_as_with_one_job(self, file: Path) -> None:
        sign = str(file.parent / "sign")
        file.parent.mkdir()
        beside, dying = tiny_run("A", 0, end="waits", sign=sign), tiny_run("B", 0, end="dies", sign=sign)
        after, failing = tiny_run("A", 1), tiny_run("B", 1, end="raises")
        failures = run_missing(TINY, [failing, beside, dying, after], file, jobs=2, show=False, checkpoint_every=0.0)
        assert sorted(map(str, failures)) == [
            "B, accuracy, split 1: its process died, perhaps for lack of memory; the same command goes on from its "
            "checkpoint",
            "B, accuracy, split 2: IndexError: out of range",
        ]
        one_job = file.with_name("one.jsonl")
        assert run_missing(TINY, [beside, after], one_job, show=False) == []
        assert without_time(read_records(file)) == without_time(read_records(one_job))
        state = load_checkpoint(checkpoint_of(dying, file.parent / "checkpoints"))
        assert state is not None
        assert state["history"]["epoch"] == 2

    def test_a_full_disk_ends_all_processes_at_once(self, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """The second run would wait for a minute."""
        before = set(multiprocessing.active_children())

        def refuse(file: Path, record: Record, *, once: str) -> bool:
            raise DataError("full")

        monkeypatch.setattr(fleet, "append_record", refuse)
        runs = [tiny_run("A", 0), tiny_run("B", 0, end="waits", sign="/no/such/file")]
        begin = time.monotonic()
        with pytest.raises(DataError, match="full"):
            run_missing(TINY, runs, file, jobs=2, show=False)
        assert time.monotonic() - begin < 50
        assert set(multiprocessing.active_children()) <= before

    def test_every_row_can_be_named_on_the_command_line(self) -> None:
        assert not [row for table in TABLES.values() for row in (*table.row_names, *table.columns) if "," in row]

    def test_the_trainings_of_all_tables_can_be_sent_to_processes(self) -> None:
        for table in TABLES.values():
            assert pickle.loads(pickle.dumps(table.execute)) is table.execute


def record_of(run: Run) -> Record:
    return {
        "key": run.key,
        "table": run.table,
        "row": run.row,
        "column": run.column,
        "split": run.split,
        "settings": run.options(),
        "metrics": {"accuracy": 50.0},
        "seconds": 1.0,
        "versions": {},
    }


class TestTakenOver:
    """Ablation tables repeat rows of ``tu``, which are not trained again."""

    def tu_record(self, row: str = "A-NLSF", split: int = 0) -> Record:
        (run,) = (run for run in TU.runs(rows=(row,), columns=("MUTAG",)) if run.split == split)
        return record_of(run)

    def run_of(self, table: str, row: str, split: int = 0) -> Run:
        return next(run for run in TABLES[table].runs(rows=(row,), columns=("MUTAG",)) if run.split == split)

    @pytest.mark.parametrize(
        ("table", "row", "method"),
        [("tu-search", "A-NLSF (refined)", "A-NLSF"), ("tu-node", "Graph", "A-NLSF (paper)")],
    )
    def test_a_row_with_equal_settings_is_taken_over_under_its_own_key(self, table: str, row: str, method: str) -> None:
        run, original = self.run_of(table, row), self.tu_record(method)
        record = taken_over(run, [self.tu_record("GIN"), original])
        assert record is not None
        assert (record["key"], record["table"], record["row"]) == (run.key, table, row)
        assert record["settings"] == run.options()
        assert record["taken_over_from"] == original["key"] != run.key
        assert record["metrics"] == original["metrics"]

    def test_other_settings_rows_or_splits_are_not(self) -> None:
        sampling, refined = (self.run_of("tu-search", row) for row in ("A-NLSF (sampling)", "A-NLSF (refined)"))
        assert taken_over(sampling, [self.tu_record()]) is None
        assert taken_over(refined, [self.tu_record("GIN"), self.tu_record(split=1)]) is None
        changed = self.tu_record()
        changed["settings"]["epochs"] = 7
        assert taken_over(refined, [changed]) is None

    def test_one_of_the_bands_and_one_of_the_operators_is_that_of_tu(self) -> None:
        for table in ("tu-bands", "tu-shift"):
            found = [taken_over(self.run_of(table, row), [self.tu_record()]) for row in TABLES[table].row_names]
            assert [record is None for record in found].count(False) == 1

    def test_run_missing_takes_over_before_it_trains(self, tmp_path: Path) -> None:
        append_record(tmp_path / "tu.jsonl", self.tu_record())
        table = replace(TABLES["tu-search"], execute=raises(RuntimeError("trained")))
        runs = [self.run_of("tu-search", row) for row in ("A-NLSF (refined)", "A-NLSF (sampling)")]
        file = tmp_path / "tu-search.jsonl"
        assert run_missing(table, runs, file, show=False) == [
            ("A-NLSF (sampling), MUTAG, split 1", "RuntimeError: trained")
        ]
        assert [record["row"] for record in read_records(file)] == ["A-NLSF (refined)"]


class TestProgress:
    """Output that goes to a file has lines instead of bars."""

    @pytest.mark.parametrize("show", [True, False])
    def test_a_line_for_epochs_and_for_the_end_of_a_run(
        self, file: Path, show: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", 0.0)
        run_missing(TINY, [tiny_run("A", 0), tiny_run("B", 0, end="raises")], file, show=show)
        lines = [line.split(", loss")[0] for line in capsys.readouterr().out.splitlines()]
        expected = [f"{tiny_run('A', 0).name}: {what}" for what in ("epoch 1 of 2", "epoch 2 of 2", "done")]
        expected += [f"{tiny_run('B', 0).name}: failed"]
        assert [line for line in lines if ": " in line] == (expected if show else [])

    def test_epochs_that_pass_quickly_have_no_lines(self, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
        run_missing(TINY, [tiny_run("A", 0)], file)
        printed = capsys.readouterr().out
        assert "done" in printed
        assert "epoch" not in printed
