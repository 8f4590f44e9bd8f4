"""Hyperparameters: studies that are rebuilt from their records and see the validation part alone."""

import json
import random
from dataclasses import replace
from pathlib import Path

import pytest

from adacanon.cli import main
from adacanon.errors import DataError, InputError
from adacanon.experiments.catalogue import TABLES, table_named
from adacanon.experiments.graphs import tu
from adacanon.runs.choices import read_choices, write_choice
from adacanon.runs.executors import ThisProcess
from adacanon.runs.run import Run, execute, taken_over
from adacanon.runs.study import proposed
from adacanon.runs.table import Table, records_by_row
from adacanon.runs.tuning import best, study, tune
from adacanon.training.loop import TrainingControl
from adacanon.training.records import Record, read_records
from cases.tiny_table import TINY

SPACE = {"learning_rate": [0.1, 0.01, 0.001], "layers": [2, 3, 4, 5], "partition": ["uniform", "dyadic"]}
TRIALS = 9
PACKAGED = Path(tu.__file__).with_name("chosen.json")


class Landscape:
    """Trains nothing: validation is best at small rates and four layers; the test part says the opposite."""

    def __init__(self, fails: bool = False) -> None:
        self.trained: list[Run] = []
        self.fails = fails

    def execute(self, run: Run, control: TrainingControl) -> dict[str, float]:
        self.trained.append(run)
        options = run.options()
        if self.fails and options["learning_rate"] == 0.1:
            raise RuntimeError("diverged")
        quality = 80 - 100 * options["learning_rate"] - 5 * abs(options["layers"] - 4)
        loss = 1.0 if options["partition"] == "uniform" else 2.0
        return {"accuracy": 100 - quality, "validation_accuracy": quality, "validation_loss": loss, "seconds": 1.0}

    @property
    def table(self) -> Table:
        return replace(TINY, execute=self.execute, search_space=lambda row: SPACE)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "tiny-tuning.jsonl"


def scrambled(records: list[Record]) -> list[Record]:
    accuracies = [record["metrics"]["accuracy"] for record in records]
    random.Random(0).shuffle(accuracies)
    return [
        {**record, "metrics": {**record["metrics"], "accuracy": accuracy}}
        for record, accuracy in zip(records, accuracies, strict=True)
    ]


class TestStudies:
    def test_a_second_call_trains_nothing_and_gives_the_same_records(self, file: Path) -> None:
        landscape = Landscape()
        first = study(landscape.table, "A", "accuracy", file, trials=TRIALS)
        assert len(landscape.trained) == len(first) == TRIALS
        assert study(landscape.table, "A", "accuracy", file, trials=TRIALS) == first
        assert len(landscape.trained) == TRIALS
        assert read_records(file) == first

    def test_one_that_stops_goes_on_as_if_it_had_not(self, file: Path) -> None:
        landscape = Landscape()
        study(landscape.table, "A", "accuracy", file, trials=4)
        resumed = study(landscape.table, "A", "accuracy", file, trials=TRIALS)
        assert len(landscape.trained) == TRIALS
        whole = study(Landscape().table, "A", "accuracy", file.with_name("whole.jsonl"), trials=TRIALS)
        assert [record["settings"] for record in resumed] == [record["settings"] for record in whole]

    def test_trials_come_from_the_space_on_one_split_and_within_the_limits(self, file: Path) -> None:
        records = study(Landscape().table, "A", "accuracy", file, trials=TRIALS)
        for number, record in enumerate(records):
            settings = record["settings"]
            assert all(settings[name] in values for name, values in SPACE.items())
            assert (settings["trial"], settings["epochs"], settings["patience"]) == (number, 100, 25)
            assert (record["table"], record["split"]) == ("tiny-tuning", 0)
        assert len({json.dumps([r["settings"][name] for name in SPACE]) for r in records}) > 3

    def test_failed_trials_are_left_out_and_reported(self, file: Path) -> None:
        with pytest.warns(UserWarning, match="left out of the study.*diverged"):
            records = study(Landscape(fails=True).table, "A", "accuracy", file, trials=TRIALS)
        assert 0 < len(records) < TRIALS
        assert best(SPACE, records)["learning_rate"] < 0.1

    def test_a_study_without_any_trial_is_an_error(self, file: Path) -> None:
        table = replace(Landscape(fails=True).table, search_space=lambda row: {**SPACE, "learning_rate": [0.1]})
        with pytest.raises(InputError, match=r"Every trial of A on accuracy failed.*diverged"):
            study(table, "A", "accuracy", file, trials=2)

    def test_a_table_without_hyperparameters_is_refused(self, file: Path) -> None:
        with pytest.raises(InputError, match="tiny has no hyperparameters to choose"):
            study(TINY, "A", "accuracy", file, trials=1)


