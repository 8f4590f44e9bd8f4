"""OGB: the real files by their counts, small files in the official layout, and damaged ones against clear errors."""

import gzip
from pathlib import Path

import numpy as np
import pytest
import torch

from adacanon.data import load_ogb
from adacanon.data.number_files import read_numbers
from adacanon.data.ogb import OGB, RELEASE
from adacanon.errors import DataError, InputError, ShapeError, UnknownNameError
from cases.official_ogb import official_ogb, write_rows


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADACANON_CACHE", str(tmp_path / "cache"))


def raw(root: Path, name: str, file: str) -> Path:
    return root / "OGB" / OGB[name].folder / "raw" / f"{file}.csv.gz"


class TestOfficialLayout:
    @pytest.mark.parametrize("name", OGB)
    def test_graphs_are_those_of_the_files(self, name: str, tmp_path: Path) -> None:
        root = official_ogb(tmp_path, name)
        data = load_ogb(name, folder=root)
        nodes = read_numbers(raw(root, name, "num-node-list"), np.int64)[:, 0]
        edges = read_numbers(raw(root, name, "edge"), np.int64)
        counts = read_numbers(raw(root, name, "num-edge-list"), np.int64)[:, 0]
        first = np.cumsum(counts) - counts
        for number in range(len(data)):
            graph = data.graphs(torch.tensor([number]))[0]
            once = edges[first[number] : first[number] + counts[number]]
            both = {tuple(pair) for pair in (*once.tolist(), *once[:, ::-1].tolist())}
            assert set(map(tuple, graph.edge_index.T.tolist())) == both
            assert graph.num_nodes == nodes[number]
            assert graph.edge_index.shape[1] == graph.edge_attr.shape[0] == 2 * len(once)
        assert sum(map(len, data.parts)) == len(data) == 30

    def test_reverse_edges_have_the_features_of_their_edges(self, tmp_path: Path) -> None:
        data = load_ogb("ogbg-ppa", folder=official_ogb(tmp_path, "ogbg-ppa"))
        _, edge_index, edge_attr, _ = data.batch(torch.arange(4))
        features = {tuple(pair): row for pair, row in zip(edge_index.T.tolist(), edge_attr.tolist(), strict=True)}
        assert all(features[b, a] == row for (a, b), row in features.items())

    def test_labels_of_several_tasks_may_be_missing(self, tmp_path: Path) -> None:
        data = load_ogb("ogbg-molpcba", folder=official_ogb(tmp_path, "ogbg-molpcba"))
        assert data.labels.shape == (30, 128)
        assert 0.3 < float(data.labels.isnan().float().mean()) < 0.5
        assert data.labels[:, 0].unique().tolist() == [0, 1]

    def test_graphs_without_node_features_get_one_category(self, tmp_path: Path) -> None:
        data = load_ogb("ogbg-ppa", folder=official_ogb(tmp_path, "ogbg-ppa"))
        assert data.node_categories == (1,)
        assert not data.x.any()
        assert data.edge_attr.shape[1] == 7
        assert data.edge_attr.dtype == torch.float32
        assert data.labels.dtype == torch.int64
        assert data.outputs == 37

    def test_a_batch_is_its_graphs_one_after_the_other(self, tmp_path: Path) -> None:
        from torch_geometric.data import Batch

        data = load_ogb("ogbg-molhiv", folder=official_ogb(tmp_path, "ogbg-molhiv"))
        index = torch.tensor([4, 0, 4])
        batch, joined = data.batch(index), Batch.from_data_list(data.graphs(index))
        assert torch.equal(batch.x.long(), joined.x)
        assert torch.equal(batch.graph, joined.batch)
        ours, theirs = (sorted(map(tuple, edges.T.tolist())) for edges in (batch.edge_index, joined.edge_index))
        assert ours == theirs
        assert torch.equal(data.x[data.nodes(index)], batch.x)

    def test_it_is_parsed_once(self, tmp_path: Path) -> None:
        root, calls = official_ogb(tmp_path, "ogbg-molhiv"), []
        first = load_ogb("ogbg-molhiv", folder=root, on_progress=lambda done, total: calls.append((done, total)))
        assert calls[-1][0] == calls[-1][1]
        assert len(calls) >= 9
        again = load_ogb("ogbg-molhiv", folder=root, on_progress=lambda done, total: pytest.fail("parsed again"))
        assert torch.equal(first.x, again.x)
        assert torch.equal(first.parts.test, again.parts.test)

    def test_other_files_are_not_taken_for_cached_ones(self, tmp_path: Path) -> None:
        root = official_ogb(tmp_path, "ogbg-molhiv")
        before = load_ogb("ogbg-molhiv", folder=root).labels
        write_rows(raw(root, "ogbg-molhiv", "graph-label"), 1 - before.numpy())
        assert torch.equal(load_ogb("ogbg-molhiv", folder=root).labels, 1 - before)

    def test_a_damaged_cache_is_set_aside(self, tmp_path: Path) -> None:
        root = official_ogb(tmp_path, "ogbg-molhiv")
        before = load_ogb("ogbg-molhiv", folder=root)
        (file,) = (tmp_path / "cache" / "arrays").iterdir()
        file.write_bytes(file.read_bytes()[:200])
        with pytest.warns(UserWarning, match="cannot be used .has no checksum"):
            after = load_ogb("ogbg-molhiv", folder=root)
        assert torch.equal(before.x, after.x)


