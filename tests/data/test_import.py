"""``adacanon data import``: official folders become the files of the loaders, and faults are named by their file."""

import sys
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from adacanon.cli import main
from adacanon.data.importing import import_folder
from adacanon.data.modelnet import load_modelnet
from adacanon.data.official_modelnet import MODELNET10
from adacanon.data.shapenet import load_shapenet
from adacanon.errors import DataError, InputError
from cases.official_folders import CLASSES, FOLDERS, POINTS, cloud, hdf5, hdf5_contents, resampled, shapenet

Change = Callable[[Path], object]


def replaced(name: str, old: str, new: str) -> Change:
    def change(folder: Path) -> None:
        content = (folder / name).read_text()
        assert old in content
        (folder / name).write_text(content.replace(old, new, 1))

    return change


def cut(name: str, size: int) -> Change:
    return lambda folder: (folder / name).write_bytes((folder / name).read_bytes()[:size])


def removed(name: str) -> Change:
    return lambda folder: (folder / name).unlink()


def with_value(name: str, row: int, column: int, value: float) -> Change:
    def change(folder: Path) -> None:
        delimiter = "," if "_0001" in name else " "
        table = np.loadtxt(folder / name, delimiter=delimiter)
        table[row, column] = value
        np.savetxt(folder / name, table, delimiter=delimiter, fmt="%.6f")

    return change


def moved(name: str, factor: float, shift: float) -> Change:
    """All points scaled and shifted."""

    def change(folder: Path) -> None:
        table = np.loadtxt(folder / name, delimiter=",")
        table[:, :3] = factor * table[:, :3] + shift
        np.savetxt(folder / name, table, delimiter=",")

    return change


class TestResampled:
    def test_shapes_labels_and_marks_arrive(self, tmp_path: Path) -> None:
        done = import_folder(resampled(tmp_path / "official"), tmp_path / "data", points=5)
        assert done.counts == {"train": 40, "test": 40}
        assert not list((tmp_path / "data" / "pointclouds").glob("*.part"))
        data = load_modelnet(points=5, folder=tmp_path / "data")
        assert data.class_names == tuple(CLASSES)
        assert data.train.labels.tolist() == list(range(40))
        assert data.test.ids == tuple(f"{name}_0002" for name in CLASSES)
        stored = np.load(done.file)["train_points"]
        assert stored.dtype == np.float16
        expected = np.stack([cloud(100 + label)[:5] for label in range(40)])
        np.testing.assert_allclose(stored, expected, atol=1e-3)

    def test_modelnet10_is_what_its_lists_name(self, tmp_path: Path) -> None:
        import_folder(resampled(tmp_path / "official"), tmp_path / "data", points=POINTS)
        subset = load_modelnet(10, POINTS, folder=tmp_path / "data")
        assert subset.class_names == MODELNET10
        assert subset.train.ids == tuple(f"{name}_0001" for name in MODELNET10)

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (with_value("bed/bed_0001.txt", 2, 1, np.nan), r"bed_0001.txt: expected finite .*entry 3 has nan"),
            (with_value("bed/bed_0001.txt", 0, 0, 1e9), r"bed_0001.txt: expected finite coordinates in the unit ball"),
            (cut("sofa/sofa_0002.txt", 130), r"sofa_0002.txt: expected .*6 numbers \(x y z nx ny nz\), got"),
            (cut("sofa/sofa_0002.txt", 0), r"sofa_0002.txt: expected at least 6 rows.*got 0 rows"),
            (replaced("sofa/sofa_0002.txt", ",", " ; "), r"sofa_0002.txt: expected rows of 6 numbers"),
            (removed("table/table_0001.txt"), r"table_0001.txt is missing. Hint"),
            (removed("modelnet10_test.txt"), r"modelnet10_test.txt is missing"),
            (replaced("modelnet40_shape_names.txt", "bed\n", ""), r"shape_names.txt: expected the names of 40.*got 39"),
            (replaced("modelnet40_test.txt", "bed_0002", "bad_0002"), r"40_test.txt: .*known classes, got 'bad'"),
            (replaced("modelnet40_test.txt", "bed_0002", "bed_0001"), r"bed_0001 is listed twice.*train and in .*test"),
            (cut("modelnet40_train.txt", 0), r"the train part lists no shapes"),
            (cut("modelnet10_train.txt", 0), r"modelnet10_train.txt: expected the names of shapes, got none"),
            (
                moved("bed/bed_0001.txt", 1, 1000),
                r"bed_0001.txt: .* unit ball, entry 1 has 1000.*Hint: subtract the mean",
            ),
            (
                moved("bed/bed_0001.txt", 1e-9, 0),
                r"bed_0001.txt: expected points that fill the unit ball, .*within 7.*e-10",
            ),
            (moved("bed/bed_0001.txt", 0, 0.5), r"bed_0001.txt: expected points that fill the unit ball, .*within 0\."),
        ],
    )
    def test_faults_are_named_by_their_file(self, tmp_path: Path, change: Change, message: str) -> None:
        folder = resampled(tmp_path / "official")
        change(folder)
        with pytest.raises(DataError, match=message):
            import_folder(folder, tmp_path / "data", points=POINTS)
        assert not (tmp_path / "data").exists()


