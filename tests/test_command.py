"""The ``adacanon`` command."""

import json
import os
import re
import signal
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from adacanon.cli import main
from adacanon.commands import options, tables
from adacanon.data.tu import NAMES
from adacanon.experiments.catalogue import TABLES
from adacanon.runs.executors import Executor
from adacanon.runs.run import Run, Settings
from adacanon.runs.table import Row
from adacanon.training.loop import TrainingControl
from adacanon.training.records import read_records
from cases.tiny_table import TINY


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TABLES, "tiny", TINY)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[tuple[list[Run], int]]:
    """The runs and the number of jobs that ``adacanon run`` asks for, which nobody trains."""
    calls: list[tuple[list[Run], int]] = []

    def run_missing(
        table: object, runs: list[Run], file: Path, *, executor: Executor, checkpoint_every: float
    ) -> list[str]:
        calls.append((runs, executor.capacity()))
        return []

    monkeypatch.setattr(tables, "run_missing", run_missing)
    monkeypatch.setattr(torch, "set_num_threads", lambda threads: None)
    return calls


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["--help"])
    assert stopped.value.code == 0
    printed = capsys.readouterr().out
    assert all(
        name in printed for name in ("demo", "list", "run", "tune", "report", "figure", "data", "doctor", "explain")
    )


