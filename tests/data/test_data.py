"""TU data sets: real ones against torch-geometric's reader, malformed ones against clear errors."""

import shutil
from pathlib import Path

import pytest
import torch

from adacanon.data.tu import NAMES, Statistics, is_present, load_tu, read_statistics, read_tu, statistics
from adacanon.errors import DataError, UnknownNameError

COUNTS = {"MUTAG": 188, "PTC_MR": 344, "ENZYMES": 600, "PROTEINS": 1113, "NCI1": 4110}
PAPER_TABLE = {
    "MUTAG": (188, 2, 17.93, 19.79),
    "PTC_MR": (344, 2, 14.29, 14.69),
    "ENZYMES": (600, 6, 32.63, 62.14),  # the paper prints 64.14 edges; the files hold 37282, that is 62.14 per graph
    "PROTEINS": (1113, 2, 39.06, 72.82),
    "NCI1": (4110, 2, 29.87, 32.30),
}
FEATURES = {"MUTAG": (7, 0), "PTC_MR": (18, 0), "ENZYMES": (3, 18), "PROTEINS": (3, 1), "NCI1": (37, 0)}
FILES = {
    "graph_indicator": "1\n1\n1\n2\n2\n",
    "graph_labels": "-1\n1\n",
    "A": "1, 2\n2, 1\n4, 5\n5, 4\n",
    "node_labels": "3\n7\n3\n3\n9\n",
    "node_attributes": "0.5, 1\n1, 2\n2, 3\n3, 4\n4, 5\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, content in FILES.items():
        (tmp_path / f"TINY_{name}.txt").write_text(content)
    return tmp_path


def test_a_small_folder_is_read_as_it_is_written(folder: Path) -> None:
    data = read_tu(folder, "TINY", features="attributes")
    assert data.labels.tolist() == [0, 1]
    assert data.classes == 2
    assert [graph.num_nodes for graph in data.graphs] == [3, 2]
    assert data.graphs[0].edge_index.tolist() == [[0, 1], [1, 0]]
    assert data.graphs[0].x.tolist() == [[1, 0, 0, 0.5, 1], [0, 1, 0, 1, 2], [1, 0, 0, 2, 3]]
    assert read_tu(folder, "TINY").channels == 3


def test_every_column_of_node_labels_is_read(folder: Path) -> None:
    (folder / "TINY_node_labels.txt").write_text("3, 0\n7, 0\n3, 1\n3, 0\n9, 0\n")
    x = torch.cat([graph.x for graph in read_tu(folder, "TINY").graphs])
    assert x[:, :3].argmax(1).tolist() == [0, 1, 0, 0, 2]
    assert x[:, 3:].argmax(1).tolist() == [0, 0, 1, 0, 0]
    assert x.sum(1).tolist() == [2.0] * 5


def test_attributes_that_are_infinite_in_float32_are_refused(folder: Path) -> None:
    (folder / "TINY_node_attributes.txt").write_text("1e39, 1\n1, 2\n2, 3\n3, 4\n4, 5\n")
    with pytest.raises(DataError, match="finite in float32, 1 are not"):
        read_tu(folder, "TINY", features="attributes")


def test_without_node_labels_the_feature_is_constant(folder: Path) -> None:
    (folder / "TINY_node_labels.txt").unlink()
    assert read_tu(folder, "TINY").graphs[1].x.tolist() == [[1], [1]]


def test_statistics_count_what_is_written(folder: Path) -> None:
    assert read_statistics(folder, "TINY") == Statistics(2, 2, nodes=2.5, edges=1.0, channels=3, attributes=2)
    for file in ("node_labels", "node_attributes"):
        (folder / f"TINY_{file}.txt").unlink()
    assert read_statistics(folder, "TINY") == Statistics(2, 2, nodes=2.5, edges=1.0, channels=1, attributes=0)


def test_statistics_of_a_malformed_folder_get_the_same_error(folder: Path) -> None:
    (folder / "TINY_A.txt").write_text("1, 2\n3, 4\n")
    with pytest.raises(DataError, match="line 2: an edge joins two different graphs"):
        read_statistics(folder, "TINY")


def test_statistics_fetch_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import torch_geometric.datasets

    monkeypatch.setenv("ADACANON_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("ADACANON_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(torch_geometric.datasets, "TUDataset", lambda *_: pytest.fail("fetched"))
    assert statistics("MUTAG") is None
    with pytest.raises(UnknownNameError, match="PTC in the paper is PTC_MR"):
        statistics("PTC")


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("A", None, r"TINY_A.txt is missing"),
        ("A", "1, 2\n2, 9\n", r"node ids must lie in 1..5, got 1..9"),
        ("A", "1, 2\n3, 4\n", r"line 2: an edge joins two different graphs"),
        ("A", "1, two\n", r"TINY_A.txt: expected numbers"),
        ("A", "1, 2, 3\n", r"expected two node ids per line, got 3"),
        ("graph_labels", "1\n", r"graphs 1..1 in order.*got 2 graphs"),
        ("graph_indicator", "1\n2\n1\n2\n2\n", r"in order"),
        ("graph_indicator", "1\n1.5\n2\n2\n2\n", r"line 2: expected whole numbers, got 1\.5"),
        ("A", "1, 2\n2, 1.9\n", r"A\.txt, line 2: expected whole numbers, got 1\.9"),
        ("A", "1, 2\n2, 1e300\n", r"A\.txt, line 2: expected whole numbers, got 1e\+300"),
        ("node_labels", "3\n7\n3\n3\n0.4\n", r"node_labels\.txt, line 5: expected whole numbers, got 0\.4"),
        ("node_labels", "1\n2\n", r"each of the 5 nodes, got 2"),
        ("node_attributes", "1\nnan\n1\n1\n1\n", r"must be finite in float32, 1 are not"),
    ],
)
def test_malformed_folders_get_an_error_that_names_the_file(
    folder: Path, file: str, content: str | None, message: str
) -> None:
    path = folder / f"TINY_{file}.txt"
    path.unlink() if content is None else path.write_text(content)
    with pytest.raises(DataError, match=message):
        read_tu(folder, "TINY", features="attributes")