@contextmanager
def _file(contents: dict[str, dict[str, Any]], file: Path, mode: str) -> Iterator[dict[str, Any]]:
    assert mode == "r"
    if file.read_bytes() != b"whole":
        raise OSError("Unable to open file (truncated)")
    yield contents[file.stem]


@pytest.fixture
def contents(monkeypatch: pytest.MonkeyPatch) -> dict[str, dict[str, Any]]:
    """A stand-in for h5py, whose files hold what this dictionary says."""
    held = hdf5_contents()
    module = types.ModuleType("h5py")
    module.File = lambda file, mode: _file(held, file, mode)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "h5py", module)
    return held


class TestHDF5:
    @staticmethod
    def folder(tmp_path: Path, contents: dict[str, dict[str, Any]]) -> Path:
        folder = hdf5(tmp_path / "official")
        for name in contents:
            (folder / f"{name}.h5").write_bytes(b"whole")
        return folder

    def test_shapes_labels_and_names_arrive(self, tmp_path: Path, contents: dict[str, dict[str, Any]]) -> None:
        done = import_folder(self.folder(tmp_path, contents), tmp_path / "data", points=4)
        assert done.counts == {"train": 40, "test": 40}
        self.check(tmp_path / "data", contents)

    @staticmethod
    def check(data: Path, contents: dict[str, dict[str, Any]]) -> None:
        whole, subset = load_modelnet(points=4, folder=data), load_modelnet(10, 4, folder=data)
        assert whole.train.labels.tolist() == list(range(40))
        assert whole.train.ids[3] == f"{CLASSES[3]}_0009"
        assert whole.train.ids[20] == "ply_data_train1_0000"
        assert subset.class_names == MODELNET10
        stored = np.load(data / "pointclouds" / "modelnet40.npz")["test_points"]
        np.testing.assert_allclose(stored, contents["ply_data_test0"]["data"][:, :4], atol=1e-3)

    def test_real_files(self, tmp_path: Path) -> None:
        folder = hdf5(tmp_path / "official")
        for name, arrays in hdf5_contents().items():
            with h5py.File(folder / f"{name}.h5", "w") as file:
                for key, array in arrays.items():
                    file.create_dataset(key, data=array, compression="gzip")
        import_folder(folder, tmp_path / "data", points=4)
        self.check(tmp_path / "data", hdf5_contents())
        whole = (folder / "ply_data_test0.h5").read_bytes()
        (folder / "ply_data_test0.h5").write_bytes(whole[: len(whole) // 2])
        with pytest.raises(DataError, match=r"ply_data_test0.h5 is damaged or no HDF5 file"):
            import_folder(folder, tmp_path / "other", points=4)

    @pytest.mark.parametrize(
        ("key", "change", "message"),
        [
            ("label", lambda x: x + 1, r"ply_data_test0.h5: label must lie in 0..39, got 1..40"),
            ("label", lambda x: x[:5], r"test0.h5: expected 40 whole numbers as label, got \(5, 1\)"),
            ("label", lambda x: x / 2, r"expected 40 whole numbers as label, .*float64"),
            ("data", lambda x: x[:, :3], r"data of shape \(shapes, at least 4, 3\), got \(40, 3, 3\)"),
            ("data", lambda x: x.transpose(0, 2, 1), r"test0.h5: expected data of shape .*got \(40, 3, 6\)"),
            ("data", lambda x: x[:0], r"test0.h5: expected data of shape .*got \(0, 6, 3\)"),
            ("data", lambda x: x * np.inf, r"test0.h5: expected finite coordinates .*entry 1 has -?inf"),
        ],
    )
    def test_faults(
        self, tmp_path: Path, contents: dict[str, dict[str, Any]], key: str, change: Any, message: str
    ) -> None:
        folder = self.folder(tmp_path, contents)
        contents["ply_data_test0"][key] = change(contents["ply_data_test0"][key])
        with pytest.raises(DataError, match=message):
            import_folder(folder, tmp_path / "data", points=4)

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (removed("ply_data_train1.h5"), r"ply_data_train1.h5 is missing"),
            (cut("ply_data_train1.h5", 3), r"ply_data_train1.h5 is damaged or no HDF5 file: Unable"),
            (cut("test_files.txt", 0), r"test_files.txt: expected the names of HDF5 files, got none"),
            (replaced("shape_names.txt", "sofa", "soda"), r"shape_names.txt: expected the classes bathtub, .*sofa"),
            (cut("ply_data_train_0_id2file.json", 30), r"train_0_id2file.json is damaged: expected a list in JSON"),
            (
                replaced("ply_data_train_0_id2file.json", '", "', " "),
                r"id2file.json: expected the names of the 20 shapes in ply_data_train0.h5, got 19",
            ),
        ],
    )
    def test_faults_of_the_folder(
        self, tmp_path: Path, contents: dict[str, dict[str, Any]], change: Change, message: str
    ) -> None:
        folder = self.folder(tmp_path, contents)
        change(folder)
        with pytest.raises(DataError, match=message):
            import_folder(folder, tmp_path / "data", points=4)

    def test_a_missing_data_set_is_named(self, tmp_path: Path, contents: dict[str, dict[str, Any]]) -> None:
        folder = self.folder(tmp_path, contents)
        del contents["ply_data_train0"]["label"]
        with pytest.raises(DataError, match=r"train0.h5: expected the data sets data and label; missing label"):
            import_folder(folder, tmp_path / "data", points=4)

    def test_without_h5py_the_hint_says_what_to_install(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "h5py", None)
        with pytest.raises(DataError, match=r"ply_data_train0.h5 can only be read with h5py.*Hint: pip install h5py"):
            import_folder(hdf5(tmp_path / "official"), tmp_path / "data")