def test_the_usual_variable_sets_the_number_of_threads() -> None:
    assert [options.threads_of({"OMP_NUM_THREADS": named}) for named in ("3", "2,1", "")] == [3, 2, 2]
    assert options.threads_of({}) == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["report", "table-9"], "Tables are toy, toy-strict, toy-sensitivity, tu, "),
        (["report", "table-9"], "got 'table-9'. Hint: adacanon list"),
        (["run", "toy", "--rows", "GIN,GINN"], "got GINN"),
        (["run", "tu", "--rows", "GIN", "--columns", "MUTAG", "IMDB"], "NCI1; got IMDB"),
        (["run", "toy", "--columns", "MUTAG"], "Columns of toy are accuracy; got MUTAG"),
        (["report", "toy", "--splits", "11"], "splits 1 to 10, got 11"),
        (["report", "toy", "--splits", "0"], "splits 1 to 10, got 0"),
        (["tune", "tu", "--rows", "nothing"], "got nothing"),
        (["tune", "tu", "--rows", "GIN", "--columns", "MUTAG", "--trials", "0"], "at least one trial, got trials=0"),
        (["tune", "toy", "--rows", "GIN"], "toy has no hyperparameters to choose"),
        (["run", "toy", "--devices", "1000000"], "processors, got devices=1000000. Hint: lower --devices"),
        (["tune", "tu", "--nodes", "0"], "at least one process on one machine, got devices=1, nodes=0"),
        (["run", "toy", "--devices", "2", "--jobs", "2"], "Several processes share one run at a time"),
        (["run", "toy", "--precision", "16"], "Precision 16 needs a graphics processor"),
        (["run", "toy", "--checkpoint-every", "-1"], "--checkpoint-every takes zero or a number above zero, at most"),
        (["run", "toy", "--checkpoint-every", "nan"], "--checkpoint-every takes zero or a number above zero, at most"),
        (["run", "toy", "--smoke", "--most-memory", "1e300"], "at most 1,000,000,000, got 1e+300"),
        (["run", "toy", "--most-memory", "1"], "are for smoke runs. Hint: add --smoke"),
        (["run", "toy", "--most-seconds", "1"], "are for smoke runs. Hint: add --smoke"),
        (
            ["run", "toy", "--smoke", "--most-memory", "0"],
            "at most 1,000,000,000, got 0",
        ),
        (
            ["run", "toy", "--smoke", "--most-memory", "nan"],
            "at most 1,000,000,000, got nan",
        ),
        (
            ["run", "toy", "--smoke", "--most-seconds", "-1"],
            "--most-seconds takes a number above zero, at most",
        ),
        (["run", "toy", "--smoke", "--jobs", "0"], "At least one run is done at a time, got jobs=0"),
        (["run", "toy", "--smoke", "--threads", "0"], "At least one thread is needed, got threads=0"),
        (["run", "toy", "--smoke", "--gpus-per-run", "1"], "Smoke runs are for the machine that they run on"),
        (["run", "toy", "--smoke", "--address", "node1:1"], "Smoke runs are for the machine that they run on"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_is_not_known_gets_a_message_and_exit_code_two(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main([*arguments, "--results", str(tmp_path)]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("command", ["run toy", "tune tu", "figure chairs", "doctor torch.nn:Flatten --data x"])
def test_a_device_that_torch_does_not_have_is_refused(
    command: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.chdir(tmp_path)
    assert main([*command.split(), "--device", "cuda"]) == 2
    assert "The device cuda was asked for, and torch" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "toy", "--rows", "MLP", "--results", "{}"], "DataError: Records cannot be written to"),
        (["run", "toy", "--rows", "MLP", "--results", "{}/below"], "DataError: Records cannot be written to"),
        (["run", "toy", "--rows", "MLP", "--jobs", "0", "--results", "{}s"], "at a time, got jobs=0"),
        (["tune", "tu", "--rows", "GIN", "--jobs", "-1", "--results", "{}s"], "at a time, got jobs=-1"),
        (["report", "toy", "--output", "{}/x.md"], "Error"),
        (["report", "toy", "--results", "{}"], "InputError: --results takes the folder of the records, got the file"),
        (["list", "--results", "{}"], "InputError: --results takes the folder of the records, got the file"),
        (["report", "toy", "--format", "markdown", "--output", "/"], "IsADirectoryError: Is a directory: /"),
        (["figure", "stability", "--results", "{}"], "DataError: Pictures cannot be written to"),
        (["figure", "chairs", "--results", "{}/below"], "Pictures .*nothing was started. Hint: .*--results"),
        (["figure", "chairs", "--results", "{}s", "--pages", "{}"], "Pages .*nothing was started. Hint: .*--pages"),
        (["run", "toy", "--smoke", "--output", "{}/x.json"], "Smoke runs .*nothing was started. Hint: .*--output"),
        (["data", "import", "{}", "--output", "x"], "it is no folder"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_cannot_be_written_gets_a_message_and_exit_code_two(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "file"
    file.touch()
    assert main([argument.format(file) for argument in arguments]) == 2
    error = capsys.readouterr().err
    assert re.search(message, error)
    assert "Traceback" not in error


def test_a_command_that_is_asked_to_end_gives_its_claims_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Schedulers ask by SIGTERM, at a time limit."""

    def asked_to_end(run: Run, control: TrainingControl) -> dict[str, float]:
        assert list((tmp_path / "claims").glob("*.claim"))
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(60)
        pytest.fail("the command goes on")

    def unanswered(number: int, frame: object) -> None:
        pytest.fail("the request to end reached whoever called the command")

    monkeypatch.setitem(TABLES, "tiny", replace(TINY, execute=asked_to_end))
    before = signal.signal(signal.SIGTERM, unanswered)
    try:
        assert main(["run", "tiny", "--results", str(tmp_path)]) == 128 + signal.SIGTERM
        assert signal.getsignal(signal.SIGTERM) is unanswered
    finally:
        signal.signal(signal.SIGTERM, before)
    assert "Stopped. What was finished is kept" in capsys.readouterr().err
    assert not (tmp_path / "claims").exists()


class TestRun:
    def test_names_may_come_in_any_case_and_with_commas_and_ptc_as_its_files_are_called(
        self, asked: list[tuple[list[Run], int]], tmp_path: Path
    ) -> None:
        words = ["--rows", "a-nlsf,GIN", "gcn", "--columns", "PTC_MR", "mutag", "--splits", "1"]
        assert main(["run", "tu", *words, "--results", str(tmp_path)]) == 0
        ((runs, jobs),) = asked
        assert {(run.row, run.column) for run in runs} == {
            (row, column) for row in ("A-NLSF", "GIN", "GCN") for column in ("PTC", "MUTAG")
        }
        assert len(runs) == 6
        assert jobs == 1

    def test_jobs_and_presets_are_passed_on(self, asked: list[tuple[list[Run], int]], tmp_path: Path) -> None:
        words = ["tu", "--rows", "GIN", "--columns", "MUTAG", "--results", str(tmp_path)]
        assert main(["run", *words, "--jobs", "2", "--preset", "paper"]) == 0
        assert main(["run", *words]) == 0
        (paper, jobs), (cpu, _) = asked
        assert jobs == 2
        assert {run.options()["epochs"] for run in paper} == {1000}
        assert {run.options()["epochs"] for run in cpu} == {200}
        assert not {run.key for run in paper} & {run.key for run in cpu}

    @pytest.mark.parametrize("name", TABLES)
    def test_a_table_has_one_preset_if_and_only_if_its_settings_are_the_same_for_both(self, name: str) -> None:
        cpu, paper = (TABLES[name].runs(preset=preset) for preset in ("cpu", "paper"))
        assert (cpu == paper) == (len(TABLES[name].presets) == 1)

    @pytest.mark.parametrize(("name", "told"), [("toy", True), ("fast-graphs", True), ("tu", False)])
    def test_a_table_with_one_preset_says_so_when_it_is_asked_for_one(
        self, name: str, told: bool, asked: list, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        for words in ([], ["--preset", "paper"]):
            assert main(["run", name, "--splits", "1", "--results", str(tmp_path), *words]) == 0
            error = capsys.readouterr().err
            said = f"{name} has one preset only: --preset paper changes nothing." in error
            assert said == (told and bool(words))

    def test_the_list_says_which_tables_have_one_preset(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("COLUMNS", "400")
        assert main(["list", "--results", str(tmp_path)]) == 0
        shown = " ".join(capsys.readouterr().out.split())
        for table in TABLES.values():
            assert (f"{table.title} (one preset)" in shown) == (len(table.presets) == 1)

    def test_an_unknown_preset_is_refused(self, capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(SystemExit) as stopped:
            main(["run", "tu", "--preset", "gpu"])
        assert stopped.value.code == 2
        assert "cpu" in capsys.readouterr().err

    @pytest.mark.usefixtures("tiny")
    def test_it_trains_what_is_missing_and_shows_the_table(
        self, capsys: pytest.CaptureFixture[str], tmp_path: Path
    ) -> None:
        command = ["run", "tiny", "--threads", "1", "--results", str(tmp_path)]
        assert main([*command, "--splits", "1"]) == 0
        assert "1/1" in capsys.readouterr().out
        assert main(command) == 0
        assert "2/2" in capsys.readouterr().out
        assert len(read_records(tmp_path / "tiny.jsonl")) == 4

    def test_a_failed_run_is_named_and_the_exit_code_is_one(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        failing = replace(TINY, settings=lambda row, column, preset: {"epochs": 1, "end": "raises"})
        monkeypatch.setitem(TABLES, "tiny", failing)
        command = ["run", "tiny", "--rows", "B", "--splits", "1", "--threads", "1", "--results", str(tmp_path)]
        assert main(command) == 1
        shown = capsys.readouterr()
        assert shown.err == "failed: B, accuracy, split 1: IndexError: out of range\n"
        assert "Missing runs" not in shown.out  # there is no figure to show

    def test_runs_that_fail_for_one_reason_have_one_line_and_the_others_are_shown(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def settings(row: Row, column: str, preset: str) -> Settings:
            return {"epochs": 1, **({"end": "raises"} if row.name == "B" else {})}

        monkeypatch.setitem(TABLES, "tiny", replace(TINY, settings=settings))
        assert main(["run", "tiny", "--threads", "1", "--results", str(tmp_path)]) == 1
        shown = capsys.readouterr()
        assert shown.err == "failed: B, accuracy, split 1 and 1 more run: IndexError: out of range\n"
        assert "Missing runs: B / accuracy: 0 of 2" in shown.out

    @pytest.mark.parametrize("option", ["--rows", "--columns"])
    @pytest.mark.parametrize("words", [[""], [","], ["", " "]])
    def test_an_empty_name_does_not_mean_all(
        self, option: str, words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["run", "toy", option, *words, "--results", str(tmp_path)]) == 2
        assert "got an empty one. Hint: leave the option out for all" in capsys.readouterr().err

    @pytest.mark.parametrize("command", [["run", "toy"], ["figure", "stability"], ["demo"]])
    def test_no_threads_are_refused(self, command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
        assert main([*command, "--threads", "0"]) == 2
        assert "At least one thread is needed, got threads=0" in capsys.readouterr().err

    def test_an_interrupt_says_that_nothing_is_lost(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        def interrupt(*arguments: object, **options: object) -> list[str]:
            raise KeyboardInterrupt

        monkeypatch.setattr(tables, "run_missing", interrupt)
        assert main(["run", "toy", "--threads", "1", "--results", str(tmp_path)]) == 130
        assert "the same command goes on from there" in capsys.readouterr().err


class TestReport:
    @pytest.mark.parametrize(("name", "begin"), [("a.md", "# Grid"), ("a.html", "<!doctype"), ("a.json", "{")])
    def test_the_name_of_the_output_file_tells_its_format(self, name: str, begin: str, tmp_path: Path) -> None:
        assert main(["report", "toy", "--output", str(tmp_path / name), "--results", str(tmp_path)]) == 0
        assert (tmp_path / name).read_text().startswith(begin)

    def test_it_prints_json(self, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
        assert main(["report", "toy", "--json", "--results", str(tmp_path)]) == 0
        shown = capsys.readouterr()
        figures = json.loads(shown.out)
        assert figures["A-NLSF"]["accuracy"]["paper"] == 99.38
        assert figures["A-NLSF"]["accuracy"]["n"] == 0
        assert "There are no records in" in shown.err

    def test_it_shows_the_papers_figures_on_the_terminal(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setenv("COLUMNS", "200")
        assert main(["report", "tu", "--rows", "A-NLSF", "--columns", "PTC_MR", "--results", str(tmp_path)]) == 0
        shown = capsys.readouterr().out
        assert "73.16 ± 1.2" in shown
        assert "Missing runs: A-NLSF / PTC: 0 of 10" in shown


class TestList:
    def fields(self, line: str) -> list[str]:
        return [field.strip() for field in line.strip("│┃ ").replace("┃", "│").split("│")]

    def listing(self, capsys: pytest.CaptureFixture[str], results: Path) -> list[list[str]]:
        assert main(["list", "--results", str(results)]) == 0
        return [self.fields(line) for line in capsys.readouterr().out.splitlines()]

    @pytest.mark.usefixtures("tiny")
    def test_it_counts_the_records_of_every_row(self, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
        assert main(["run", "tiny", "--rows", "B", "--splits", "1", "--threads", "1", "--results", str(tmp_path)]) == 0
        capsys.readouterr()
        lines = self.listing(capsys, tmp_path)
        assert ["tiny", "A", "0 of 2"] in lines
        assert ["A table", "B", "1 of 2"] in lines
        assert all(any(line[0] == name for line in lines) for name in TABLES)

    @pytest.mark.data
    def test_it_shows_the_counts_of_the_data_sets(self, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
        lines = self.listing(capsys, tmp_path)
        heading = ["data set", "present", "graphs", "classes", "nodes", "edges", "channels", "attributes"]
        assert heading in lines
        assert ["ENZYMES", "yes", "600", "6", "32.63", "62.14", "3", "18"] in lines
        assert ["PTC", "yes", "344", "2", "14.29", "14.69", "18", "0"] in lines
        assert ["data set", "present", "train", "validation", "test", "classes", "parts", "points"] in lines
        assert ["ModelNet40", "yes", "9843", "0", "2468", "40", "0", "1024"] in lines
        assert ["ModelNet10", "yes", "3991", "0", "908", "10", "0", "1024"] in lines
        assert ["ShapeNet", "yes", "1989", "258", "855", "16", "50", "1024"] in lines

    def test_it_says_what_is_not_present_and_fetches_nothing(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setenv("ADACANON_DATA", str(tmp_path / "data"))
        monkeypatch.setenv("ADACANON_CACHE", str(tmp_path / "cache"))
        lines = self.listing(capsys, tmp_path)
        assert [line[-1] for line in lines if line[0] in (*NAMES, "PTC")] == ["no"] * 5
        assert any("set ADACANON_DATA to a folder" in " ".join(line) for line in lines)
        clouds = ("ModelNet40", "ModelNet10", "ShapeNet")
        assert [line[-1] for line in lines if line[0] in clouds] == ["no"] * 3
        assert any("adacanon data import" in " ".join(line) for line in lines)
        assert not (tmp_path / "cache").exists()

    def test_a_damaged_file_of_clouds_is_named(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        file = tmp_path / "pointclouds" / "modelnet40.npz"
        file.parent.mkdir()
        file.write_bytes(b"PK\x03\x04 and nothing else")
        monkeypatch.setenv("ADACANON_DATA", str(tmp_path))
        assert main(["list", "--results", str(tmp_path)]) == 2
        assert f"{file} is damaged" in capsys.readouterr().err

    def test_one_data_set_may_be_present_alone(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        folder = tmp_path / "data" / "TUDataset" / "MUTAG" / "raw"
        folder.mkdir(parents=True)
        files = {"A": "1, 2\n2, 1\n", "graph_indicator": "1\n1\n2\n", "graph_labels": "1\n-1\n"}
        for name, content in files.items():
            (folder / f"MUTAG_{name}.txt").write_text(content)
        monkeypatch.setenv("ADACANON_DATA", str(tmp_path / "data"))
        monkeypatch.setenv("ADACANON_CACHE", str(tmp_path / "cache"))
        lines = self.listing(capsys, tmp_path)
        assert ["MUTAG", "yes", "2", "2", "1.50", "0.50", "1", "0"] in lines
        assert ["NCI1", "no", *["–"] * 6] in lines
