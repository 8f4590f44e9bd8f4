"""The tables `ogb` and `peptides`: every row on small files in the official layout, and what is chosen and read."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from adacanon.data.labelled_graphs import LabelledGraphs
from adacanon.data.ogb import OGB
from adacanon.errors import DataError
from adacanon.experiments.catalogue import TABLES
from adacanon.experiments.graphs import ogb, peptides, readout_validation
from adacanon.experiments.graphs.benchmark_graphs import BenchmarkGraphs
from adacanon.experiments.graphs.benchmark_methods import METHODS, padded_rows
from adacanon.reports.render import markdown_overview
from adacanon.runs.run import Run
from adacanon.runs.runner import run_missing, summary_of
from adacanon.training.learner import Learner
from adacanon.training.loop import TrainingControl, accuracy, train
from adacanon.training.ranking import METRICS
from adacanon.training.schedule import Schedule
from cases.official_ogb import official_ogb

SMALL = {"width": 16, "layers": 2, "epochs": 2, "batch": 16, "encodings": 2, "eigenvectors": 4}


@pytest.fixture
def small_ogb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in OGB:
        official_ogb(tmp_path, name, graphs=60)
    monkeypatch.setenv("ADACANON_DATA", str(tmp_path))
    monkeypatch.setenv("ADACANON_CACHE", str(tmp_path / "cache"))
    ogb.ogb_graphs.cache_clear()
    return tmp_path


def small_run(table: str, row: str, column: str) -> Run:
    options = TABLES[table].settings_of(row, column)
    return Run.of(table, row, column, 0, {**options, **{k: v for k, v in SMALL.items() if k in options}})


ROWS = tuple(row.name for row in ogb.ROWS if not row.published_only)


@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("column", ogb.COLUMNS)
def test_every_row_runs_on_small_official_files(row: str, column: str, small_ogb: Path) -> None:
    found = ogb.execute(small_run("ogb", row, column), TrainingControl())
    assert all(np.isfinite(value) for value in found.values())
    assert 0 <= found["test"] <= 100
    assert found["epochs"] == 2


def test_peptides_has_every_method_and_s2gnn_reads_its_eigenvectors(
    small_ogb: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graphs = replace(ogb.ogb_graphs("molpcba"), metric="average_precision")
    monkeypatch.setattr(peptides, "peptides", lambda: graphs)
    assert TABLES["peptides"].row_names == tuple(METHODS)
    found = peptides.execute(small_run("peptides", "S2GNN", peptides.COLUMN), TrainingControl())
    assert 0 <= found["test"] <= 100


@pytest.mark.parametrize("row", [row.name for row in readout_validation.ROWS])
def test_variants_of_the_readout_read_no_test_graph(row: str, small_ogb: Path) -> None:
    found = readout_validation.execute(small_run("readout-validation", row, "molhiv"), TrainingControl())
    assert 0 <= found["validation"] <= 100
    assert "test" not in found


def test_data_that_is_missing_is_named_and_other_columns_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    official_ogb(tmp_path, "ogbg-molhiv", graphs=60)
    monkeypatch.setenv("ADACANON_DATA", str(tmp_path))
    monkeypatch.setenv("ADACANON_CACHE", str(tmp_path / "cache"))
    ogb.ogb_graphs.cache_clear()
    runs = [small_run("ogb", "GIN", column) for column in ogb.COLUMNS]
    failures = run_missing(TABLES["ogb"], runs, tmp_path / "ogb.jsonl", show=False)
    assert [failure.run for failure in failures] == ["GIN, molpcba, split 1", "GIN, ppa, split 1"]
    assert all("is missing" in failure.reason or "are missing" in failure.reason for failure in failures)
    with pytest.raises(DataError, match=r"ogbg_ppi_medium\.zip"):
        ogb.execute(runs[-1], TrainingControl())


class TestProtocol:
    def test_published_rows_are_shown_and_never_run(self, tmp_path: Path) -> None:
        table = TABLES["ogb"]
        runs = table.runs(columns=("molhiv",))
        assert not [run for run in [*runs, *table.runs(splits=1)] if "published" in run.row]
        summary = summary_of(table, runs, tmp_path / "ogb.jsonl", notes=())
        assert "| SAN (published) | (77.8) |" in markdown_overview(summary)
        assert "| A-NLSF | – |" in markdown_overview(summary)
        cells = summary.cells
        assert cells["SAN (published)"]["molhiv"].paper == 77.85
        assert cells["SAN (published)"]["molhiv"].expected == 0
        assert cells["A-NLSF"]["molhiv"].paper == 80.19

    def test_seeds(self) -> None:
        for table, column in (("ogb", "molhiv"), ("peptides", peptides.COLUMN)):
            counts = dict.fromkeys(TABLES[table].row_names, 0)
            for run in TABLES[table].runs(columns=(column,)):
                counts[run.row] += 1
            assert counts.pop("A-NLSF") == 5
            assert {n for row, n in counts.items() if "published" not in row} == {3}

    def test_all_rows_have_the_same_sizes_and_schedule(self) -> None:
        for table, column in (("ogb", "molhiv"), ("peptides", peptides.COLUMN)):
            names = ("width", "layers", "dropout", "batch", "learning_rate", "weight_decay", "epochs", "walk_steps")
            rows = [row.name for row in TABLES[table].rows if not row.published_only]
            settings = [TABLES[table].settings_of(row, column) for row in rows]
            assert len({tuple(one[name] for name in names) for one in settings}) == 1
            assert settings[0]["width"] <= 128

    def test_no_training_sees_the_test_part(self, small_ogb: Path) -> None:
        graphs = ogb.ogb_graphs("molhiv")
        assert len(graphs.split.test) == 0
        hidden = spoiled(graphs)
        outcomes = [
            ogb.trained_and_tested(small_run("ogb", "GIN", "molhiv"), TrainingControl(), g) for g in (graphs, hidden)
        ]
        names = ("validation", "validation_loss", "kept_epoch", "train_loss")
        assert [outcomes[0][name] for name in names] == [outcomes[1][name] for name in names]
        assert outcomes[0]["test"] + outcomes[1]["test"] == pytest.approx(100)

    def test_the_validation_metric_chooses_the_epoch(self) -> None:
        """Scores that rank better and better up to the third epoch, whatever the loss says."""
        scores = torch.tensor([[0.0], [1.0], [2.0], [3.0]])
        labels = torch.tensor([[0.0], [0.0], [1.0], [1.0]])
        turned = torch.nn.Linear(1, 1)
        figures = iter([0.2, 0.4, 0.9, 0.8, 0.1])
        learner = Learner(
            turned,
            labels,
            lambda index: (scores[index],),
            torch.nn.functional.binary_cross_entropy_with_logits,
            metric=lambda s, y: next(figures),
        )
        index = torch.arange(4)
        split = BenchmarkGraphs(tiny(index), "roc_auc").split
        history = train(learner, split, Schedule(5, 4, 0.01), generator=torch.Generator().manual_seed(0))
        assert history.selected["validation_accuracy"] == pytest.approx(90)
        assert history.selected["epoch"] == 3

    def test_the_metric_is_that_of_the_data_set(self, small_ogb: Path) -> None:
        for column, name in ogb.COLUMNS.items():
            assert ogb.ogb_graphs(column).metric == OGB[name].metric
            assert ogb.ogb_graphs(column).metric in METRICS

    def test_a_learner_reports_its_metric_in_percent(self) -> None:
        scores, labels = torch.tensor([[0.0], [1.0], [2.0]]), torch.tensor([[0.0], [1.0], [0.0]])
        criterion: Any = torch.nn.functional.binary_cross_entropy_with_logits
        learner = Learner(torch.nn.Identity(), labels, lambda i: (scores[i],), criterion, metric=METRICS["roc_auc"])
        assert accuracy(learner, torch.arange(3), batch=2) == 50


def spoiled(graphs: BenchmarkGraphs) -> BenchmarkGraphs:
    """The same with the labels of the test part turned round."""
    labels = graphs.data.labels.clone()
    labels[graphs.data.parts.test] = 1 - labels[graphs.data.parts.test]
    return replace(graphs, data=replace(graphs.data, labels=labels))


def tiny(index: torch.Tensor) -> LabelledGraphs:
    from adacanon.data.labelled_graphs import Parts

    empty = torch.zeros(0)
    parts = Parts(index, index, index)
    return LabelledGraphs("tiny", empty, empty, empty, empty, empty, empty, parts, (), (), 1)


def test_padded_rows_are_the_rows_of_each_graph() -> None:
    rows = torch.arange(8.0).reshape(4, 2)
    padded = padded_rows(rows, torch.tensor([0, 1, 1, 1]))
    assert padded.shape == (2, 3, 2)
    assert torch.equal(padded[0], torch.tensor([[0.0, 1.0], [0.0, 0.0], [0.0, 0.0]]))
    assert torch.equal(padded[1], rows[1:])


def test_eigenvectors_are_those_of_each_graph(small_ogb: Path) -> None:
    from adacanon.baselines.graphs import axis_projection_encodings, lowest
    from adacanon.baselines.graphs.spatio_spectral import spectral_encodings
    from adacanon.graphs.shift_operators import shift_matrix
    from adacanon.graphs.spectra import decompose

    graphs = ogb.ogb_graphs("molhiv")
    encodings = graphs.canonical_eigenvectors(3)
    values, vectors, positions = graphs.lowest_eigenpairs(4)
    for number in (0, 7):
        index = torch.tensor([number])
        spectrum = decompose(shift_matrix(graphs.data.graphs(index)[0]))
        pair = (spectrum.eigenvalues, spectrum.eigenvectors)
        nodes = graphs.data.nodes(index)
        torch.testing.assert_close(encodings[nodes], axis_projection_encodings([pair], 3).float())
        low, columns = lowest(*pair, 4)
        torch.testing.assert_close(values[number, : len(low)], low.float())
        torch.testing.assert_close(vectors[nodes][:, : len(low)], columns.float())
        assert not vectors[nodes][:, len(low) :].any()
        expected = spectral_encodings(low, columns, graphs.data.batch(index).edge_index)
        torch.testing.assert_close(positions[nodes][:, : len(low)], expected.float())


def test_a_readout_answers_the_same_in_every_eigenbasis(small_ogb: Path) -> None:
    from benchmarks.graphs.readout_invariance import measured

    bands, eigenspaces, control = measured("molhiv", training=32, tested=6, epochs=1, times=2, seed=0)
    for row in (bands, eigenspaces):
        assert row["answers"] == 12
        assert row["largest change of a score"] < 1e-4 * row["spread of the scores"]
    assert control["largest change of a score"] > 0.01 * control["spread of the scores"]
