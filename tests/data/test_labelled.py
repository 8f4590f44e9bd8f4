"""Labelled images and clouds from folders and files, and what is refused."""

import os
import struct
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import EpsImagePlugin, Image

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
        bare = load_labelled(tmp_path / "bare.npz", classes=names)
        assert bare.class_names == names
        assert bare.class_source == "the labels in bare.npz, label k for output k; only the names were given"
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

    def test_a_pipe_is_refused_and_not_waited_for(self, tmp_path: Path) -> None:
        (tmp_path / "cat").mkdir()
        os.mkfifo(tmp_path / "cat" / "one.png")
        with pytest.raises(DataError, match=r"one\.png is neither a file nor a folder"):
            load_labelled(tmp_path)

    def test_a_folder_without_images_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(DataError, match="holds no images"):
            load_labelled(tmp_path)


class TestPixels:
    """Black, white and something between keep their places, whatever the type."""

    def read(self, image: Image.Image, file: Path, **options: int) -> torch.Tensor:
        file.parent.mkdir(parents=True)
        image.save(file)
        return load_labelled(file.parents[1], **options).inputs[0]

    @pytest.mark.parametrize("name", ["x.png", "x.tif", "x.pgm"])
    def test_sixteen_bits_are_divided_by_65535(self, name: str, tmp_path: Path) -> None:
        values = np.array([[0, 13107], [32768, 65535]], np.uint16)
        expected = torch.from_numpy(values / np.float32(65535)).float()
        file = tmp_path / "data" / "a" / name
        torch.testing.assert_close(self.read(Image.fromarray(values), file), expected.unsqueeze(0))
        torch.testing.assert_close(load_labelled(tmp_path / "data", channels=3).inputs[0], expected.expand(3, 2, 2))

    @pytest.mark.parametrize("order", ["<", ">"])
    def test_either_order_of_bytes(self, order: str, tmp_path: Path) -> None:
        values = np.array([[0, 256], [1, 65535]], np.uint16)
        (tmp_path / "a").mkdir()
        (tmp_path / "a" / "x.tif").write_bytes(grey_tiff(values, order))
        torch.testing.assert_close(load_labelled(tmp_path).inputs[0, 0], torch.from_numpy(values / np.float32(65535)))

    @pytest.mark.parametrize("values", [[0, 65535], [0, 255], [0, 65536], [-1, 5]])
    def test_thirty_two_bits_are_refused_because_their_white_may_be_anywhere(
        self, values: list[int], tmp_path: Path
    ) -> None:
        """Divided by 65535, bytes that were saved with 32 bits would be black."""
        with pytest.raises(DataError, match=r"x\.tif .*32 bits or a sign, and nobody can tell which value is white"):
            self.read(Image.fromarray(np.array([values], np.int32)), tmp_path / "a" / "x.tif")

    def test_floats_in_the_unit_interval_are_taken_as_they_are(self, tmp_path: Path) -> None:
        values = np.array([[0, 0.25], [0.5, 1]], np.float32)
        assert self.read(Image.fromarray(values), tmp_path / "a" / "x.tif")[0].tolist() == values.tolist()

    @pytest.mark.parametrize(
        ("values", "message"),
        [
            (
                np.array([[0, 255]], np.float32),
                r"x\.tif: expected floats in \[0, 1\] .*float32, got 0 to 255. Hint",
            ),
            (np.array([[-0.5, 0.5]], np.float32), r"floats in \[0, 1\] .* got -0\.5 to 0\.5"),
            (np.array([[np.nan, 0.5]], np.float32), r"floats in \[0, 1\] .* got nan"),
        ],
    )
    def test_values_whose_white_is_not_known_are_refused(
        self, values: np.ndarray, message: str, tmp_path: Path
    ) -> None:
        with pytest.raises(DataError, match=message):
            self.read(Image.fromarray(values), tmp_path / "a" / "x.tif")

    @pytest.mark.parametrize(
        ("mode", "name", "channels"),
        [
            ("1", "x.png", 1),
            ("L", "x.png", 1),
            ("LA", "x.png", 1),
            ("P", "x.png", 3),
            ("P", "x.gif", 3),
            ("RGB", "x.png", 3),
            ("RGBA", "x.png", 3),
            ("RGBA", "x.webp", 3),
            ("CMYK", "x.tif", 3),
        ],
    )
    def test_bytes_of_every_mode(self, mode: str, name: str, channels: int, tmp_path: Path) -> None:
        """Three pixels, black, white and red; grey modes have no red."""
        image = Image.new("RGB", (3, 1))
        image.putpixel((1, 0), (255, 255, 255))
        image.putpixel((2, 0), (255, 0, 0) if channels == 3 else (255, 255, 255))
        options = {"lossless": True} if name.endswith("webp") else {}
        (tmp_path / "a").mkdir()
        image.convert(mode).save(tmp_path / "a" / name, **options)
        found = load_labelled(tmp_path).inputs[0, :, 0]
        last = [1, 0, 0] if channels == 3 else [1]
        assert found.T.tolist() == [[0] * channels, [1] * channels, last]

    def test_a_palette_with_transparent_entries(self, tmp_path: Path) -> None:
        image = Image.new("P", (2, 1), 1)
        image.putpalette([0, 0, 0, 255, 0, 51])
        (tmp_path / "a").mkdir()
        image.save(tmp_path / "a" / "x.png", transparency=bytes([0, 128]))
        assert load_labelled(tmp_path).inputs[0, :, 0, 0].tolist() == [1, 0, torch.tensor(51 / 255).item()]

    def test_other_formats_are_never_opened_whatever_their_name(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def started(*arguments: object, **options: object) -> None:
            pytest.fail("Ghostscript was started")

        monkeypatch.setattr(EpsImagePlugin, "Ghostscript", started)
        (tmp_path / "a").mkdir()
        text = "%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 8 8\n%%EndComments\nshowpage\n%%EOF\n"
        (tmp_path / "a" / "x.png").write_text(text)
        with pytest.raises(DataError, match=r"x\.png cannot be read as an image of the formats PNG, JPEG, .*Hint"):
            load_labelled(tmp_path)


def grey_tiff(values: np.ndarray, order: str) -> bytes:
    """A file by hand: header, pixels, and a directory of width, height, bits, no compression, black is zero, where the
    pixels are, rows in the strip, bytes in the strip.
    """
    pixels = values.astype(f"{order}u2").tobytes()
    height, width = values.shape
    tags = {256: width, 257: height, 258: 16, 259: 1, 262: 1, 273: 8, 278: height, 279: len(pixels)}
    entries = b"".join(struct.pack(f"{order}HHII", tag, 4, 1, value) for tag, value in tags.items())
    header = (b"II" if order == "<" else b"MM") + struct.pack(f"{order}HI", 42, 8 + len(pixels))
    return header + pixels + struct.pack(f"{order}H", len(tags)) + entries + bytes(4)


class TestPreparation:
    """What was done to pictures is told."""

    def test_transparency_is_told_where_something_is_transparent(self, tmp_path: Path) -> None:
        (tmp_path / "a").mkdir()
        Image.new("RGBA", (4, 4), (255, 0, 0, 255)).save(tmp_path / "a" / "full.png")
        assert load_labelled(tmp_path).preparation == ()
        Image.new("RGBA", (4, 4), (255, 0, 0, 9)).save(tmp_path / "a" / "clear.png")
        (told,) = load_labelled(tmp_path).preparation
        assert told.startswith("1 pictures are transparent in places")

    def test_frames_and_marks_of_cameras_are_told(self, tmp_path: Path) -> None:
        (tmp_path / "a").mkdir()
        frames = [Image.new("RGB", (4, 4), colour) for colour in ("red", "blue")]
        frames[0].save(tmp_path / "a" / "x.tif", save_all=True, append_images=frames[1:])
        exif = Image.Exif()
        exif[0x0112] = 6
        frames[0].save(tmp_path / "a" / "y.jpg", exif=exif)
        told = load_labelled(tmp_path).preparation
        assert [note[:22] for note in told] == ["1 pictures have severa", "1 pictures say that th"]

    def test_sizes_channels_and_draws_are_told(self, tmp_path: Path) -> None:
        picture(tmp_path / "a" / "a.png", size=9)
        picture(tmp_path / "b" / "b.png", size=8, mode="L")
        Image.new("RGB", (6, 9)).save(tmp_path / "a" / "c.png")
        assert load_labelled(tmp_path, size=4, channels=1).preparation == (
            "1 channel, whatever the files have",
            "resized to 4 × 4 pixels; 1 images are not square and were stretched",
        )
        assert load_labelled(tmp_path, limit=1).preparation == ("1 of 3 samples, drawn at random",)

    def test_hidden_folders_are_no_classes(self, tmp_path: Path) -> None:
        picture(tmp_path / "a" / "a.png")
        picture(tmp_path / ".checkpoints" / "a.png")
        assert load_labelled(tmp_path).class_names == ("a",)


class TestChannelsOfArrays:
    def read(self, shape: tuple[int, ...], tmp_path: Path, **options: int) -> torch.Tensor:
        pixels = np.random.default_rng(0).integers(0, 256, shape).astype(np.uint8)
        np.savez(tmp_path / "x.npz", images=pixels, labels=np.zeros(len(pixels), int))
        return load_labelled(tmp_path / "x.npz", **options).inputs

    @pytest.mark.parametrize("shape", [(2, 8, 9, 4), (2, 4, 8, 9)])
    def test_transparency_is_dropped_where_channels_are_asked_for(self, shape: tuple[int, ...], tmp_path: Path) -> None:
        assert self.read(shape, tmp_path).shape == (2, 4, 8, 9)
        assert self.read(shape, tmp_path, channels=3).shape == (2, 3, 8, 9)
        assert self.read(shape, tmp_path, channels=1).shape == (2, 1, 8, 9)

    def test_grey_is_that_of_pictures(self, tmp_path: Path) -> None:
        pixels = np.random.default_rng(0).integers(0, 256, (1, 5, 5, 3)).astype(np.uint8)
        np.savez(tmp_path / "x.npz", images=pixels, labels=[0])
        (tmp_path / "data" / "a").mkdir(parents=True)
        Image.fromarray(pixels[0]).save(tmp_path / "data" / "a" / "x.png")
        found = [load_labelled(place, channels=1).inputs for place in (tmp_path / "x.npz", tmp_path / "data")]
        torch.testing.assert_close(*found, atol=1 / 255, rtol=0)

    def test_other_numbers_of_channels_are_refused_if_some_are_asked_for(self, tmp_path: Path) -> None:
        with pytest.raises(DataError, match=r"1 to 4 channels, first or last, got \(13, 8, 9\). Hint"):
            self.read((2, 13, 8, 9), tmp_path, channels=3)


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

    @pytest.mark.parametrize("kind", ["<u2", ">u2"])
    def test_sixteen_bits_are_divided_by_65535(self, kind: str, tmp_path: Path) -> None:
        pixels = np.array([0, 1, 13107, 65535]).astype(kind).reshape(1, 2, 2)
        found = load_labelled(self.saved(tmp_path, images=pixels, labels=[0])).inputs
        torch.testing.assert_close(found.flatten(), torch.tensor([0, 1, 13107, 65535]) / 65535)

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
            ({"images": np.zeros((2, 4, 4), np.uint32), "labels": [0, 1]}, "8 or 16 bits.*of uint32. Hint"),
            (
                {"images": np.zeros((2, 4, 4), np.uint8), "labels": np.array([0, 2**63], np.uint64)},
                "number the outputs of a network, got 9223372036854775808",
            ),
            ({"images": np.full((2, 4, 4), -0.5), "labels": [0, 1]}, r"numbers in \[0, 1\], got -0\.5"),
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
