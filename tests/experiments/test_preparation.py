"""What runs share is prepared by their executor, and is what one process would have prepared."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from adacanon.baselines.graphs.axis_projection import axis_projection_encodings
from adacanon.baselines.graphs.s2gnn import lowest
from adacanon.baselines.graphs.spatio_spectral import spectral_encodings
from adacanon.errors import DataError
from adacanon.experiments.graphs import benchmark_graphs, benchmark_methods, ogb
from adacanon.experiments.graphs.benchmark_graphs import BenchmarkGraphs
from adacanon.experiments.graphs.kept_arrays import Portions
from adacanon.experiments.images import cifar, window_features
from adacanon.experiments.images.cifar import CIFAR
from adacanon.graphs import prepared_graphs
from adacanon.graphs.shift_operators import shift_matrix
from adacanon.graphs.spectra import decompose
from adacanon.images.resnet import ResNet18
from adacanon.runs.executors import LocalProcesses, ThisProcess
from adacanon.runs.executors.executor import calls_on
from adacanon.runs.run import Run
from cases.official_ogb import official_ogb


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Use another cache folder."""

    def use(name: str) -> Path:
        monkeypatch.setenv("ADACANON_CACHE", str(tmp_path / name))
        return tmp_path / name

    return use


def contents(folder: Path) -> dict[str, bytes]:
    """All files below a folder."""
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