class TestChoices:
    def test_they_have_the_best_validation_accuracy_and_ties_go_to_the_smaller_loss(self, file: Path) -> None:
        records = study(Landscape().table, "A", "accuracy", file, trials=TRIALS)
        choice = best(SPACE, records)
        assert set(choice) == set(SPACE)
        top = max(record["metrics"]["validation_accuracy"] for record in records)
        losses = {
            record["metrics"]["validation_loss"]: record["settings"]
            for record in records
            if record["metrics"]["validation_accuracy"] == top
        }
        winner = losses[min(losses)]
        assert choice == {name: winner[name] for name in SPACE}

    def test_scrambled_test_accuracies_change_neither_choice_nor_proposal(self, file: Path) -> None:
        records = study(Landscape().table, "A", "accuracy", file, trials=TRIALS)
        other = scrambled(records)
        assert other != records
        assert best(SPACE, other) == best(SPACE, records)
        assert proposed(SPACE, other, TRIALS) == proposed(SPACE, records, TRIALS)

    def test_validation_figures_do_change_them(self, file: Path) -> None:
        records = study(Landscape().table, "A", "accuracy", file, trials=TRIALS)
        turned = [
            {**record, "metrics": {**record["metrics"], "validation_accuracy": record["metrics"]["accuracy"]}}
            for record in records
        ]
        assert best(SPACE, turned) != best(SPACE, records)

    def test_they_are_written_in_a_stable_order(self, tmp_path: Path) -> None:
        one, other = tmp_path / "one.json", tmp_path / "other.json"
        choices = [("B", "y", {"layers": 2}), ("A", "x", {"layers": 3}), ("B", "x", {"layers": 4})]
        for choice in choices:
            write_choice(one, *choice)
        for choice in reversed(choices):
            write_choice(other, *choice)
        assert one.read_text() == other.read_text()
        assert json.loads(one.read_text())["B"] == {"x": {"layers": 4}, "y": {"layers": 2}}

    def test_the_command_writes_the_choice_of_every_row_to_the_results_and_says_where(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        results, before = tmp_path / "results", PACKAGED.read_bytes()
        monkeypatch.setitem(TABLES, "tiny", Landscape().table)
        try:
            assert main(["tune", "tiny", "--trials", "3", "--results", str(results)]) == 0
            assert PACKAGED.read_bytes() == before
        finally:
            PACKAGED.write_bytes(before)
        records = [record for record in read_records(results / "tiny-tuning.jsonl") if record["row"] == "B"]
        assert json.loads((results / "chosen.json").read_text())["B"]["accuracy"] == best(SPACE, records)
        printed = capsys.readouterr().out
        assert "B, accuracy: {'learning_rate'" in printed
        assert f"The choices: {results / 'chosen.json'}" in printed.replace("\n", " ")


class TestChoicesOfAFolder:
    """They come before the package's, wherever the records of that folder are run or read."""

    COLUMNS = ("MUTAG", "PROTEINS")

    @pytest.fixture
    def results(self, tmp_path: Path) -> Path:
        for row in ("GIN", "A-NLSF", "A-NLSF (paper)"):
            for column in self.COLUMNS:
                write_choice(
                    tmp_path / "chosen.json", row, column, {**read_choices(tu.CHOICES)[row][column], "layers": 77}
                )
        return tmp_path

    @pytest.mark.parametrize("name", [name for name, table in TABLES.items() if table.choices is not None])
    def test_every_table_that_reads_choices_reads_them_there(self, name: str, results: Path) -> None:
        table, usual = table_named(name, results), table_named(name)
        row = next((row for row in ("GIN", "Graph") if row in table.row_names), table.row_names[0])
        assert set(table.columns) & set(self.COLUMNS)
        for column in set(table.columns) - set(tu.SHARED_CHOICES):
            own, package = (found.settings_of(row, column) for found in (table, usual))
            assert own == ({**package, "layers": 77} if column in self.COLUMNS else package)

    def test_they_are_all_the_tables_that_follow_the_package(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def settings() -> dict[str, list[str]]:
            return {name: [run.settings for run in table.runs(splits=1)] for name, table in TABLES.items()}

        before = settings()
        monkeypatch.setattr(tu, "read_choices", lambda folder: {})
        changed = {name for name, found in settings().items() if found != before[name]}
        assert changed == {name for name, table in TABLES.items() if table.choices is not None}

    def test_a_folder_without_choices_has_the_package_s(self, tmp_path: Path) -> None:
        assert read_choices(tu.CHOICES, tmp_path) == read_choices(tu.CHOICES) == json.loads(PACKAGED.read_text())
        for name in TABLES:
            keys = [[run.key for run in table.runs()] for table in (table_named(name, tmp_path), table_named(name))]
            assert keys[0] == keys[1]

    def test_run_and_report_and_list_mean_the_same_runs(
        self, results: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setitem(TABLES, "tu", replace(tu.TU, execute=Layers().execute))
        words = ["tu", "--rows", "GIN", "--columns", "MUTAG", "--splits", "2", "--results", str(results)]
        assert main(["run", *words]) == 0
        assert [record["settings"]["layers"] for record in read_records(results / "tu.jsonl")] == [77, 77]
        capsys.readouterr()
        assert main(["report", *words, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["GIN"]["MUTAG"]["n"] == 2
        assert records_by_row(table_named("tu", results), results / "tu.jsonl")["GIN"][0] == 2
        assert records_by_row(table_named("tu"), results / "tu.jsonl")["GIN"][0] == 0

    def test_an_ablation_takes_over_records_with_these_choices(self, results: Path) -> None:
        def run_of(name: str, row: str) -> Run:
            return table_named(name, results).runs(rows=(row,), columns=("MUTAG",), splits=1)[0]

        record = execute(Layers().execute, run_of("tu", "A-NLSF"), TrainingControl())
        assert record["settings"]["layers"] == 77
        assert taken_over(run_of("tu-search", "A-NLSF (refined)"), [record]) is not None
        assert taken_over(table_named("tu-search").runs(rows=("A-NLSF (refined)",))[0], [record]) is None

    @pytest.mark.parametrize(("text", "came"), [("{", "Expecting"), ("[1]", "another"), ('{"GIN": 3}', "another")])
    def test_a_file_that_holds_no_choices_is_refused(self, text: str, came: str, tmp_path: Path) -> None:
        (tmp_path / "chosen.json").write_text(text)
        with pytest.raises(DataError, match=rf"chosen\.json: expected choices in JSON.*got {came}.*Hint: repair"):
            read_choices(tu.CHOICES, tmp_path)


class Layers:
    """Trains nothing: the accuracy is the number of layers."""

    def execute(self, run: Run, control: TrainingControl) -> dict[str, float]:
        return {"accuracy": float(run.options()["layers"]), "seconds": 1.0}


CHOSEN = {
    "GIN": {"PROTEINS": {"layers": 9}, "MUTAG": {"layers": 2}},
    "MLP": {"PROTEINS": {"layers": 9}, "NCI1": {"layers": 5}},
}


class TestTuSettings:
    def test_nci1_takes_the_choice_of_proteins_and_the_others_their_own(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(tu, "read_choices", lambda folder: CHOSEN)
        layers = {column: tu.TU.settings_of("GIN", column)["layers"] for column in tu.COLUMNS}
        assert layers == {"MUTAG": 2, "PTC": 3, "ENZYMES": 3, "PROTEINS": 9, "NCI1": 9}

    def test_nci1_may_have_a_choice_of_its_own(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(tu, "read_choices", lambda folder: CHOSEN)
        assert tu.TU.settings_of("MLP", "NCI1")["layers"] == 5

    def test_what_was_chosen_before_does_not_enter_a_study(self, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Otherwise a second call would not find its own records."""

        def trial() -> Record:
            (record,) = study(table, "GIN", "MUTAG", file, trials=1)
            return record

        table = replace(tu.TU, execute=Landscape().table.execute, search_space=lambda row: SPACE)
        monkeypatch.setattr(tu, "read_choices", lambda folder: {})
        before = trial()
        monkeypatch.setattr(tu, "read_choices", lambda folder: CHOSEN)
        assert trial() == before

    def test_the_ranges_are_those_of_the_paper_or_narrower(self) -> None:
        paper = {"learning_rate": {1e-2, 1e-3, 1e-4}, "weight_decay": {1e-2, 1e-3, 1e-4}, "layers": set(range(2, 10))}
        for row in tu.TU.rows:
            space = tu.search_space(row)
            assert all(set(space[name]) <= values for name, values in paper.items())
        assert set(tu.search_space(tu.TU.row("GIN"))) == set(paper)


def test_columns_that_take_the_choice_of_another_have_no_study(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Studies of tu are for MUTAG, PTC, ENZYMES, PROTEINS; got NCI1"):
        tune(TABLES["tu"], ("GIN",), ("NCI1",), tmp_path / "records.jsonl", executor=ThisProcess(), trials=1)
