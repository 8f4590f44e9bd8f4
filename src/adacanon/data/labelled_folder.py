"""A folder with one folder per class, of pictures or of clouds."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from adacanon.data.arrays import check_points, normalised
from adacanon.data.class_order import natural_order, places
from adacanon.data.cloud_files import READERS, CloudOptions, cloud_of, described_points, read_surface
from adacanon.data.pictures import SUFFIXES, Picture, PictureOptions, described_pictures, read_picture
from adacanon.data.samples import GIVEN, Labelled, drawn_note, drawn_rows
from adacanon.errors import DataError

NATURAL = "the natural order of the folder names, 2 before 10; nothing else says which output is which class"


def read_folder(
    folder: Path,
    classes: tuple[str, ...],
    pictures: PictureOptions,
    clouds: CloudOptions,
    *,
    limit: int | None,
    seed: int,
) -> Labelled:
    """All samples of ``CLASS/FILE``, or some that are drawn at random."""
    names = sorted((place.name for place in folder.iterdir() if _is_class(place)), key=natural_order)
    source, classes = GIVEN if classes else NATURAL, classes or tuple(names)
    folders = sorted(zip(places(folder, names, classes), names, strict=True))
    found = [(file, label) for label, name in folders for file in _files_in(folder / name)]
    kind = _kind_of(folder, [file for file, _ in found])
    chosen = drawn_rows(len(found), limit, seed).tolist()
    files, labels = [found[i][0] for i in chosen], torch.tensor([found[i][1] for i in chosen])
    if kind == "pictures":
        inputs, notes = _pictures(files, pictures)
    else:
        inputs, notes = _clouds(files, chosen, clouds, seed)
    return Labelled(inputs, labels, classes, source, (*drawn_note(len(found), len(chosen)), *notes))


def _is_class(place: Path) -> bool:
    """Hidden folders are those of programs, such as .ipynb_checkpoints."""
    return place.is_dir() and not place.name.startswith(".")


def _files_in(folder: Path) -> list[Path]:
    named = [place for place in folder.rglob("*") if place.suffix.lower() in (*SUFFIXES, *READERS)]
    for place in named:
        if not place.is_file() and not place.is_dir():  # reading a pipe would wait forever
            raise DataError(f"{place} is neither a file nor a folder. Hint: a broken link or a pipe? Move it away")
    return sorted(place for place in named if place.is_file())


def _kind_of(folder: Path, files: Sequence[Path]) -> str:
    clouds = [file for file in files if file.suffix.lower() in READERS]
    if not files:
        raise DataError(
            f"{folder} holds no images and no clouds. Hint: one folder per class with images "
            f"{', '.join(SUFFIXES[:3])}, ... or clouds {', '.join(READERS)}"
        )
    if clouds and len(clouds) < len(files):
        raise DataError(
            f"{folder} holds {len(clouds)} clouds ({clouds[0].name}, ...) and {len(files) - len(clouds)} images, "
            "expected one kind. Hint: move one of them away"
        )
    return "clouds" if clouds else "pictures"


def _pictures(files: Sequence[Path], options: PictureOptions) -> tuple[Tensor, list[str]]:
    read = [read_picture(file, options) for file in files]
    _check_same_shape(files, read)
    return torch.stack([picture.pixels for picture in read]), described_pictures(read, options)


def _check_same_shape(files: Sequence[Path], pictures: Sequence[Picture]) -> None:
    first = tuple(pictures[0].pixels.shape)
    for file, picture in zip(files, pictures, strict=True):
        if tuple(picture.pixels.shape) != first:
            raise DataError(
                f"Images must have one shape (channels, height, width), {files[0]} has {first} and {file} has "
                f"{tuple(picture.pixels.shape)}. Hint: --size resizes them, --channels 3 makes all of them colour, "
                "--channels 1 grey"
            )


def _clouds(
    files: Sequence[Path], numbers: Sequence[int], options: CloudOptions, seed: int
) -> tuple[Tensor, list[str]]:
    """A file's draw depends on its place among all files, and not on which others are read."""
    clouds, meshes = list[Tensor](), False
    for file, number in zip(files, numbers, strict=True):
        surface, generator = read_surface(file), torch.Generator().manual_seed(seed + number)
        meshes |= len(surface.triangles) > 0
        clouds.append(cloud_of(file, surface, options, generator=generator))
        check_points(file, "its points", clouds[-1].unsqueeze(0).numpy(), np.array([file.name]))
        if clouds[-1].shape != clouds[0].shape:
            raise DataError(
                f"Clouds must have one number of points, {files[0]} has {len(clouds[0])} and {file} has "
                f"{len(clouds[-1])}. Hint: --points draws as many of each, and --faces draws them from the faces"
            )
    points = torch.stack(clouds)
    return normalised(points) if options.normalise else points, described_points(options, meshes=meshes)
