"""Labelled images and clouds from folders and files, and what is refused."""

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from adacanon.data.labelled import load_labelled
from adacanon.errors import DataError, InputError


def picture(file: Path, *, size: int = 8, mode: str = "RGB", value: int = 200) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    Image.new(mode, (size, size), value if mode == "L" else (value, 0, 100)).save(file)


class TestOrderOfClasses:
    @pytest.mark.parametrize(
        "names",
        [
            [str(number) for number in range(12)],
            [f"class_{number}" for number in (1, 2, 9, 10, 11, 100)],
            ["2a", "2b", "10a", "cat", "dog"],
            ["a", "a1", "a01b", "a1b", "b"],
        ],
    )
    def test_folders_are_in_natural_order(self, names: list[str], tmp_path: Path) -> None:
        for name in reversed(names):
            picture(tmp_path / name / "x.png")
        assert load_labelled(tmp_path).class_names == tuple(names)

    def test_given_names_fix_the_order_and_may_have_no_folder(self, tmp_path: Path) -> None:
        for name in ("one", "two", "zero"):
            picture(tmp_path / name / "x.png", value={"zero": 10, "one": 20, "two": 30}[name])
        names = ("zero", "one", "none", "two")
        found = load_labelled(tmp_path, classes=names)
        assert found.class_names == names
        assert found.labels.tolist() == [0, 1, 3]
        assert (255 * found.inputs[:, 0, 0, 0]).round().tolist() == [10, 20, 30]

    @pytest.mark.parametrize(
        ("names", "error", "message"),
        [
            (("cat", "dgo"), DataError, r"were named \(cat, dgo\), got also dog; named without data: dgo. Hint: --cl"),
            (("cat",), DataError, "got also dog; named without data: none"),
            (("cat", "dog", "cat"), InputError, "got cat more than once. Hint"),
            (("cat", "dog", ""), InputError, "got an empty one. Hint"),
            ("cat,dog", InputError, "must be a sequence of names, got the text 'cat,dog'. Hint"),
        ],
    )
    def test_names_that_do_not_fit_are_refused(
        self, names: tuple[str, ...], error: type[Exception], message: str, tmp_path: Path
    ) -> None:
        for name in ("cat", "dog"):
            picture(tmp_path / name / "x.png")
        with pytest.raises(error, match=message):
            load_labelled(tmp_path, classes=names)

    def test_labels_of_a_file_follow_its_own_names(self, tmp_path: Path) -> None:
        arrays = {"images": np.zeros((3, 4, 4), np.uint8), "labels": [0, 1, 1]}
        np.savez(tmp_path / "named.npz", class_names=["cat", "dog"], **arrays)
        np.savez(tmp_path / "bare.npz", **arrays)
        np.savez(tmp_path / "short.npz", class_names=["cat"], **arrays)
        names = ("dog", "bird", "cat")
        assert load_labelled(tmp_path / "named.npz", classes=names).labels.tolist() == [2, 0, 0]
        assert load_labelled(tmp_path / "bare.npz", classes=names).labels.tolist() == [0, 1, 1]
        assert load_labelled(tmp_path / "bare.npz", classes=names).class_names == names
        with pytest.raises(DataError, match=r"labels must lie in 0\.\.0, one for each of class_names, got 0\.\.1"):
            load_labelled(tmp_path / "short.npz", classes=names)


class TestFolder:
    def test_classes_are_folders_in_the_order_of_their_names(self, tmp_path: Path) -> None:
        for name, value in (("dog/b.png", 10), ("cat/a.png", 200), ("cat/deeper/c.PNG", 90)):
            picture(tmp_path / name, value=value)
        (tmp_path / "cat" / "readme.txt").write_text("no image")
        found = load_labelled(tmp_path)
        assert found.class_names == ("cat", "dog")
        assert found.labels.tolist() == [0, 0, 1]
        assert found.inputs.shape == (3, 3, 8, 8)
        torch.testing.assert_close(found.inputs[0, :, 0, 0], torch.tensor([200, 0, 100]) / 255)

    def test_grey_images_have_one_channel_or_three_if_asked(self, tmp_path: Path) -> None:
        picture(tmp_path / "a" / "a.png", mode="L", value=51)
        assert load_labelled(tmp_path).inputs.shape == (1, 1, 8, 8)
        found = load_labelled(tmp_path, channels=3).inputs
        assert found.shape == (1, 3, 8, 8)
        assert bool((found == 51 / 255).all())

    def test_unequal_images_are_refused_or_resized(self, tmp_path: Path) -> None:
        picture(tmp_path / "a" / "a.png")
        picture(tmp_path / "a" / "b.png", size=12)
        with pytest.raises(DataError, match=r"b\.png has \(3, 12, 12\). Hint: --size"):
            load_labelled(tmp_path)
        assert load_labelled(tmp_path, size=6).inputs.shape == (2, 3, 6, 6)

    def test_an_unreadable_image_is_named(self, tmp_path: Path) -> None:
        picture(tmp_path / "a" / "good.png")
        (tmp_path / "a" / "torn.png").write_bytes((tmp_path / "a" / "good.png").read_bytes()[:40])
        with pytest.raises(DataError, match=r"torn\.png cannot be read as an image"):
            load_labelled(tmp_path)

    def test_a_folder_without_images_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(DataError, match="holds no images"):
            load_labelled(tmp_path)


