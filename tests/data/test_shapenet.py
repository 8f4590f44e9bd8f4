"""The part benchmark of ShapeNet: the real file by its counts, small and damaged ones against clear errors."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from adacanon.data.arrays import normalised
from adacanon.data.importing import import_folder
from adacanon.data.shapenet import FILE, KEYS, load_shapenet
from adacanon.errors import DataError, InputError
from cases.official_folders import shapenet

Arrays = dict[str, Any]


@pytest.fixture(scope="module")
def arrays(tmp_path_factory: pytest.TempPathFactory) -> Arrays:
    folder = tmp_path_factory.mktemp("shapenet")
    done = import_folder(shapenet(folder / "official"), folder / "data", points=6)
    with np.load(done.file) as archive:
        return dict(archive)


def write(folder: Path, content: Arrays) -> Path:
    (folder / FILE).parent.mkdir(exist_ok=True)
    np.savez_compressed(folder / FILE, allow_pickle=False, **content)
    return folder


def test_the_first_points_are_kept_with_their_parts(tmp_path: Path, arrays: Arrays) -> None:
    data = load_shapenet(4, folder=write(tmp_path, arrays))
    assert set(arrays) == set(KEYS)
    for split, shapes in (("train", data.train), ("val", data.validation), ("test", data.test)):
        assert shapes.points.dtype == torch.float32
        torch.testing.assert_close(
            shapes.points, normalised(torch.from_numpy(arrays[f"{split}_points"][:, :4]).float())
        )
        assert shapes.labels.tolist() == arrays[f"{split}_part_labels"][:, :4].tolist()
        assert shapes.ids == tuple(arrays[f"{split}_ids"])
        own = data.parts[shapes.categories]
        assert own.gather(1, shapes.labels).all()
    assert data.parts.sum(0).tolist() == [1] * 50


def changed(key: str, change: Callable[[np.ndarray], Any]) -> Callable[[Arrays], None]:
    def apply(content: Arrays) -> None:
        content[key] = change(content[key].copy())

    return apply


def spoiled(x: np.ndarray, place: Any, value: float) -> np.ndarray:
    x[place] = value
    return x


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda content: content.pop("val_ids"), r"expected the arrays category_names.*; missing val_ids$"),
        (
            changed("val_points", lambda x: spoiled(x, (3, 1, 0), np.nan)),
            r"finite coordinates in val_points.*02000021/val",
        ),
        (changed("test_points", np.transpose), r"expected test_points of shape \(16, any, 3\).*got \(3, 6, 16\)"),
        (changed("test_category", lambda x: x + 1), r"test_category must lie in 0..15, got 1..16"),
        (
            changed("test_part_labels", lambda x: spoiled(x, (2, 1), 50)),
            r"test_part_labels must lie in 0..49, got 0..50",
        ),
        (
            changed("test_part_labels", lambda x: spoiled(x, (2, 1), 0)),
            r"parts of the shape's category.*1 shapes.*000014",
        ),
        (changed("test_part_labels", lambda x: x[:, :3]), r"expected test_part_labels of 5 points, got 3"),
        (changed("test_part_labels", lambda x: x[:3]), r"expected test_part_labels of shape \(16, any\).*got \(3, 6\)"),
        (changed("category_parts", lambda x: spoiled(x, (0, 0), 60)), r"category_parts must lie in 0..49 or be 255"),
        (changed("category_parts", lambda x: spoiled(x, (0, 0), 1)), r"every one of 50 parts to one category"),
        (changed("category_names", lambda x: x[:9]), r"category_names of shape \(16\).*got \(9,\)"),
    ],
)
def test_malformed_files_get_an_error_that_names_the_file(
    tmp_path: Path, arrays: Arrays, change: Callable[[Arrays], None], message: str
) -> None:
    content = dict(arrays)
    change(content)
    with pytest.raises(DataError, match=rf"shapenetpart.npz.*{message}"):
        load_shapenet(5, folder=write(tmp_path, content))


def test_a_file_cut_anywhere_is_refused(tmp_path: Path, arrays: Arrays) -> None:
    write(tmp_path, arrays)
    whole = (tmp_path / FILE).read_bytes()
    for length in range(0, len(whole), len(whole) // 20):
        (tmp_path / FILE).write_bytes(whole[:length])
        with pytest.raises(DataError, match=r"shapenetpart.npz is damaged or no file of arrays"):
            load_shapenet(6, folder=tmp_path)


def test_arguments_and_missing_files(tmp_path: Path, arrays: Arrays) -> None:
    with pytest.raises(DataError, match=r"shapenetpart.npz is missing. Hint: set ADACANON_DATA.*adacanon data import"):
        load_shapenet(folder=tmp_path)
    with pytest.raises(InputError, match=r"holds 6 points of every cloud, got points=7"):
        load_shapenet(7, folder=write(tmp_path, arrays))
    with pytest.raises(InputError, match=r"at least one point, got points=0"):
        load_shapenet(0, folder=tmp_path)


@pytest.mark.data
def test_the_real_file_has_its_counts() -> None:
    data = load_shapenet(64)
    assert [len(part.ids) for part in (data.train, data.validation, data.test)] == [1989, 258, 855]
    for part in (data.train, data.validation, data.test):
        assert part.categories.unique().tolist() == list(range(16))
        torch.testing.assert_close(part.points.norm(dim=-1).amax(1), torch.ones(len(part.ids)))
    assert data.train.labels.unique().tolist() == list(range(50))
    assert not set(data.train.ids) & set(data.test.ids)