def rows_of(root: Path, file: str, name: str = "ogbg-molhiv") -> np.ndarray:
    return read_numbers(raw(root, name, file), np.float64, missing=True)


class TestBadFiles:
    @pytest.fixture
    def root(self, tmp_path: Path) -> Path:
        return official_ogb(tmp_path, "ogbg-molhiv")

    def refused(self, root: Path, match: str, name: str = "ogbg-molhiv") -> None:
        with pytest.raises(DataError, match=match):
            load_ogb(name, folder=root)

    def change(self, root: Path, file: str, rows: np.ndarray, name: str = "ogbg-molhiv") -> None:
        write_rows(raw(root, name, file), rows)

    def test_no_data_at_all(self, tmp_path: Path) -> None:
        self.refused(tmp_path, r"OGB/ogbg_molhiv is missing. Hint: fetch hiv.zip")

    def test_an_unknown_name(self) -> None:
        with pytest.raises(UnknownNameError, match="ogbg-molhiv, ogbg-molpcba, ogbg-ppa"):
            load_ogb("molhiv")

    def test_no_release_note(self, root: Path) -> None:
        (root / "OGB/ogbg_molhiv" / RELEASE).unlink()
        self.refused(root, r"RELEASE_v1.txt is missing \(1 of 10 files are\)")

    def test_a_missing_file(self, root: Path) -> None:
        raw(root, "ogbg-molhiv", "edge-feat").unlink()
        self.refused(root, r"edge-feat.csv.gz is missing")

    def test_a_file_cut_off(self, root: Path) -> None:
        file = raw(root, "ogbg-molhiv", "edge")
        file.write_bytes(file.read_bytes()[:-20])
        self.refused(root, r"edge.csv.gz is damaged")

    def test_a_file_that_is_not_compressed(self, root: Path) -> None:
        raw(root, "ogbg-molhiv", "edge").write_text("0,1\n")
        self.refused(root, r"edge.csv.gz is damaged: expected text compressed by gzip")

    def test_an_empty_file(self, root: Path) -> None:
        raw(root, "ogbg-molhiv", "edge").write_bytes(gzip.compress(b""))
        self.refused(root, r"edge.csv.gz is empty")

    @pytest.mark.parametrize("text", [b"0,1\n1,x\n", b"0,1\n1,2,3\n", b"0,1\n1\n", b"0,1\n\n1,2\n", b"0,1\n1,\n"])
    def test_lines_that_are_not_numbers(self, text: bytes, root: Path) -> None:
        raw(root, "ogbg-molhiv", "edge").write_bytes(gzip.compress(text))
        self.refused(root, r"edge.csv.gz, line 2: expected 2 numbers separated by commas")

    def test_numbers_that_are_not_whole(self, root: Path) -> None:
        rows = rows_of(root, "node-feat")
        rows[6, 2] = 1.5
        self.change(root, "node-feat", rows)
        self.refused(root, r"node-feat.csv.gz, line 7: expected whole numbers")

    def test_a_category_outside_its_range(self, root: Path) -> None:
        rows = rows_of(root, "node-feat")
        rows[3, 1] = 5
        self.change(root, "node-feat", rows)
        self.refused(root, r"node-feat.csv.gz, line 4: expected categories 0..4 in column 2, got 5")

    def test_columns_that_are_missing(self, root: Path) -> None:
        self.change(root, "edge-feat", rows_of(root, "edge-feat")[:, :2])
        self.refused(root, r"edge-feat.csv.gz, line 1: expected 3 numbers")

    @pytest.mark.parametrize(
        ("file", "what"), [("node-feat", "node features"), ("edge-feat", "edge features"), ("edge", "edges")]
    )
    def test_rows_that_are_missing(self, file: str, what: str, root: Path) -> None:
        self.change(root, file, rows_of(root, file)[:-1])
        self.refused(root, rf"{file}.csv.gz: the counts of all graphs add up to \d+, but there are \d+ {what}")

    def test_a_graph_without_nodes(self, root: Path) -> None:
        rows = rows_of(root, "num-node-list")
        rows[4], rows[5] = 0, rows[5] + rows[4]
        self.change(root, "num-node-list", rows)
        self.refused(root, r"graph 4 has no nodes")

    def test_a_graph_without_nodes_or_features(self, tmp_path: Path) -> None:
        root = official_ogb(tmp_path / "ppa", "ogbg-ppa")
        rows = rows_of(root, "num-node-list", "ogbg-ppa")
        rows[4] = 0
        self.change(root, "num-node-list", rows, "ogbg-ppa")
        self.refused(root, r"num-node-list.csv.gz: graph 4 has no nodes", "ogbg-ppa")

    def test_a_graph_without_edges_is_read(self, root: Path) -> None:
        counts, edges, features = (rows_of(root, file) for file in ("num-edge-list", "edge", "edge-feat"))
        kept = slice(int(counts[0, 0]), None)
        counts[0] = 0
        for file, rows in (("num-edge-list", counts), ("edge", edges[kept]), ("edge-feat", features[kept])):
            self.change(root, file, rows)
        data = load_ogb("ogbg-molhiv", folder=root)
        assert data.batch(torch.tensor([0])).edge_index.shape == (2, 0)
        assert data.batch(torch.tensor([0, 1])).edge_index.shape[1] == 2 * int(counts[1, 0])

    def test_an_edge_that_leaves_its_graph(self, root: Path) -> None:
        rows = rows_of(root, "edge")
        rows[0, 1] = 50
        self.change(root, "edge", rows)
        self.refused(root, r"edge.csv.gz, line 1: expected nodes 0..\d of graph 0, got \[0, 50\]")

    def test_an_edge_from_a_node_to_itself(self, root: Path) -> None:
        rows = rows_of(root, "edge")
        rows[1] = 1
        self.change(root, "edge", rows)
        self.refused(root, r"edge.csv.gz, line 2: an edge of graph 0 joins node 1 with itself")

    def test_an_edge_in_both_directions(self, root: Path) -> None:
        rows = rows_of(root, "edge")
        rows[1] = rows[0, ::-1]
        self.change(root, "edge", rows)
        self.refused(root, r"edge.csv.gz: expected every edge once, the edge \[0, 1\] of graph 0 comes 2 times")

    @pytest.mark.parametrize("value", [2, -1, 0.5])
    def test_labels_outside_their_range(self, value: float, root: Path) -> None:
        rows = rows_of(root, "graph-label")
        rows[2] = value
        self.change(root, "graph-label", rows)
        self.refused(root, r"graph-label.csv.gz, line 3: expected labels 0, 1 or nothing where one is missing, got")

    @pytest.mark.parametrize("value", [37, -1, 0.5])
    def test_classes_outside_their_range(self, value: float, tmp_path: Path) -> None:
        root = official_ogb(tmp_path / "ppa", "ogbg-ppa")
        rows = rows_of(root, "graph-label", "ogbg-ppa")
        rows[2] = value
        self.change(root, "graph-label", rows, "ogbg-ppa")
        self.refused(root, r"graph-label.csv.gz, line 3: expected a class in 0..36, got", "ogbg-ppa")

    def test_a_missing_class(self, tmp_path: Path) -> None:
        root = official_ogb(tmp_path / "ppa", "ogbg-ppa")
        rows = rows_of(root, "graph-label", "ogbg-ppa")
        rows[2] = np.nan
        self.change(root, "graph-label", rows, "ogbg-ppa")
        self.refused(root, r"graph-label.csv.gz, line 3: expected 1 numbers", "ogbg-ppa")

    def test_labels_of_too_few_graphs(self, root: Path) -> None:
        self.change(root, "graph-label", rows_of(root, "graph-label")[:-1])
        self.refused(root, r"graph-label.csv.gz: expected labels of 30 graphs, got 29")

    def test_edge_features_that_are_not_finite(self, tmp_path: Path) -> None:
        root = official_ogb(tmp_path / "ppa", "ogbg-ppa")
        file = raw(root, "ogbg-ppa", "edge-feat")
        first, _, rest = gzip.decompress(file.read_bytes()).partition(b"\n")
        file.write_bytes(gzip.compress(b"inf," + first.partition(b",")[2] + b"\n" + rest))
        self.refused(root, r"edge-feat.csv.gz, line 1: expected finite numbers", "ogbg-ppa")

    def test_a_graph_in_two_parts(self, root: Path) -> None:
        folder = root / "OGB/ogbg_molhiv/split/scaffold"
        (folder / "valid.csv.gz").write_bytes((folder / "test.csv.gz").read_bytes())
        self.refused(root, r"split/scaffold: graph \d+ is listed 2 times in train, valid, test")

    def test_a_part_with_graphs_that_do_not_exist(self, root: Path) -> None:
        write_rows(root / "OGB/ogbg_molhiv/split/scaffold/valid.csv.gz", np.array([[30]]))
        self.refused(root, r"split/scaffold: expected graphs 0..29 in the part valid, got 30..30")

    def test_numbers_of_graphs_are_checked(self, root: Path) -> None:
        data = load_ogb("ogbg-molhiv", folder=root)
        with pytest.raises(InputError, match=r"graphs 0..29, got 0..30"):
            data.batch(torch.tensor([0, 30]))
        with pytest.raises(ShapeError, match="nonzero"):
            data.batch(torch.ones(30, dtype=torch.bool))


def test_large_files_are_read_in_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.random.default_rng(0).integers(0, 200, (500, 3))
    write_rows(tmp_path / "a.csv.gz", rows)
    monkeypatch.setattr("adacanon.data.number_files.BLOCK", 64)
    assert np.array_equal(read_numbers(tmp_path / "a.csv.gz", np.uint8), rows)
    rows[321, 1] = 256
    write_rows(tmp_path / "a.csv.gz", rows)
    with pytest.raises(DataError, match=r"line 322: expected whole numbers in 0..255, got 256"):
        read_numbers(tmp_path / "a.csv.gz", np.uint8)


@pytest.mark.data
def test_molhiv_has_its_published_counts() -> None:
    data = load_ogb("ogbg-molhiv")
    assert len(data) == 41_127
    assert [len(part) for part in data.parts] == [32_901, 4_113, 4_113]
    assert len(data.x) / len(data) == pytest.approx(25.5, abs=0.05)
    assert data.edges.shape[1] / len(data) == pytest.approx(27.5, abs=0.05)
    assert int(data.labels.sum()) == 1_443
    assert not data.labels.isnan().any()
