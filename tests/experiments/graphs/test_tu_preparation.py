"""What runs on TU data sets share is prepared by their executor, and is what one process computes without it."""

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data

from adacanon.baselines.graphs.axis_projection import axis_projection_encodings
from adacanon.data.tu import GraphDataset
from adacanon.experiments import temperature
from adacanon.experiments.catalogue import TABLES
from adacanon.experiments.graphs import fair_data, soft_graphs, spectral_methods, tu, tu_data, tu_fair, tu_preparation
from adacanon.experiments.graphs.fair_data import structural_inputs
from adacanon.experiments.graphs.kept_arrays import Portions
from adacanon.experiments.graphs.spectral_methods import kept_frames, kept_signals
from adacanon.experiments.graphs.tu_data import TUData, kept_encodings
from adacanon.graphs import uniform
from adacanon.graphs.band_frames import band_frames, return_probabilities
from adacanon.graphs.framed_graphs import encoder_signals
from adacanon.graphs.shift_operators import shift_matrix
from adacanon.graphs.spectra import decompose, keep_spectra, spectra
from adacanon.runs.executors import LocalProcesses, ThisProcess
from adacanon.runs.run import Run
from adacanon.runs.table import Table
from adacanon.runs.tuning import tune

SPECTRA = sys.modules[spectra.__module__]
GRAPHS = 20
TU_TABLES = ("tu", "tu-attributes", "tu-search", "tu-node", "tu-bands", "tu-shift", "tu-components", "tu-runtime")
PREPARED = (*TU_TABLES, "tu-fair", "tu-fair-labels", "tu-fair-attributes", "temperature-graphs", "temperature")


def random_graph(nodes: int, generator: torch.Generator) -> Data:
    """A ring with a chord and one-hot labels."""
    ring = torch.stack([torch.arange(nodes), (torch.arange(nodes) + 1) % nodes])
    edges = torch.cat([ring, torch.randperm(nodes, generator=generator)[:2].unsqueeze(1)], dim=1)
    edges = torch.cat([edges, edges.flip(0)], dim=1).unique(dim=1)
    x = torch.eye(3)[torch.randint(3, (nodes,), generator=generator)]
    return Data(x=x, edge_index=edges, num_nodes=nodes)