class TestFile:
    def saved(self, tmp_path: Path, **arrays: object) -> Path:
        np.savez(tmp_path / "data.npz", **{name: np.asarray(array) for name, array in arrays.items()})
        return tmp_path / "data.npz"

    def test_bytes_with_channels_last_and_the_test_part_first(self, tmp_path: Path) -> None:
        pixels = np.arange(2 * 4 * 5 * 3, dtype=np.uint8).reshape(2, 4, 5, 3)
        train = {"train_images": pixels[:1], "train_labels": [0]}
        file = self.saved(tmp_path, test_images=pixels, test_labels=[1, 0], class_names=["a", "b"], **train)
        found = load_labelled(file)
        assert found.inputs.shape == (2, 3, 4, 5)
        assert float(found.inputs[0, 2, 0, 1]) == pytest.approx(5 / 255)
        assert (found.labels.tolist(), found.class_names) == ([1, 0], ("a", "b"))

    def test_grey_images_without_channels(self, tmp_path: Path) -> None:
        file = self.saved(tmp_path, images=np.zeros((3, 4, 4), np.uint8), labels=[0, 1, 0])
        assert load_labelled(file).inputs.shape == (3, 1, 4, 4)
        assert load_labelled(file, channels=3).inputs.shape == (3, 3, 4, 4)

    def test_clouds(self, tmp_path: Path) -> None:
        file = self.saved(tmp_path, points=np.arange(63).reshape(3, 7, 3).astype(np.float16), labels=[0, 1, 0])
        found = load_labelled(file).inputs
        assert (found.shape, found.dtype) == ((3, 7, 3), torch.float32)

    def test_a_limit_draws_at_random_and_always_the_same(self, tmp_path: Path) -> None:
        file = self.saved(tmp_path, images=np.zeros((50, 4, 4), np.uint8), labels=np.arange(50))
        first, again, other = (load_labelled(file, limit=5, seed=seed).labels.tolist() for seed in (0, 0, 1))
        assert first == again != other
        assert len(set(first)) == 5
        assert first != [0, 1, 2, 3, 4]

    @pytest.mark.parametrize(
        ("arrays", "message"),
        [
            ({"images": np.full((2, 4, 4), 7.0), "labels": [0, 1]}, r"numbers in \[0, 1\], got 7 to 7"),
            ({"images": np.full((2, 4, 4), np.nan), "labels": [0, 1]}, r"numbers in \[0, 1\]"),
            ({"pixels": np.zeros((2, 4, 4)), "labels": [0, 1]}, "got pixels, labels"),
            ({"images": np.zeros((2, 4, 4)), "labels": [0, 1, 2]}, r"expected images of shape \(3, any, any\)"),
            ({"points": np.zeros((2, 4, 2)), "labels": [0, 1]}, r"expected points of shape \(2, any, 3\)"),
            ({"points": np.full((2, 4, 3), np.nan), "labels": [0, 1]}, "finite coordinates in points, 2 clouds"),
            ({"points": np.zeros((2, 4, 3)), "labels": [0, 1]}, "points that are not all the same in points"),
            ({"images": np.zeros((2, 16)), "labels": [0, 1]}, "expected images of shape"),
            ({"images": np.zeros((2, 4, 4)), "labels": [0.5, 1]}, "expected labels"),
            ({"images": np.zeros((2, 4, 4)), "labels": [0, 1], "class_names": [1, 2]}, "expected class_names"),
        ],
    )
    def test_what_does_not_fit_is_refused(self, arrays: dict, message: str, tmp_path: Path) -> None:
        with pytest.raises(DataError, match=message):
            load_labelled(self.saved(tmp_path, **arrays))


@pytest.mark.parametrize("name", ["nothing", "table.csv"])
def test_other_paths_are_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text("1,2")
    with pytest.raises(DataError, match=r"Hint: a folder CLASS/IMAGE\.png"):
        load_labelled(tmp_path / name)


@pytest.mark.parametrize(("options", "message"), [({"limit": 0}, "limit"), ({"channels": 2}, "channels")])
def test_options_that_mean_nothing_are_refused(options: dict, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        load_labelled(tmp_path, **options)
