"""Data sets of images: real files by their counts, official archives in small, damaged ones against clear errors."""

import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from adacanon.data.images import LAYOUTS, file_of, load_images
from adacanon.data.official_images import import_images
from adacanon.errors import DataError, UnknownNameError
from cases.official_images import Arrays, arrays, cifar10, cifar100, idx_files


def write(folder: Path, name: str, content: Arrays) -> Path:
    (folder / file_of(name)).parent.mkdir(exist_ok=True)
    np.savez_compressed(folder / file_of(name), **content)
    return folder


class TestReading:
    @pytest.mark.parametrize("name", LAYOUTS)
    def test_a_small_file_is_read_as_it_is_written(self, tmp_path: Path, name: str) -> None:
        content = arrays(name)
        data = load_images(name, folder=write(tmp_path, name, content))
        assert data.subset
        assert data.name == name
        assert data.class_names == tuple(content.get("class_names", [str(i) for i in range(10)]))
        for part, images in (("train", data.train), ("test", data.test)):
            stored = content[f"{part}_images"].reshape(len(images.labels), *LAYOUTS[name].shape[:2], -1)
            assert torch.equal(images.pixels, torch.from_numpy(stored).movedim(3, 1))
            assert images.labels.tolist() == content[f"{part}_labels"].tolist()
            assert images.labels.dtype == images.index.dtype == torch.int64
            assert images.index.tolist() == content[f"{part}_index"].tolist()

    def test_scaled_images_lie_in_the_unit_interval(self, tmp_path: Path) -> None:
        images = load_images("mnist", folder=write(tmp_path, "mnist", arrays("mnist"))).train
        some = images.scaled(torch.tensor([3, 1]))
        assert some.shape == (2, 1, 28, 28)
        assert some.dtype == torch.float32
        assert torch.equal((some * 255).round().byte(), images.pixels[[3, 1]])
        assert images.scaled().max() == 1
        assert images.scaled().min() == 0

    def test_without_an_index_the_order_is_the_official_one(self, tmp_path: Path) -> None:
        content = {key: value for key, value in arrays("mnist").items() if "index" not in key}
        assert load_images("mnist", folder=write(tmp_path, "mnist", content)).test.index.tolist() == list(range(12))

    @pytest.mark.parametrize(
        ("key", "change", "message"),
        [
            ("test_labels", None, r"expected the arrays train_images.*; missing test_labels$"),
            ("class_names", None, r"missing class_names$"),
            ("train_images", lambda x: x[:5], r"train_images of shape \(20, 32, 32, 3\).*got \(5, 32, 32, 3\)"),
            ("train_images", lambda x: x.transpose(0, 3, 1, 2), r"\(20, 32, 32, 3\).*got \(20, 3, 32, 32\)"),
            ("train_images", lambda x: x / 255, r"kind u, got .* of float64"),
            ("train_images", lambda x: x.astype(np.uint16), r"in bytes \(uint8\), got uint16"),
            ("test_labels", lambda x: x + 1, r"test_labels must lie in 0..9, got 1..10"),
            ("test_index", lambda x: x[:3], r"test_index of shape \(12\).*got \(3,\)"),
            ("class_names", lambda x: x[:9], r"class_names of shape \(10\).*got \(9,\)"),
        ],
    )
    def test_malformed_files_get_an_error_that_names_the_file(
        self, tmp_path: Path, key: str, change: Callable[[np.ndarray], Any] | None, message: str
    ) -> None:
        content = arrays("cifar10")
        if change is None:
            del content[key]
        else:
            content[key] = change(content[key])
        with pytest.raises(DataError, match=rf"cifar10.npz.*{message}"):
            load_images("cifar10", folder=write(tmp_path, "cifar10", content))

    def test_a_file_cut_anywhere_is_refused(self, tmp_path: Path) -> None:
        file = write(tmp_path, "mnist", arrays("mnist")) / file_of("mnist")
        whole = file.read_bytes()
        for length in range(0, len(whole), len(whole) // 20):
            file.write_bytes(whole[:length])
            with pytest.raises(DataError, match=r"mnist.npz is damaged or no file of arrays"):
                load_images("mnist", folder=tmp_path)

    def test_missing_files_and_unknown_names(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        with pytest.raises(UnknownNameError, match="cifar10, cifar100, mnist, got 'imagenet'"):
            load_images("imagenet")
        with pytest.raises(DataError, match=rf"{tmp_path}/images/mnist.npz is missing.*adacanon data import"):
            load_images("mnist", folder=tmp_path)
        monkeypatch.setenv("ADACANON_DATA", str(tmp_path / "data"))
        monkeypatch.setenv("ADACANON_CACHE", str(tmp_path / "cache"))
        with pytest.raises(DataError, match=r"data/images/mnist.npz and .*cache/images/mnist.npz are missing"):
            load_images("mnist")


class TestImport:
    def test_cifar10(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("ADACANON_DATA", raising=False)
        monkeypatch.setenv("ADACANON_CACHE", str(tmp_path / "cache"))
        file = import_images("cifar10", cifar10(tmp_path / "cifar-10-python.tar.gz"))
        assert file == tmp_path / "cache" / "images" / "cifar10.npz"
        data, content = load_images("cifar10"), arrays("cifar10")
        assert data.class_names == tuple(content["class_names"])
        for part, images in (("train", data.train), ("test", data.test)):
            assert torch.equal(images.pixels, torch.from_numpy(content[f"{part}_images"]).permute(0, 3, 1, 2))
            assert images.labels.tolist() == content[f"{part}_labels"].tolist()
            assert images.index.tolist() == list(range(len(images.labels)))

    def test_cifar100_as_pickled_today(self, tmp_path: Path) -> None:
        content, source = arrays("cifar100"), cifar100(tmp_path / "cifar-100-python.tar.gz")
        import_images("cifar100", source, folder=tmp_path)
        data = load_images("cifar100", folder=tmp_path)
        assert data.class_names == tuple(content["class_names"])
        assert torch.equal(data.test.pixels, torch.from_numpy(content["test_images"]).permute(0, 3, 1, 2))

    @pytest.mark.parametrize("packed", [False, True])
    def test_mnist(self, tmp_path: Path, packed: bool) -> None:
        content = idx_files(tmp_path, packed=packed)
        import_images("mnist", tmp_path, folder=tmp_path / "out")
        data = load_images("mnist", folder=tmp_path / "out")
        assert torch.equal(data.train.pixels[:, 0], torch.from_numpy(content["train_images"]))
        assert data.test.labels.tolist() == content["test_labels"].tolist()

    def test_code_in_an_archive_is_not_executed(self, tmp_path: Path) -> None:
        class Trap:
            def __reduce__(self) -> tuple[Any, tuple[str]]:
                return os.mkdir, (str(tmp_path / "sprung"),)

        source = cifar10(tmp_path / "trap.tar.gz", test_batch=pickle.dumps({b"data": Trap()}, protocol=2))
        with pytest.raises(DataError, match=r"trap.tar.gz.*it asks for posix.mkdir, which is no array"):
            import_images("cifar10", source, folder=tmp_path)
        assert not (tmp_path / "sprung").exists()
        assert not (tmp_path / file_of("cifar10")).exists()

    @pytest.mark.parametrize(
        ("changed", "message"),
        [
            ({"test_batch": b"nonsense"}, "damaged or not the official file"),
            ({"test_batch": pickle.dumps({b"labels": [1]}, protocol=2)}, "damaged.*data"),
            ({"test_batch": pickle.dumps({b"data": np.zeros((2, 5)), b"labels": [1, 2]})}, "damaged.*reshape"),
            ({"test_batch": pickle.dumps({b"data": np.zeros((2, 3072)), b"labels": [1]})}, "one per label.*1 labels"),
            ({"batches_meta": pickle.dumps([1])}, "damaged or not the official file"),
        ],
    )
    def test_damaged_archives_are_refused(self, tmp_path: Path, changed: dict[str, bytes], message: str) -> None:
        with pytest.raises(DataError, match=rf"c.tar.gz.*{message}"):
            import_images("cifar10", cifar10(tmp_path / "c.tar.gz", **changed), folder=tmp_path)

    def test_an_archive_cut_anywhere_is_refused(self, tmp_path: Path) -> None:
        source = cifar10(tmp_path / "c.tar.gz")
        whole = source.read_bytes()
        for length in range(0, len(whole), len(whole) // 20):
            source.write_bytes(whole[:length])
            with pytest.raises(DataError, match=r"c.tar.gz"):
                import_images("cifar10", source, folder=tmp_path)

    def test_a_changed_byte_is_noticed(self, tmp_path: Path) -> None:
        source = cifar10(tmp_path / "c.tar.gz")
        whole = source.read_bytes()
        for place in range(len(whole) // 40, len(whole), len(whole) // 20):
            source.write_bytes(whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :])
            with pytest.raises(DataError, match=r"c.tar.gz"):
                import_images("cifar10", source, folder=tmp_path)

    def test_files_of_another_data_set_are_refused(self, tmp_path: Path) -> None:
        with pytest.raises(DataError, match=r"missing train, test, meta. Hint: the version for python"):
            import_images("cifar100", cifar10(tmp_path / "c.tar.gz"), folder=tmp_path)
        with pytest.raises(DataError, match=r"train-images-idx3-ubyte is missing, with or without .gz"):
            import_images("mnist", tmp_path)
        with pytest.raises(DataError, match=r"nowhere.tar.gz is missing"):
            import_images("cifar10", tmp_path / "nowhere.tar.gz")
        with pytest.raises(UnknownNameError, match="svhn"):
            import_images("svhn", tmp_path)

    def test_damaged_files_of_mnist_are_refused(self, tmp_path: Path) -> None:
        idx_files(tmp_path, packed=False)
        file = tmp_path / "t10k-labels-idx1-ubyte"
        whole = file.read_bytes()
        for content in (whole[:-1], whole + b"1", whole[:3], b"", b"\x00\x00\x0d\x01" + whole[4:]):
            file.write_bytes(content)
            with pytest.raises(DataError, match="t10k-labels-idx1-ubyte is damaged or not the official file"):
                import_images("mnist", tmp_path, folder=tmp_path)


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "train", "test", "shape"),
    [("cifar10", 8000, 2000, (3, 32, 32)), ("cifar100", 8000, 2000, (3, 32, 32)), ("mnist", 12000, 10000, (1, 28, 28))],
)
def test_the_real_files_have_the_stated_counts(name: str, train: int, test: int, shape: tuple[int, ...]) -> None:
    data = load_images(name)
    assert data.subset
    for part, count in ((data.train, train), (data.test, test)):
        assert part.pixels.shape == (count, *shape)
        assert part.labels.unique().tolist() == list(range(len(data.class_names)))
        assert len(part.index.unique()) == count
        if name != "mnist":
            assert (part.labels.bincount() == count // len(data.class_names)).all()
    assert ("frog" in data.class_names) == (name == "cifar10")