@pytest.fixture
def data(monkeypatch: pytest.MonkeyPatch) -> TUData:
    """A few graphs in the place of every data set, in portions of eight."""
    generator = torch.Generator().manual_seed(0)
    graphs = [random_graph(4 + i % 9, generator) for i in range(GRAPHS)]
    found = TUData(GraphDataset("random", graphs, torch.arange(GRAPHS) % 2, 2))
    for module in (tu_data, tu_preparation, fair_data):
        monkeypatch.setattr(module, "tu_data", lambda column, features: found)
    for module in (tu_data, spectral_methods, fair_data):
        monkeypatch.setattr(module, "PORTION", 8)
    monkeypatch.setattr(SPECTRA, "_PORTION", 8)
    return found


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Use another cache folder."""

    def use(name: str) -> Path:
        monkeypatch.setenv("ADACANON_CACHE", str(tmp_path / name))
        return tmp_path / name

    return use


def files(folder: Path) -> dict[str, bytes]:
    """All files of arrays below a folder."""
    return {file.name: file.read_bytes() for file in (folder / "arrays").iterdir()}


def operators(data: TUData, operator: str = "normalized") -> list[Tensor]:
    return [shift_matrix(graph, operator) for graph in data.dataset.graphs]


def runs_of(table: Table, *rows: str) -> list[Run]:
    return table.runs(rows=rows, columns=("MUTAG",), splits=1)


ROWS = ("GIN", "OAP+GIN", "FA+GIN", "NLSF", "A-NLSF (paper)", "A-NLSF")


def test_what_processes_prepare_is_what_one_prepares(data: TUData, cache: Callable[[str], Path]) -> None:
    one = cache("one")
    tu.prepare(runs_of(tu.TU, *ROWS), executor=ThisProcess(), show=False)
    own = [(s.eigenvalues, s.eigenvectors) for s in spectra(operators(data))]
    two = cache("two")
    with LocalProcesses(2) as executor:
        tu.prepare(runs_of(tu.TU, *ROWS), executor=executor, show=False)
    assert {name.split("-")[2] for name in files(one)} == {"axis", "frames", "signals"}
    assert len(files(one)) == 3
    assert sorted(files(one)) == sorted(files(two))
    assert files(one) == files(two)
    for (values, vectors), theirs in zip(own, spectra(operators(data)), strict=True):
        assert torch.equal(values, theirs.eigenvalues)
        assert torch.equal(vectors, theirs.eigenvectors)


def test_what_is_kept_is_what_follows_from_all_graphs_at_once(data: TUData, cache: Callable[[str], Path]) -> None:
    cache("one")
    graphs = data.dataset.graphs
    pairs = [(s.eigenvalues, s.eigenvectors) for s in map(decompose, operators(data))]
    signals = torch.cat([encoder_signals(graph, 4) for graph in graphs])
    walks = torch.cat([return_probabilities(matrix, fair_data.WALK_STEPS) for matrix in operators(data)])
    whole = band_frames(graphs, uniform(4), width=2, cache=False)
    for _ in ("computed", "read"):
        torch.testing.assert_close(kept_encodings(data, 2), axis_projection_encodings(pairs, 2).float())
        assert torch.equal(kept_signals(data, 4), signals)
        assert torch.equal(structural_inputs(data)[:, 1:], walks.float())
        assert structural_inputs(data)[:, 0].sum() == sum(graph.num_edges for graph in graphs)
        found = kept_frames(data, uniform(4), "normalized", 2)
        assert torch.equal(found.basis, whole.basis)
        assert torch.equal(found.sizes, whole.sizes)
        assert torch.equal(found.ranks, whole.ranks)


@pytest.mark.parametrize("name", PREPARED)
def test_a_second_preparation_does_nothing(
    name: str, data: TUData, cache: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, table = cache("one"), TABLES[name]
    column = "ENZYMES" if "ENZYMES" in table.columns else "MUTAG"
    runs = table.runs(columns=(column,), splits=1)
    assert table.prepare is not None
    table.prepare(runs, executor=ThisProcess(), show=False)
    before = {file: file.stat().st_mtime_ns for file in folder.rglob("*") if file.is_file()}
    assert folder / "spectra.sqlite" in before
    monkeypatch.setattr(SPECTRA, "decompose", lambda matrix: pytest.fail("decomposed again"))
    table.prepare(runs, executor=ThisProcess(), show=False)
    assert {file: file.stat().st_mtime_ns for file in folder.rglob("*") if file.is_file()} == before


def test_a_preparation_that_is_stopped_goes_on(data: TUData, cache: Callable[[str], Path]) -> None:
    folder, told = cache("one"), list[tuple[int, int]]()
    distinct = len({matrix.numpy().tobytes() for matrix in operators(data)})

    def stop(done: int, total: int) -> None:
        if done > 8:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        keep_spectra(operators(data), on_progress=stop)
    keep_spectra(operators(data), on_progress=lambda *done: told.append(done))
    assert told == [(distinct, distinct)]
    with pytest.raises(KeyboardInterrupt):
        kept_signals(data, 4, Portions(on_progress=stop))
    assert len(files(folder)) == 2
    kept_signals(data, 4, Portions(on_progress=lambda *done: told.append(done)))
    assert told[1:] == [(GRAPHS, GRAPHS)]
    assert len(files(folder)) == 1


def test_spectra_are_the_same_computed_and_read(data: TUData, cache: Callable[[str], Path]) -> None:
    """In the layout of their numbers too: products of other layouts round differently."""
    cache("one")
    for fresh, read in zip(spectra(operators(data)), spectra(operators(data)), strict=True):
        assert torch.equal(fresh.eigenvectors, read.eigenvectors)
        assert fresh.eigenvectors.stride() == read.eigenvectors.stride()


def test_a_damaged_spectrum_is_computed_again(data: TUData, cache: Callable[[str], Path]) -> None:
    folder = cache("one")
    keep_spectra(operators(data))
    (folder / "spectra.sqlite").write_bytes(b"no database")
    with pytest.warns(UserWarning, match="cannot be used"):
        keep_spectra(operators(data))
    told: list[tuple[int, int]] = []
    keep_spectra(operators(data), on_progress=lambda *done: told.append(done))
    assert told == []


def test_graphs_that_changed_are_prepared_anew(data: TUData, cache: Callable[[str], Path]) -> None:
    cache("one")
    before = kept_signals(data, 4)
    graphs = [graph.clone() for graph in data.dataset.graphs]
    graphs[3].x = graphs[3].x.flip(1)
    changed = TUData(replace(data.dataset, graphs=graphs))
    assert changed.arrays.fingerprint != data.arrays.fingerprint
    assert not torch.equal(kept_signals(changed, 4), before)


def test_networks_on_nodes_and_edges_need_no_preparation(data: TUData, cache: Callable[[str], Path]) -> None:
    folder = cache("one")
    tu.prepare(runs_of(tu.TU, "GIN", "GCN", "PNA"), executor=ThisProcess(), show=False)
    tu_fair.prepare(runs_of(TABLES["tu-fair-labels"], "GIN"), executor=ThisProcess(), show=False)
    assert not folder.exists()


def test_every_method_names_the_operators_that_it_reads(data: TUData, cache: Callable[[str], Path]) -> None:
    """Once prepared, building any row decomposes nothing."""
    for table, read_by in ((tu.TU, tu.read_by), (tu_fair.TU_FAIR, tu_fair.read_by)):
        for run in runs_of(table):
            folder = cache(f"{table.name} {run.row}")
            seen = list[str]()
            with pytest.MonkeyPatch.context() as patched:
                patched.setattr(SPECTRA, "decompose", lambda matrix, seen=seen: (seen.append(""), decompose(matrix))[1])
                table.prepare([run], executor=ThisProcess(), show=False)  # type: ignore[misc]
                prepared = len(seen)
                _build(table, run, data)
            assert len(seen) == prepared, run.row
            assert (prepared > 0) == bool(read_by(run).operators), run.row
            assert prepared == 0 or (folder / "spectra.sqlite").exists()


def _build(table: Table, run: Run, data: TUData) -> None:
    options = run.options()
    fresh = TUData(data.dataset)  # nothing is remembered of it
    if table is tu.TU:
        tu.METHODS[tu.row_of(run).method](fresh, options, torch.arange(10), 0)
        return
    x = torch.cat([data.batches.x, structural_inputs(data)], dim=1)
    fold = fair_data.FairFold(fresh, x, fair_data.DataSplit(*torch.arange(GRAPHS).split([10, 5, 5])))
    tu_fair.METHODS[run.row](fold, {**options, "dropout": 0.0}, 0)


def test_columns_of_temperature_that_are_no_graphs_are_left_alone(data: TUData, cache: Callable[[str], Path]) -> None:
    folder = cache("one")
    temperature.prepare(TABLES["temperature"].runs(columns=("clouds",), splits=1), executor=ThisProcess(), show=False)
    assert not folder.exists()
    assert soft_graphs.read_by(TABLES["temperature-graphs"].runs(columns=("PTC",), splits=1)[0]).column == "PTC"


def test_studies_prepare_what_their_first_trials_share_once(data: TUData, tmp_path: Path) -> None:
    prepared: list[list[Run]] = []

    def prepare(runs: list[Run], **how: object) -> None:
        prepared.append(list(runs))

    def execute(run: Run, control: object) -> dict[str, float]:
        assert prepared
        return {"validation_accuracy": 50.0, "validation_loss": 1.0, "seconds": 0.0}

    table = replace(tu.TU, prepare=prepare, execute=execute)
    file = tmp_path / "tu-tuning.jsonl"
    for _ in range(2):
        tune(table, ("A-NLSF",), ("MUTAG",), file, executor=ThisProcess(), trials=3)
    (runs,) = prepared
    assert [run.options()["trial"] for run in runs] == [0, 1, 2]
    assert all(tu.read_by(run).frames is not None for run in runs)