def test_unknown_names_are_refused() -> None:
    with pytest.raises(UnknownNameError, match="PTC in the paper is PTC_MR"):
        load_tu("PTC")


def test_a_data_set_that_is_nowhere_gets_an_error_that_names_the_places(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import torch_geometric.datasets

    def refuse(root: str, name: str) -> None:
        assert root.startswith(str(tmp_path / "cache"))
        raise OSError("no network")

    monkeypatch.setenv("ADACANON_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("ADACANON_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(torch_geometric.datasets, "TUDataset", refuse)
    with pytest.raises(DataError, match=r"data/TUDataset/MUTAG/raw and .*cache/TUDataset/MUTAG/raw.*no network"):
        load_tu("MUTAG")


@pytest.mark.data
@pytest.mark.parametrize("name", NAMES)
def test_real_data_agree_with_torch_geometrics_reader(name: str, data_folder: Path, tmp_path: Path) -> None:
    from torch_geometric.datasets import TUDataset

    assert is_present(name)
    ours = load_tu(name)
    shutil.copytree(data_folder / "TUDataset" / name, tmp_path / name)
    theirs = TUDataset(str(tmp_path), name)
    assert len(ours.graphs) == len(theirs) == COUNTS[name]
    assert ours.classes == theirs.num_classes
    for index in range(0, COUNTS[name], 37):
        mine, other = ours.graphs[index], theirs[index]
        assert mine.num_nodes == other.num_nodes
        assert sorted(mine.edge_index.T.tolist()) == sorted(other.edge_index.T.tolist())
        assert torch.equal(mine.y, other.y)
        assert torch.equal(mine.x, other.x)


@pytest.mark.data
@pytest.mark.parametrize("name", NAMES)
def test_statistics_are_those_of_the_papers_table(name: str) -> None:
    found = statistics(name)
    assert found is not None
    assert (found.graphs, found.classes, round(found.nodes, 2), round(found.edges, 2)) == PAPER_TABLE[name]
    assert (found.channels, found.attributes) == FEATURES[name]
    assert load_tu(name, features="attributes").channels == found.channels + found.attributes
