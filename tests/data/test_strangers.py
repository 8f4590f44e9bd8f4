"""Files of strangers: refused with a named error or read right, with memory for what is used."""

import gzip
import io
import struct
import tarfile
import tracemalloc
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn
from torch_geometric.data import Data

from adacanon.data import array_rows, number_files, official_images
from adacanon.data.array_rows import read_rows
from adacanon.data.arrays import opened
from adacanon.data.labelled import load_labelled
from adacanon.data.number_files import read_numbers
from adacanon.data.official_images import read_images
from adacanon.data.tu import read_tu
from adacanon.errors import DataError
from adacanon.images import weights
from adacanon.images.weights import load_weights

MEGABYTE = 2**20


@contextmanager
def memory_below(megabytes: float) -> Iterator[None]:
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < megabytes * MEGABYTE
    finally:
        tracemalloc.stop()


def zeros_in_archive(file: Path, name: str, shape: tuple[int, ...], dtype: str = "|u1", *, claims: str = "") -> None:
    """An array of zeros in a compressed archive, written without holding it."""
    header = io.BytesIO()
    described = {"descr": dtype, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(header, described)  # type: ignore[arg-type]
    text = header.getvalue().replace(str(shape[0]).encode(), claims.encode()) if claims else header.getvalue()
    left = int(np.prod(shape)) * np.dtype(dtype).itemsize
    with (
        zipfile.ZipFile(file, "a", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open(f"{name}.npy", "w", force_zip64=True) as stream,
    ):
        stream.write(text)
        while left:
            stream.write(bytes(min(left, MEGABYTE)))
            left -= min(left, MEGABYTE)


class TestArchives:
    def test_two_samples_of_a_large_archive_take_the_memory_of_two_samples(self, tmp_path: Path) -> None:
        """1,600 images of 256 x 256 pixels, 100 MB, in a file of less than a megabyte."""
        file = tmp_path / "images.npz"
        np.savez_compressed(file, labels=np.arange(1600) % 3)
        zeros_in_archive(file, "images", (1600, 256, 256))
        assert file.stat().st_size < MEGABYTE
        with memory_below(60):  # blocks of 16 MB, and two images as floats
            found = load_labelled(file, limit=2)
        assert found.inputs.shape == (2, 1, 256, 256)

    def test_rows_are_those_of_the_whole_array(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(array_rows, "BLOCK", 100)
        array = np.random.default_rng(0).normal(size=(50, 3, 2))
        np.savez_compressed(tmp_path / "a.npz", x=array)
        for rows in (np.array([0, 49]), np.arange(50), np.array([7]), np.array([], dtype=np.int64)):
            assert np.array_equal(read_rows(tmp_path / "a.npz", "x", rows), array[rows])

    def test_all_samples_of_one_that_unpacks_to_gigabytes_are_refused(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Of two samples, both are wanted, so that no row is left out."""
        monkeypatch.setattr(array_rows, "LARGEST_WHOLE", 2 * MEGABYTE)
        file = tmp_path / "bomb.npz"
        np.savez_compressed(file, labels=np.array([0, 1]))
        zeros_in_archive(file, "images", (2, 3000, 3000))
        with memory_below(2), pytest.raises(DataError, match=r"images unpacks from .* GB and was not read"):
            load_labelled(file)

    def test_an_array_that_is_read_whole_may_not_be_far_larger_than_its_file(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(array_rows, "LARGEST_WHOLE", MEGABYTE)
        zeros_in_archive(tmp_path / "a.npz", "x", (4 * MEGABYTE,))
        with (
            memory_below(1),
            opened(tmp_path / "a.npz", ("x",)) as arrays,
            pytest.raises(DataError, match=r"unpacks .* to 0\.0 GB and was not read"),
        ):
            arrays.array("x", "u", (None,))

    @pytest.mark.parametrize("count", ["10", "1000000000000"])
    def test_a_header_that_says_more_than_there_is_costs_no_memory(self, count: str, tmp_path: Path) -> None:
        file = tmp_path / "images.npz"
        zeros_in_archive(file, "images", (16, 4, 4))
        zeros_in_archive(file, "labels", (16,), "<i8", claims=count)
        with memory_below(5), pytest.raises(DataError, match="labels of shape"):
            load_labelled(file, limit=2)

    def test_arrays_column_by_column_are_read_right(self, tmp_path: Path) -> None:
        images = np.asfortranarray(np.arange(27, dtype=np.uint8).reshape(3, 3, 3))
        np.savez(tmp_path / "a.npz", images=images, labels=np.arange(3))
        found = load_labelled(tmp_path / "a.npz", limit=2).inputs.mul(255).round()
        assert found[:, 0].tolist() in [images[[i, j]].tolist() for i in range(3) for j in range(i + 1, 3)]

    def test_damage_behind_the_chosen_rows_is_noticed(self, tmp_path: Path) -> None:
        file = tmp_path / "a.npz"
        images = np.random.default_rng(0).integers(0, 255, (40, 8, 8), dtype=np.uint8)
        np.savez(file, images=images, labels=np.arange(40) % 2)
        content = bytearray(file.read_bytes())
        content[content.index(images[39].tobytes())] ^= 1
        file.write_bytes(content)
        with pytest.raises(DataError, match="is damaged"):
            load_labelled(file, limit=1)

    def test_members_of_an_official_archive_are_bounded_and_leave_their_folder_alone(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(official_images, "LARGEST", MEGABYTE)
        archive = tmp_path / "cifar-10-python.tar.gz"
        with tarfile.open(archive, "w:gz") as tar:
            member = tarfile.TarInfo("../../data_batch_1")
            member.size = 32 * MEGABYTE
            tar.addfile(member, io.BytesIO(bytes(member.size)))
        with memory_below(20), pytest.raises(DataError, match="more than 1 MB"):
            read_images("cifar10", archive)
        assert [file.name for file in tmp_path.iterdir()] == [archive.name]

    def test_so_are_compressed_files(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(official_images, "LARGEST", MEGABYTE)
        (tmp_path / "train-images-idx3-ubyte.gz").write_bytes(gzip.compress(bytes(32 * MEGABYTE)))
        with memory_below(20), pytest.raises(DataError, match="more than 1 MB"):
            read_images("mnist", tmp_path)

    def test_a_line_without_an_end_is_refused(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(number_files, "BLOCK", MEGABYTE)
        (tmp_path / "label.csv.gz").write_bytes(gzip.compress(b"0" * (64 * MEGABYTE)))
        with memory_below(20), pytest.raises(DataError, match=r"a line of more than 1048576 characters"):
            read_numbers(tmp_path / "label.csv.gz", np.int64)

    def test_weights_that_unpack_to_far_more_than_their_file_are_refused(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(weights, "LARGEST", MEGABYTE)
        zeros_in_archive(tmp_path / "w.npz", "weight", (8 * MEGABYTE,))
        with memory_below(1), pytest.raises(DataError, match="it unpacks to"):
            load_weights(nn.Linear(3, 2), tmp_path / "w.npz")


class TestPictures:
    @pytest.mark.parametrize(("width", "height"), [(9000, 9000), (12_000, 12_000), (60_000, 60_000)])
    def test_one_that_would_fill_the_memory_is_refused_before_it_is_unpacked(
        self, width: int, height: int, tmp_path: Path
    ) -> None:
        """Pillow warns of the second and refuses the third."""
        (tmp_path / "class").mkdir()
        (tmp_path / "class" / "bomb.png").write_bytes(white_png(width, height))
        with memory_below(20), pytest.raises(DataError, match=r"bomb.png cannot be read as an image .*pixels"):
            load_labelled(tmp_path)


def white_png(width: int, height: int) -> bytes:
    """A header that promises pixels, and a few of them."""
    parts = [(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)), (b"IDAT", zlib.compress(bytes(100)))]
    chunks = [
        struct.pack(">I", len(c)) + name + c + struct.pack(">I", zlib.crc32(name + c))
        for name, c in [*parts, (b"IEND", b"")]
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


class TestByteOrder:
    @pytest.mark.parametrize("kind", ["f4", "u2"])
    def test_big_endian_images_are_those_of_this_machine(self, kind: str, tmp_path: Path) -> None:
        values = np.linspace(0, 1 if kind == "f4" else 65535, 48).astype(f"<{kind}").reshape(3, 4, 4)
        found = []
        for order in "<>":
            file = tmp_path / f"{ord(order)}.npz"
            np.savez(file, images=values.astype(f"{order}{kind}"), labels=np.arange(3).astype(f"{order}i8"))
            found.append(load_labelled(file))
        assert torch.equal(found[0].inputs, found[1].inputs)
        assert found[1].labels.tolist() == [0, 1, 2]

    def test_so_are_big_endian_clouds(self, tmp_path: Path) -> None:
        points = np.random.default_rng(0).normal(size=(3, 5, 3))
        np.savez(tmp_path / "a.npz", points=points.astype(">f8"), labels=np.arange(3))
        found = load_labelled(tmp_path / "a.npz").inputs
        assert torch.equal(found, torch.from_numpy(points.astype(np.float32)))
        with opened(tmp_path / "a.npz", ("points",)) as arrays:
            assert torch.equal(torch.from_numpy(arrays.array("points", "f", (3, 5, 3))), torch.from_numpy(points))

    def test_so_are_big_endian_weights(self, tmp_path: Path) -> None:
        layer, other = nn.Linear(3, 2), nn.Linear(3, 2)
        arrays = {name: value.numpy().astype(">f4") for name, value in layer.state_dict().items()}
        np.savez(tmp_path / "w.npz", **arrays)  # type: ignore[arg-type]
        load_weights(other, tmp_path / "w.npz")
        assert torch.equal(layer.weight, other.weight)


def test_many_labels_of_nodes_get_codes_instead_of_channels(tmp_path: Path) -> None:
    """One-hot channels of these take 144 MB and more; of 20,000 labels, gigabytes."""
    nodes = 3_000
    edges = "".join(f"{i}, {i + 1}\n{i + 1}, {i}\n" for i in range(1, nodes, 2))
    texts = {"A": edges, "graph_indicator": "1\n" * nodes, "graph_labels": "1\n"}
    for name, text in {**texts, "node_labels": "".join(f"{i % 2_999}\n" for i in range(nodes))}.items():
        (tmp_path / f"MANY_{name}.txt").write_text(text)
    with memory_below(50), pytest.warns(UserWarning, match="2999 labels, more than 2048: .* 256 channels"):
        (graph,) = read_tu(tmp_path, "MANY").graphs
    assert isinstance(graph, Data)  # its import, at the top, is not counted
    x = graph.x
    assert x.shape == (nodes, 256)
    assert len(x.unique(dim=0)) == 2_999
    assert torch.equal(x[0], x[2_999])
    torch.testing.assert_close(x.norm(dim=1), torch.ones(nodes))


def test_names_with_dots_are_names_and_no_places(tmp_path: Path) -> None:
    names = np.array(["../../etc", "/absolute", "..\\back"])
    np.savez(tmp_path / "a.npz", images=np.zeros((3, 4, 4), np.uint8), labels=np.arange(3), class_names=names)
    assert load_labelled(tmp_path / "a.npz").class_names == tuple(names.tolist())
    assert [file.name for file in tmp_path.iterdir()] == ["a.npz"]
