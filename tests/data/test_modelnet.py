"""ModelNet: the real file by its published counts, small and damaged ones against clear errors."""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from adacanon.data.modelnet import FILE, KEYS, load_modelnet, normalised
from adacanon.errors import DataError, InputError

MARKED = (1, 2, 8, 12, 14, 22, 23, 30, 33, 35)
MODELNET10 = ("bathtub", "bed", "chair", "desk", "dresser", "monitor", "night_stand", "sofa", "table", "toilet")
Arrays = dict[str, Any]


def arrays(points: int = 16) -> Arrays:
    """Two shapes per class for training and one for the test, in half precision and away from the origin."""
    draw = np.random.default_rng(0)
    content: Arrays = {"class_names": np.array([f"class{i}" for i in range(40)])}
    for part, copies in (("train", 2), ("test", 1)):
        labels = np.repeat(np.arange(40), copies).astype(np.uint8)
        content |= {
            f"{part}_points": (draw.normal(size=(len(labels), points, 3)) / 4 + 0.5).astype(np.float16),
            f"{part}_labels": labels,
            f"{part}_ids": np.array([f"{part}_{i:04d}" for i in range(len(labels))]),
            f"{part}_in_modelnet10": np.isin(labels, MARKED),
        }
    return content


def write(folder: Path, content: Arrays) -> Path:
    (folder / FILE).parent.mkdir(exist_ok=True)
    np.savez_compressed(folder / FILE, **content)
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(tmp_path, arrays())


def test_a_small_file_is_read_as_it_is_written(folder: Path) -> None:
    data, content = load_modelnet(points=16, folder=folder), arrays()
    assert data.class_names == tuple(content["class_names"])
    for part, clouds in (("train", data.train), ("test", data.test)):
        assert clouds.points.dtype == torch.float32
        assert clouds.labels.dtype == torch.int64
        assert clouds.ids == tuple(content[f"{part}_ids"])
        assert clouds.labels.tolist() == content[f"{part}_labels"].tolist()
        expected = normalised(torch.from_numpy(content[f"{part}_points"]).double())
        torch.testing.assert_close(clouds.points.double(), expected, atol=1e-6, rtol=0)


def test_modelnet10_is_the_marked_subset_with_labels_of_its_own(folder: Path) -> None:
    whole, subset = load_modelnet(40, 16, folder=folder), load_modelnet(10, 16, folder=folder)
    assert subset.class_names == tuple(whole.class_names[i] for i in MARKED)
    for part, all_of in ((subset.train, whole.train), (subset.test, whole.test)):
        rows = [i for i, label in enumerate(all_of.labels.tolist()) if label in MARKED]
        assert part.ids == tuple(all_of.ids[i] for i in rows)
        assert torch.equal(part.points, all_of.points[rows])
        assert [MARKED[label] for label in part.labels.tolist()] == all_of.labels[rows].tolist()


def test_the_first_points_are_kept_and_normalised_again(folder: Path) -> None:
    content = arrays()
    few = load_modelnet(points=5, folder=folder).test.points
    expected = normalised(torch.from_numpy(content["test_points"][:, :5]).float())
    torch.testing.assert_close(few, expected)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_normalised_clouds_are_centred_in_the_unit_ball(scale: float, generator: torch.Generator) -> None:
    points = torch.randn(4, 50, 3, generator=generator, dtype=torch.float64) * scale + 7
    before, result = points.clone(), normalised(points)
    assert torch.equal(points, before)
    torch.testing.assert_close(result.mean(1), torch.zeros(4, 3, dtype=torch.float64), atol=1e-12, rtol=0)
    torch.testing.assert_close(result.norm(dim=-1).amax(1), torch.ones(4, dtype=torch.float64))
    torch.testing.assert_close(normalised(3 * points - 2), result)


def test_points_that_coincide_go_to_zero(folder: Path) -> None:
    assert (normalised(torch.full((2, 3, 3), 0.25)) == 0).all()
    assert (load_modelnet(points=1, folder=folder).train.points == 0).all()


def changed(key: str, change: Callable[[np.ndarray], Any]) -> Callable[[Arrays], None]:
    def apply(content: Arrays) -> None:
        content[key] = change(content[key])

    return apply


def spoiled(value: float) -> Callable[[np.ndarray], np.ndarray]:
    def change(points: np.ndarray) -> np.ndarray:
        points[3, 2, 1] = value
        return points

    return change


def in_one_place(points: np.ndarray, count: int = 16) -> np.ndarray:
    points[3, :count] = points[3, 0]
    return points


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda content: content.pop("test_ids"), r"expected the arrays class_names.*; missing test_ids$"),
        (changed("train_points", np.transpose), r"expected train_points of shape \(80, any, 3\).*got \(3, 16, 80\)"),
        (changed("train_points", lambda x: x[:5]), r"train_points of shape \(80, any, 3\).*got \(5, 16, 3\)"),
        (changed("train_points", lambda x: x.astype(int)), r"train_points.*kind f, got \(80, 16, 3\) of int64"),
        (changed("train_points", spoiled(np.nan)), r"finite coordinates in train_points, 1 clouds.*train_0003"),
        (changed("test_points", spoiled(-np.inf)), r"finite coordinates in test_points, 1 clouds.*test_0003"),
        (changed("train_points", in_one_place), r"not all the same in train_points, 1 clouds.*train_0003"),
        (changed("test_labels", lambda x: x + 1), r"test_labels must lie in 0..39, got 1..40"),
        (changed("test_labels", lambda x: x.astype(int) - 2), r"test_labels must lie in 0..39, got -2..37"),
        (changed("test_labels", lambda x: x[:0]), r"test_labels of shape \(any\).*got \(0,\)"),
        (changed("test_labels", lambda x: x / 2), r"test_labels.*kind i or u, got \(40,\) of float64"),
        (changed("test_ids", lambda x: x[:7]), r"expected test_ids of shape \(40\).*got \(7,\)"),
        (changed("class_names", lambda x: x[:30]), r"class_names of shape \(40\).*got \(30,\)"),
        (changed("test_ids", lambda x: x.astype(object)), r"damaged or no file of arrays: Object arrays"),
    ],
)
def test_malformed_files_get_an_error_that_names_the_file(
    tmp_path: Path, change: Callable[[Arrays], None], message: str
) -> None:
    content = arrays()
    change(content)
    with pytest.raises(DataError, match=rf"modelnet40.npz.*{message}"):
        load_modelnet(points=16, folder=write(tmp_path, content))