class TestShapeNet:
    def test_shapes_and_parts_arrive(self, tmp_path: Path) -> None:
        done = import_folder(shapenet(tmp_path / "official"), tmp_path / "data", points=6)
        assert done.counts == {"train": 16, "val": 16, "test": 16}
        data = load_shapenet(6, folder=tmp_path / "data")
        assert data.category_names[:2] == ("Airplane", "Bag")
        assert data.parts.sum(1).tolist() == [4, 2, 2, 4, 4, 3, 3, 2, 4, 2, 6, 2, 3, 3, 3, 3]
        assert data.validation.categories.tolist() == list(range(16))
        assert data.test.ids[0] == f"{FOLDERS['Airplane']}/test{FOLDERS['Airplane']}"
        assert data.validation.labels[0].sort().values.tolist() == [0, 0, 1, 1, 2, 3]
        assert data.train.labels[0].unique().tolist() == [0, 1, 2, 3]  # four points, two of them twice

    def test_a_point_keeps_its_part(self, tmp_path: Path) -> None:
        done = import_folder(shapenet(tmp_path / "official"), tmp_path / "data", points=5)
        stored = np.load(done.file)
        rows = np.loadtxt(tmp_path / "official" / FOLDERS["Mug"] / f"test{FOLDERS['Mug']}.txt")
        for point, part in zip(stored["test_points"][11], stored["test_part_labels"][11], strict=True):
            nearest = np.abs(rows[:, :3] - point).sum(1).argmin()
            assert rows[nearest, 6] == part

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (
                with_value("02000007/val02000007.txt", 1, 6, 6),
                r"val02000007.txt: expected parts 4..5 of Bag, row 2 has 6",
            ),
            (with_value("02000007/val02000007.txt", 1, 6, 4.5), r"expected parts 4..5 of Bag, row 2 has 4.5"),
            (with_value("02000007/val02000007.txt", 1, 6, 50), r"expected parts 4..5 of Bag, row 2 has 50"),
            (
                with_value("02000007/val02000007.txt", 3, 2, np.nan),
                r"val02000007.txt: .*finite.*entry 4 has nan",
            ),
            (cut("02000007/val02000007.txt", 90), r"val02000007.txt: expected rows of 7 numbers \(x y z .* part\)"),
            (removed("02000000/train02000000.txt"), r"train02000000.txt is missing"),
            (
                lambda folder: (folder / "02000000" / "points").mkdir(),
                r"02000000: .*without normals. Hint: .*_normal",
            ),
            (removed("train_test_split/shuffled_val_file_list.json"), r"shuffled_val_file_list.json is missing"),
            (
                cut("train_test_split/shuffled_val_file_list.json", 50),
                r"val_file_list.json is damaged: expected a list",
            ),
            (
                replaced("train_test_split/shuffled_test_file_list.json", "shape_data/02000000", "02000000"),
                r"test_file_list.json: expected entries such as shape_data/02691156/NAME",
            ),
            (
                replaced("train_test_split/shuffled_test_file_list.json", "test02000000", "train02000000"),
                r"train02000000 is listed twice, in the train and in the test part",
            ),
            (
                replaced("synsetoffset2category.txt", "Airplane", "Plane"),
                r"synsetoffset2category.txt: expected 16 lines",
            ),
        ],
    )
    def test_faults_are_named_by_their_file(self, tmp_path: Path, change: Change, message: str) -> None:
        folder = shapenet(tmp_path / "official")
        change(folder)
        with pytest.raises(DataError, match=message):
            import_folder(folder, tmp_path / "data", points=6)
        assert not (tmp_path / "data").exists()


