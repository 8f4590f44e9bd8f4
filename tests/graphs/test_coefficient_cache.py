"""Coefficients of whole data sets on disk: the same as computed, found again, and never a reason to fail."""

import errno
import os
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data

from adacanon.data.tu import load_tu
from adacanon.errors import InputError, ShapeError
from adacanon.graphs import BandCoefficients, Partition, band_coefficients, coefficient_cache, coefficients, dyadic
from adacanon.graphs.shift_operators import normalized_laplacian
from cases.full_disk import files_limited_to

PARTITION = Partition((-8.0, -1.0, 0.0, 0.5, 1.0, 8.0))
GRAPHS = 8


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Where the coefficients of eight graphs and more are kept."""
    monkeypatch.setenv("ADACANON_CACHE", str(tmp_path))
    monkeypatch.setattr(coefficient_cache, "_FEWEST_GRAPHS", GRAPHS)
    return tmp_path / "coefficients"


def cycle(nodes: int, x: Tensor) -> Data:
    here, there = torch.arange(nodes), torch.arange(1, nodes + 1) % nodes
    edge_index = torch.stack([torch.cat([here, there]), torch.cat([there, here])])
    return Data(x=x, edge_index=edge_index, num_nodes=nodes)


def data_set(**changed: Any) -> list[Data]:
    """Cycles of 3, 4, ... nodes with random features; the fifth has the attributes that are given."""
    generator = torch.Generator().manual_seed(0)
    graphs = [cycle(nodes, torch.randn(nodes, 2, generator=generator)) for nodes in range(3, 3 + GRAPHS)]
    for name, value in changed.items():
        setattr(graphs[4], name, value)
    return graphs


def weighted(last: float) -> list[Data]:
    graphs = data_set()
    for graph in graphs:
        graph.edge_weight = torch.ones(graph.edge_index.shape[1])
        graph.edge_weight[[0, graph.num_nodes]] = last
    return graphs


def edgeless(*nodes: int) -> list[Data]:
    return [Data(x=torch.ones(n, 2), edge_index=torch.zeros(2, 0, dtype=torch.int64), num_nodes=n) for n in nodes]


def files(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.exists() else []


def assert_identical(a: BandCoefficients, b: BandCoefficients) -> None:
    for mine, other in ((a.factors, b.factors), (a.sizes, b.sizes), (a.ranks, b.ranks)):
        assert mine.dtype == other.dtype
        assert torch.equal(mine, other)


def forbid_computing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coefficients, "spectra", lambda *_, **__: pytest.fail("asked for spectra"))
    monkeypatch.setattr(torch.linalg, "eigh", lambda *_: pytest.fail("decomposed"))


class TestFoundAgain:
    @pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
    def test_computed_stored_and_found_coefficients_are_identical(self, folder: Path, dtype: torch.dtype) -> None:
        computed = band_coefficients(data_set(), PARTITION, dtype=dtype, cache=False)
        assert not files(folder)
        for _ in range(2):
            assert_identical(computed, band_coefficients(data_set(), PARTITION, dtype=dtype))
            assert len(files(folder)) == 1

    def test_a_second_call_computes_nothing(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        first = band_coefficients(data_set(), PARTITION)
        forbid_computing(monkeypatch)
        assert_identical(first, band_coefficients(data_set(), PARTITION))

    def test_files_of_this_version_still_hold_what_is_computed_now(self) -> None:
        """If this changes on purpose, old files are wrong: raise the version in coefficient_cache, then edit here."""
        graph = cycle(4, torch.eye(4)[:, :2])
        found = band_coefficients(graph, dyadic(2), dtype=torch.float64, cache=False)
        low, high = [[0.25, 0.25], [0.25, 0.25]], [[0.75, -0.25], [-0.25, 0.75]]
        assert coefficient_cache._VERSION == 1
        assert found.sizes.tolist() == [[1, 3]]
        assert found.ranks.tolist() == [[1, 2]]
        torch.testing.assert_close(found.grams()[0], torch.tensor([low, high], dtype=torch.float64))
        assert bool((found.factors[0].diagonal(dim1=1, dim2=2) >= 0).all())

    @pytest.mark.data
    def test_nci1_is_found_again_without_computing(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setenv("ADACANON_CACHE", str(tmp_path))
        first = band_coefficients(load_tu("NCI1").graphs, dyadic(6))
        forbid_computing(monkeypatch)
        assert_identical(first, band_coefficients(load_tu("NCI1").graphs, dyadic(6)))


class TestAnotherEntry:
    @pytest.mark.parametrize(
        ("graphs", "setting"),
        [
            pytest.param(data_set(x=torch.ones(7, 2)), {}, id="features"),
            pytest.param(data_set(edge_index=torch.tensor([[0, 2], [2, 0]])), {}, id="edges"),
            pytest.param(data_set()[::-1], {}, id="order"),
            pytest.param([*data_set(), *data_set()], {}, id="graphs"),
            pytest.param(weighted(0.5), {}, id="weights"),
            pytest.param(data_set(), {"partition": dyadic(3)}, id="partition"),
            pytest.param(data_set(), {"partition": Partition(PARTITION.boundaries, partial=True)}, id="partial"),
            pytest.param(data_set(), {"operator": "adjacency"}, id="operator"),
            pytest.param(data_set(), {"dtype": torch.float64}, id="dtype"),
        ],
    )
    def test_for_whatever_differs(self, graphs: list[Data], setting: dict[str, Any], folder: Path) -> None:
        band_coefficients(data_set(), PARTITION)
        setting = {"partition": PARTITION} | setting
        other = band_coefficients(graphs, **setting)
        assert len(files(folder)) == 2
        assert_identical(other, band_coefficients(graphs, **setting, cache=False))

    def test_for_other_weights(self, folder: Path) -> None:
        a, b = (band_coefficients(weighted(last), PARTITION) for last in (0.5, 2.0))
        assert len(files(folder)) == 2
        assert not torch.equal(a.factors, b.factors)

    def test_for_the_same_nodes_in_other_graphs(self, folder: Path) -> None:
        """Laid end to end the nodes and edges are the same."""
        for last in ((2, 1), (1, 2)):
            assert band_coefficients(data_set() + edgeless(*last), PARTITION).sizes[-2:].sum(1).tolist() == list(last)
        assert len(files(folder)) == 2

    def test_for_the_same_edges_in_other_graphs(self, folder: Path) -> None:
        pair = torch.tensor([[0, 1], [1, 0]])
        for place in (0, 1):
            two = edgeless(2, 2)
            two[place].edge_index = pair
            found = band_coefficients(data_set() + two, dyadic(2))
            assert found.sizes[-2:, 0].tolist() == [1 + place, 2 - place]
        assert len(files(folder)) == 2

    def test_for_another_version(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        band_coefficients(data_set(), PARTITION)
        monkeypatch.setattr(coefficient_cache, "_VERSION", 2)
        band_coefficients(data_set(), PARTITION)
        assert len(files(folder)) == 2


class TestNotKept:
    def test_functions_have_no_name(self, folder: Path) -> None:
        band_coefficients(data_set(), PARTITION, operator=normalized_laplacian)
        assert not files(folder)

    def test_few_graphs_are_a_batch(self, folder: Path) -> None:
        band_coefficients(data_set()[1:], PARTITION)
        assert not files(folder)

    def test_features_of_different_types_are_not_laid_end_to_end(self, folder: Path) -> None:
        band_coefficients(data_set(x=torch.ones(7, 2, dtype=torch.float64)), PARTITION)
        assert not files(folder)

    def test_features_that_require_gradients_are_refused_though_their_values_are_known(self, folder: Path) -> None:
        band_coefficients(data_set(), PARTITION)
        with pytest.raises(InputError, match="graph 4 require gradients"):
            band_coefficients(data_set(x=data_set()[4].x.requires_grad_()), PARTITION)

    @pytest.mark.parametrize(
        ("changed", "message"),
        [
            ({"x": None}, "Graph 4 needs node features"),
            ({"x": torch.tensor(1.0)}, "Graph 4 needs node features"),
            ({"x": torch.ones(7, 3)}, "same number of node features"),
            ({"edge_index": torch.zeros(3, 4).long()}, "shape \\(2, edges\\)"),
            ({"edge_weight": torch.ones(3)}, "one entry for each of the 14 edges"),
            ({"num_nodes": 8}, "Graph 4 needs node features"),
        ],
    )
    def test_errors_are_those_of_the_computation(self, changed: dict[str, Any], message: str, folder: Path) -> None:
        band_coefficients(data_set(), PARTITION)
        with pytest.raises(ShapeError, match=message):
            band_coefficients(data_set(**changed), PARTITION)
        assert len(files(folder)) == 1


class TestFolder:
    @pytest.mark.parametrize("damage", ["torn", "flipped", "empty", "of another key"])
    def test_a_damaged_file_is_set_aside_and_written_anew(self, damage: str, folder: Path) -> None:
        first = band_coefficients(data_set(), PARTITION)
        (file,) = files(folder)
        whole = file.read_bytes()
        if damage == "of another key":
            band_coefficients(data_set(), dyadic(3))
            (other,) = set(files(folder)) - {file}
            other.replace(file)
        else:
            middle = len(whole) // 2
            flipped = whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :]
            file.write_bytes({"torn": whole[:middle], "flipped": flipped, "empty": b""}[damage])
        with pytest.warns(UserWarning, match="cannot be read"):
            assert_identical(first, band_coefficients(data_set(), PARTITION))
        assert files(folder) == [file.with_suffix(".broken"), file]
        assert_identical(first, band_coefficients(data_set(), PARTITION))

    def test_a_full_disk_costs_only_the_cache_and_leaves_no_half_file(self, folder: Path) -> None:
        band_coefficients(data_set()[1:], PARTITION)
        band_coefficients(data_set()[:1], PARTITION)  # now all spectra are there, and nothing else is to be written
        with files_limited_to(1000), pytest.warns(UserWarning, match="File too large.*the work goes on"):
            found = band_coefficients(data_set(), PARTITION)
        assert not files(folder)
        assert_identical(found, band_coefficients(data_set(), PARTITION, cache=False))

    def test_a_folder_that_cannot_be_written_costs_only_the_cache(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        band_coefficients(data_set()[1:], PARTITION)
        band_coefficients(data_set()[:1], PARTITION)  # now all spectra are there, and nothing else is to be written

        def refuse(path: Path, *_: object, **__: object) -> None:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

        monkeypatch.setattr(Path, "mkdir", refuse)
        with pytest.warns(UserWarning, match="Permission denied.*the work goes on"):
            found = band_coefficients(data_set(), PARTITION)
        assert_identical(found, band_coefficients(data_set(), PARTITION, cache=False))

    def test_a_file_in_place_of_the_folder_costs_only_the_cache(self, folder: Path) -> None:
        folder.write_text("in the way")
        with pytest.warns(UserWarning, match="the work goes on"):
            found = band_coefficients(data_set(), PARTITION)
        assert_identical(found, band_coefficients(data_set(), PARTITION, cache=False))

    def test_what_was_not_used_for_the_longest_time_makes_room(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        partitions = [dyadic(bands) for bands in (2, 3, 4)]
        for age, partition in zip((100, 200), partitions, strict=False):
            known = set(files(folder))
            band_coefficients(data_set(), partition)
            (new,) = set(files(folder)) - known
            os.utime(new, (age, age))
        band_coefficients(data_set(), partitions[0])  # used again, hence younger than the second
        monkeypatch.setattr(coefficient_cache, "_LARGEST_FOLDER", int(2.5 * new.stat().st_size))
        band_coefficients(data_set(), partitions[2])
        assert len(files(folder)) == 2
        assert new not in files(folder)

    def test_what_is_larger_than_the_folder_may_be_is_not_kept(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(coefficient_cache, "_LARGEST_FOLDER", 10)
        band_coefficients(data_set(), PARTITION)
        assert not files(folder)
