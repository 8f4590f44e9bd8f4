"""Peptides-func: the real file by its counts, small files of torch-geometric's download, and damaged ones."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from adacanon.data import import_folder, load_peptides
from adacanon.data.peptides import FILE
from adacanon.errors import DataError
from cases.labelled_molecules import small_molecules

SIZES = {"train": 5, "val": 3, "test": 2}


def official_peptides(folder: Path) -> Path:
    """Rings with tails in the layout of the download, with labels that count up."""
    folder.mkdir()
    for seed, (part, count) in enumerate(SIZES.items()):
        graphs = small_molecules(count, seed=seed)
        torch.save([peptide(graph, number) for number, graph in enumerate(graphs)], folder / f"{part}.pt")
    return folder


def peptide(graph: Any, number: int) -> tuple[torch.Tensor, ...]:
    atoms = torch.cat([graph.x, torch.zeros(graph.num_nodes, 7, dtype=torch.int64)], dim=1)
    bonds = torch.cat([graph.edge_attr, torch.zeros(graph.num_edges, 2, dtype=torch.int64)], dim=1)
    return atoms, bonds, graph.edge_index, torch.eye(10)[number].unsqueeze(0)


def test_what_is_imported_can_be_loaded(tmp_path: Path) -> None:
    done = import_folder(official_peptides(tmp_path / "raw"), tmp_path / "data")
    assert done.counts == {"train": 5, "validation": 3, "test": 2}
    assert done.official["train"] == 10_873
    data = load_peptides(folder=tmp_path / "data")
    assert [len(part) for part in data.parts] == [5, 3, 2]
    assert data.labels[data.parts.validation].argmax(1).tolist() == [0, 1, 2]
    for number, graph in zip(data.parts.train.tolist(), small_molecules(5, seed=0), strict=True):
        found = data.graphs(torch.tensor([number]))[0]
        assert torch.equal(found.x[:, :2], graph.x)
        ours, theirs = (
            {(*pair, int(kind[0])) for pair, kind in zip(g.edge_index.T.tolist(), g.edge_attr, strict=True)}
            for g in (found, graph)
        )
        assert ours == theirs


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda p: (p[0][:, :8], *p[1:]), r"val.pt, peptide 1: expected tensors of atoms \(nodes, 9\)"),
        (lambda p: (p[0], p[1][:-1], *p[2:]), r"val.pt, peptide 1: expected tensors"),
        (lambda p: (p[0], p[1][:-1], p[2][:, :-1], p[3]), r"val.pt, peptide 1: expected every edge in both directions"),
        (lambda p: (p[0] + 20, *p[1:]), r"val.pt, line 1: expected categories 0..4 in column 2, got 2\d"),
        (lambda p: (p[0] - 256, *p[1:]), r"expected categories 0..118 in column 1, got -2\d\d"),
        (lambda p: (p[0], p[1], p[2], 2 * p[3]), r"expected labels 0, 1 or nothing"),
    ],
)
def test_a_bad_peptide_is_named(change: Any, match: str, tmp_path: Path) -> None:
    folder = official_peptides(tmp_path / "raw")
    content = torch.load(folder / "val.pt")
    content[1] = change(content[1])
    torch.save(content, folder / "val.pt")
    with pytest.raises(DataError, match=match):
        import_folder(folder, tmp_path / "data")
    assert not (tmp_path / "data" / FILE).exists()


def test_a_file_that_is_missing_or_damaged_is_named(tmp_path: Path) -> None:
    folder = official_peptides(tmp_path / "raw")
    (folder / "test.pt").write_bytes(b"nonsense")
    with pytest.raises(DataError, match=r"test.pt is damaged or no file of tensors"):
        import_folder(folder, tmp_path / "data")
    (folder / "test.pt").unlink()
    with pytest.raises(DataError, match=r"test.pt is missing"):
        import_folder(folder, tmp_path / "data")


@pytest.fixture
def arrays(tmp_path: Path) -> dict[str, np.ndarray]:
    import_folder(official_peptides(tmp_path / "raw"), tmp_path / "whole")
    with np.load(tmp_path / "whole" / FILE) as archive:
        return dict(archive)


@pytest.mark.parametrize(
    ("key", "change", "match"),
    [
        ("labels", lambda a: a[:-1], r"expected labels of shape \(10, 10\)"),
        ("node_counts", lambda a: np.concatenate([a[:1] + a[1], [0], a[2:]]), r"graph 1 has no nodes"),
        ("edges", lambda a: a + 300, r"expected nodes 0..\d+ of graph 0"),
        ("test", lambda a: a * 0, r"is listed 3 times in train, validation, test"),
    ],
)
def test_a_bad_file_is_refused(
    key: str, change: Any, match: str, arrays: dict[str, np.ndarray], tmp_path: Path
) -> None:
    file = tmp_path / "bad" / FILE
    file.parent.mkdir(parents=True)
    np.savez_compressed(file, allow_pickle=False, **{**arrays, key: change(arrays[key])})  # type: ignore[arg-type]
    with pytest.raises(DataError, match=match):
        load_peptides(folder=tmp_path / "bad")


@pytest.mark.data
def test_the_real_file_has_its_published_counts() -> None:
    data = load_peptides()
    assert len(data) == 15_535
    assert [len(part) for part in data.parts] == [10_873, 2_331, 2_331]
    assert len(data.x) / len(data) == pytest.approx(150.9, abs=0.05)
    assert data.labels.shape == (15_535, 10)