@pytest.mark.parametrize(
    ("marks", "message"),
    [
        (np.zeros(80, bool), r"10 classes in both parts, got 0 classes in train and 5 in test"),
        (np.arange(80) % 2 == 0, r"10 classes in both parts, got 40 classes in train and 5 in test"),
        (np.zeros(78, bool), r"modelnet40.npz: expected train_in_modelnet10 of shape \(80\).*got \(78,\)"),
        (np.zeros(80), r"train_in_modelnet10.*kind b"),
    ],
)
def test_marks_of_modelnet10_are_checked(tmp_path: Path, marks: np.ndarray, message: str) -> None:
    content = arrays() | {"train_in_modelnet10": marks}
    content["test_in_modelnet10"] &= content["test_labels"] < 20
    with pytest.raises(DataError, match=message):
        load_modelnet(10, 16, folder=write(tmp_path, content))


def test_only_points_that_are_read_are_looked_at(tmp_path: Path) -> None:
    content = arrays()
    folder = write(tmp_path, content | {"train_points": in_one_place(content["train_points"], 8)})
    assert load_modelnet(40, 16, folder=folder).train.points.isfinite().all()
    with pytest.raises(DataError, match=r"not all the same in train_points.*train_0003"):
        load_modelnet(40, 8, folder=folder)


def test_a_file_cut_anywhere_is_refused(folder: Path) -> None:
    whole = (folder / FILE).read_bytes()
    for length in range(0, len(whole), len(whole) // 40):
        (folder / FILE).write_bytes(whole[:length])
        with pytest.raises(DataError, match=r"modelnet40.npz is damaged or no file of arrays"):
            load_modelnet(points=16, folder=folder)


def test_a_changed_byte_is_noticed_or_harmless(folder: Path) -> None:
    """Harmless: in dates and other fields of the archive that nothing depends on."""
    whole, right = (folder / FILE).read_bytes(), load_modelnet(points=16, folder=folder)
    refused = 0
    for place in range(0, len(whole), 61):
        (folder / FILE).write_bytes(whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :])
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                data = load_modelnet(points=16, folder=folder)
        except DataError:
            refused += 1
        else:
            assert torch.equal(data.train.points, right.train.points)
            assert data.test.ids == right.test.ids
    assert refused > 100


def test_other_files_are_refused(folder: Path) -> None:
    with (folder / FILE).open("wb") as file:
        np.save(file, np.zeros(3))
    with pytest.raises(DataError, match=r"expected named arrays, got a single one"):
        load_modelnet(folder=folder)


def test_a_missing_file_names_the_place_and_the_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADACANON_DATA", str(tmp_path))
    with pytest.raises(DataError, match=rf"{tmp_path}/pointclouds/modelnet40.npz is missing. Hint: set ADACANON_DATA"):
        load_modelnet()
    monkeypatch.delenv("ADACANON_DATA")
    with pytest.raises(DataError, match=r"pointclouds/modelnet40.npz, .*Hint: set ADACANON_DATA"):
        load_modelnet()


def test_arguments_are_checked(folder: Path) -> None:
    with pytest.raises(InputError, match=r"modelnet40.npz holds 16 points of every cloud, got points=17"):
        load_modelnet(points=17, folder=folder)
    with pytest.raises(InputError, match="at least one point, got points=0"):
        load_modelnet(points=0, folder=folder)
    with pytest.raises(InputError, match="40 classes or 10 of them, got classes=20"):
        load_modelnet(20, folder=folder)  # type: ignore[arg-type]


def test_every_key_of_the_format_is_written_by_these_tests() -> None:
    assert set(arrays()) == set(KEYS)


@pytest.mark.data
@pytest.mark.parametrize(("classes", "train", "test"), [(40, 9843, 2468), (10, 3991, 908)])
def test_the_real_file_has_the_published_counts(classes: Any, train: int, test: int) -> None:
    data = load_modelnet(classes, 128)
    assert data.train.points.shape == (train, 128, 3)
    assert data.test.points.shape == (test, 128, 3)
    assert len(data.class_names) == classes
    assert classes == 40 or data.class_names == MODELNET10
    for part in (data.train, data.test):
        assert part.labels.unique().tolist() == list(range(classes))
        assert all(name.startswith(data.class_names[y]) for name, y in zip(part.ids, part.labels.tolist(), strict=True))
        torch.testing.assert_close(part.points.norm(dim=-1).amax(1), torch.ones(len(part.ids)))
        assert part.points.mean(1).abs().max() < 1e-6
    assert not set(data.train.ids) & set(data.test.ids)