class TestCommand:
    def test_it_says_what_it_wrote_and_how_to_use_it(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        folder, data = shapenet(tmp_path / "official"), tmp_path / "data"
        command = ["data", "import", str(folder), "--output", str(data), "--points", "4"]
        assert main(command) == 0
        printed = capsys.readouterr().out
        assert "16 train, 16 val, 16 test shapes" in printed
        assert "not the whole release, which has 12137 train" in printed
        assert f"export ADACANON_DATA={data}" in printed
        monkeypatch.setenv("ADACANON_DATA", str(data))
        assert load_shapenet(4).train.points.shape == (16, 4, 3)
        assert main(command) == 2
        assert "exists already. Hint" in capsys.readouterr().err

    @pytest.mark.parametrize("name", ["empty", "absent"])
    def test_another_folder_is_refused_with_the_layouts_that_are_known(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
    ) -> None:
        (tmp_path / "empty").mkdir()
        assert main(["data", "import", str(tmp_path / name), "--output", str(tmp_path / "data")]) == 2
        printed = capsys.readouterr().err
        assert f"{tmp_path / name}: expected one of the official folders" in printed
        assert "modelnet40_normal_resampled (with modelnet40_shape_names.txt)" in printed
        assert ("is no folder and no such archive" if name == "absent" else "holds none of them") in printed

    @pytest.mark.parametrize("place", ["", "official/airplane"])
    def test_a_folder_one_step_off_gets_the_right_one_named(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str], place: str
    ) -> None:
        folder = resampled(tmp_path / "official")
        (folder / "airplane").mkdir(exist_ok=True)
        assert main(["data", "import", str(tmp_path / place), "--output", str(tmp_path / "data")]) == 2
        assert f"holds none of them. Hint: {folder} is one" in capsys.readouterr().err

    def test_the_line_to_copy_is_one_for_a_shell(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        folder = resampled(tmp_path / "official")
        monkeypatch.chdir(tmp_path)
        assert main(["data", "import", str(folder), "--output", "my data", "--points", "4"]) == 0
        assert f"export ADACANON_DATA='{tmp_path / 'my data'}'" in capsys.readouterr().out

    def test_a_mark_at_the_beginning_of_a_list_is_no_part_of_a_name(self, tmp_path: Path) -> None:
        """Some editors of Windows write one."""
        folder = resampled(tmp_path / "official")
        names = folder / "modelnet40_shape_names.txt"
        names.write_text(names.read_text(), encoding="utf-8-sig")
        assert import_folder(folder, tmp_path / "data", points=4).counts["train"] > 0

    def test_points_are_checked(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="at least one point, got points=0"):
            import_folder(resampled(tmp_path / "official"), tmp_path / "data", points=0)


@pytest.mark.parametrize("place", ["file", "file/below", "folder"])
def test_an_output_that_cannot_be_written(place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "pointclouds").touch()
    folder = resampled(tmp_path / "official")
    assert main(["data", "import", str(folder), "--output", str(tmp_path / place), "--points", "4"]) == 2
    assert "modelnet40.npz could not be written" in capsys.readouterr().err


def test_what_the_loader_refuses_is_not_kept(tmp_path: Path) -> None:
    folder = resampled(tmp_path / "official")
    for part in ("train", "test"):
        file = folder / f"modelnet10_{part}.txt"
        file.write_text(file.read_text().split("\n", 1)[1])
    with pytest.raises(DataError, match="must mark shapes of the same 10 classes in both parts, got 9"):
        import_folder(folder, tmp_path / "data", points=POINTS)
    assert not list((tmp_path / "data" / "pointclouds").iterdir())