@pytest.fixture
def images(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A few images in the place of CIFAR-10, and weights at random."""
    draw, arrays = np.random.default_rng(0), {}
    for part, count in (("train", 12), ("test", 5)):
        arrays[f"{part}_images"] = draw.integers(0, 256, (count, 32, 32, 3), dtype=np.uint8)
        arrays[f"{part}_labels"] = np.arange(count) % 10
        arrays[f"{part}_index"] = np.arange(count)
    data = tmp_path / "data"
    for folder in ("images", "weights"):
        (data / folder).mkdir(parents=True)
    np.savez(data / "images" / "cifar10.npz", class_names=np.array([f"class {i}" for i in range(10)]), **arrays)
    torch.manual_seed(0)
    torch.save(ResNet18().state_dict(), data / "weights" / "resnet18-f37072fd.pth")
    monkeypatch.setenv("ADACANON_DATA", str(data))
    monkeypatch.setattr(window_features, "shards_of", lambda samples: [slice(0, 6), slice(6, 12), slice(12, samples)])
    return data


def cifar_run() -> Run:
    options = {**CIFAR.settings_of("Vanilla", "CIFAR-10"), "input_size": 32, "levels": 2}
    return Run.of("cifar", "Vanilla", "CIFAR-10", 0, options)


def test_window_features_of_processes_are_those_of_one(images: Path, cache: Callable[[str], Path]) -> None:
    one = cache("one")
    cifar.prepare([cifar_run()], executor=ThisProcess(), show=False)
    assert len(contents(one)) == 3
    two = cache("two")
    with LocalProcesses(2) as executor:
        cifar.prepare([cifar_run()], executor=executor, show=False)
    assert contents(two) == contents(one)


def test_window_features_that_are_on_the_disk_are_left_alone(images: Path, cache: Callable[[str], Path]) -> None:
    folder, told = cache("one"), list[tuple[int, int]]()
    cifar.prepare([cifar_run()], executor=ThisProcess(), show=False)
    whole = contents(folder)
    next(folder.rglob("000006-*.features")).unlink()
    options = cifar_run().options()
    window_features.extract("CIFAR-10", options, ThisProcess(), on_shard=lambda *done: told.append(done))
    assert told == [(17, 17)]
    assert contents(folder) == whole


def test_a_worker_with_other_images_is_refused(images: Path, cache: Callable[[str], Path]) -> None:
    cache("one")
    with pytest.raises(DataError, match=r"and those of the command cifar10-others\. Hint: share ADACANON_DATA"):
        window_features._shard("cifar10-others", "CIFAR-10", 32, "float32", 2, 0, 6)


@pytest.fixture
def molecules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> BenchmarkGraphs:
    monkeypatch.setenv("ADACANON_DATA", str(official_ogb(tmp_path / "data", "ogbg-molhiv", graphs=40)))
    monkeypatch.setattr("adacanon.graphs.coefficient_cache._FEWEST_GRAPHS", 10)
    monkeypatch.setattr(sys.modules[prepared_graphs.__module__], "_KEPT_PORTION", 16)
    monkeypatch.setattr(benchmark_graphs, "PORTION", 16)
    ogb.ogb_graphs.cache_clear()
    return ogb.ogb_graphs("molhiv")


def settings(row: str) -> dict[str, Any]:
    small = {"encodings": 2, "eigenvectors": 4}
    return {**ogb.OGB_TABLE.settings_of("GIN", "molhiv"), **({k: small[k] for k in (row,)} if row in small else {})}


def test_graphs_of_processes_are_those_of_one(molecules: BenchmarkGraphs, cache: Callable[[str], Path]) -> None:
    """Frames, return probabilities, canonical eigenvectors and eigenpairs, to the last bit; nothing is left over."""
    options, told = [settings(row) for row in ("GIN", "encodings", "eigenvectors")], list[tuple[int, int]]()
    one = cache("one")
    benchmark_methods.prepare(molecules, options, Portions(on_progress=lambda *done: told.append(done)))
    assert told == [(16, 40), (32, 40), (40, 40)] * 3
    two = cache("two")
    with LocalProcesses(2) as executor:
        benchmark_methods.prepare(molecules, options, Portions(calls_on(executor)))
    assert sorted(contents(one)) == sorted(contents(two))
    assert len([name for name in contents(one) if "coefficients" in name]) == 1
    files = sorted(file for file in one.rglob("*") if file.suffix == ".npz" and file.is_file())
    assert len(files) == 2
    for file in files:
        with np.load(file) as ours, np.load(two / file.relative_to(one)) as theirs:
            assert all(np.array_equal(ours[key], theirs[key]) for key in ours.files)
    assert [contents(one)[name] for name in contents(one) if "coefficients" in name] == [
        contents(two)[name] for name in contents(two) if "coefficients" in name
    ]


def test_eigenvectors_in_portions_are_those_of_the_graphs_one_by_one(
    molecules: BenchmarkGraphs, cache: Callable[[str], Path]
) -> None:
    cache("one")
    pairs, axes = molecules.lowest_eigenpairs(4), molecules.canonical_eigenvectors(2)
    for number, graph in enumerate(molecules.data.graphs(torch.arange(40))):
        spectrum = decompose(shift_matrix(graph))
        values, vectors = lowest(spectrum.eigenvalues, spectrum.eigenvectors, 4)
        rows = slice(*molecules.data.first_node[number : number + 2].tolist())
        edge_index = molecules.data.batch(torch.tensor([number])).edge_index
        assert torch.equal(pairs.values[number, : len(values)], values.float())
        assert torch.equal(pairs.vectors[rows, : len(values)], vectors.float())
        assert torch.equal(
            pairs.encodings[rows, : len(values)], spectral_encodings(values, vectors, edge_index).float()
        )
        found = axis_projection_encodings([(spectrum.eigenvalues, spectrum.eigenvectors)], 2)
        assert torch.equal(axes[rows], found.float())


def test_spectra_go_on_where_they_were_stopped(
    molecules: BenchmarkGraphs, cache: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, told = cache("one"), list[tuple[int, int]]()

    def stop(done: int, total: int) -> None:
        if done > 20:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        molecules.lowest_eigenpairs(4, on_progress=stop)
    assert len(list((folder / "arrays").glob("*eigenpairs-4-*"))) == 2
    molecules.lowest_eigenpairs(4, on_progress=lambda *done: told.append(done))
    assert told == [(40, 40)]
    assert len(list((folder / "arrays").glob("*eigenpairs*"))) == 1
