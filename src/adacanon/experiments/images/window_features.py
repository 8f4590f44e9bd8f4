"""Features of all windows of CIFAR images under the frozen ResNet-18, computed once and kept on the disk."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from adacanon.data.images import ImageDataset, load_images
from adacanon.errors import DataError
from adacanon.experiments.images.pretrained import pretrained_resnet18, weights_file
from adacanon.folders import cache_folder
from adacanon.frozen import as_stored, features_of_forms, is_kept, shard_file, shards_of, stored_features, write_shard
from adacanon.images import Preprocessing, Windows
from adacanon.images.resnet import ResNet18
from adacanon.runs.executors import Executor
from adacanon.runs.executors.executor import in_order
from adacanon.runs.run import Settings
from adacanon.training.smoke import at_most, note

NAMES = {"CIFAR-10": "cifar10", "CIFAR-100": "cifar100"}
"""The columns of the table, and the data sets that they stand for."""

PAIRS_AT_ONCE = 110
FEW = 4
"""Images of a smoke run: two passes of the network for 55 windows each."""

OnShard = Callable[[int, int], None]


@dataclass(frozen=True)
class WindowFeatures:
    """A data set as the classifier sees it, the training part first.

    Attributes:
        features: (samples, windows, 512) in half precision, the first window being the whole image.
        labels: (samples,).
        train: samples of the training part.
        windows: top, left, height and width of every window, (windows, 4).
        class_names: in the order of the labels.
    """

    features: Tensor
    labels: Tensor
    train: int
    windows: Tensor
    class_names: tuple[str, ...]


def window_features(column: str, options: Settings, *, on_shard: OnShard = lambda done, total: None) -> WindowFeatures:
    """From the disk as far as they are there.

    Args:
        column: CIFAR-10 or CIFAR-100.
        options: ``input_size``, ``precision`` and ``levels`` of the windows.
    """
    return _loaded(column, options["input_size"], options["precision"], options["levels"], on_shard)


def extract(column: str, options: Settings, executor: Executor, *, on_shard: OnShard) -> None:
    """Compute the features that are not on the disk yet, shard by shard wherever the executor calls functions.

    Workers send the features, and this process writes them. Stopped at any moment, the next call goes on.
    """
    kind = (column, options["input_size"], options["precision"], options["levels"])
    source = _source(*kind)
    missing = [rows for rows in shards_of(len(source.pixels)) if not is_kept(shard_file(source.folder, rows))]
    done = len(source.pixels) - sum(rows.stop - rows.start for rows in missing)
    calls = ((source.folder.name, *kind, rows.start, rows.stop) for rows in missing)
    for rows, found in zip(missing, in_order(executor, _shard, calls), strict=True):
        write_shard(shard_file(source.folder, rows), found)
        done += rows.stop - rows.start
        on_shard(done, len(source.pixels))


def _shard(name: str, column: str, size: int, precision: str, levels: int, start: int, stop: int) -> np.ndarray:
    return as_stored(_source_named(name, column, size, precision, levels).features(slice(start, stop)))


def images_of(column: str) -> ImageDataset:
    """The data set of a column."""
    return load_images(NAMES[column])


def own_features(column: str, images: Tensor, options: Settings) -> Tensor:
    """Features (images, windows, 512) of images that are made from those of a data set, kept on the disk too."""
    family = Windows(levels=options["levels"])
    size, precision = options["input_size"], options["precision"]
    network = pretrained_resnet18().to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    folder = _folder(column, images, family.windows(*images.shape[-2:]), size, precision)
    found = stored_features(
        folder,
        at_most(len(images), FEW),
        lambda rows: extracted(network, family, images[rows], size=size, precision=precision),
    )
    return repeated(found, len(images))


@dataclass(frozen=True)
class Source:
    """What features are computed from, and where they are kept."""

    data: ImageDataset
    pixels: Tensor
    family: Windows
    network: ResNet18
    size: int
    precision: str
    folder: Path

    def features(self, rows: slice) -> Tensor:
        """Of some images, the training part first."""
        images = self.pixels[rows].float() / 255
        return extracted(self.network, self.family, images, size=self.size, precision=self.precision)


@lru_cache(maxsize=1)
def _source_named(name: str, column: str, size: int, precision: str, levels: int) -> Source:
    """Read once per process; a worker that has other images or weights than the command is refused."""
    source = _source(column, size, precision, levels)
    if source.folder.name != name:
        raise DataError(
            f"The images or weights here give {source.folder.name}, and those of the command {name}. Hint: share "
            "ADACANON_DATA with all workers"
        )
    return source


def _source(column: str, size: int, precision: str, levels: int) -> Source:
    data = images_of(column)
    family = Windows(levels=levels)
    pixels = torch.cat([data.train.pixels, data.test.pixels])
    folder = _folder(column, pixels, family.windows(*pixels.shape[-2:]), size, precision)
    network = pretrained_resnet18().to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    return Source(data, pixels, family, network, size, precision, folder)


@lru_cache(maxsize=1)
def _loaded(column: str, size: int, precision: str, levels: int, on_shard: OnShard) -> WindowFeatures:
    source = _source(column, size, precision, levels)
    count = at_most(len(source.pixels), FEW)
    features = stored_features(source.folder, count, source.features, on_shard=on_shard)
    features = repeated(features, len(source.pixels))
    data = source.data
    labels = torch.cat([data.train.labels, data.test.labels])
    windows = source.family.windows(*source.pixels.shape[-2:])
    return WindowFeatures(features, labels, len(data.train.labels), windows, data.class_names)


def repeated(features: Tensor, samples: int) -> Tensor:
    """Features of a few images in the place of those of all; they themselves if they are all."""
    if len(features) == samples:
        return features
    note(f"features of {len(features)} images stand for those of {samples}")
    return features[torch.arange(samples) % len(features)]


def extracted(network: ResNet18, family: Windows, images: Tensor, *, size: int, precision: str) -> Tensor:
    """Features (batch, windows, 512); every window is resized to the grid of the image, and then to the input size."""
    preprocess = Preprocessing(size)

    def backbone(forms: Tensor) -> Tensor:
        with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bfloat16"):
            return network.features(preprocess(forms).contiguous(memory_format=torch.channels_last)).float()

    points = family.space(images).cover()
    return features_of_forms(backbone, family, points, images, chunk_size=PAIRS_AT_ONCE)


def _folder(column: str, pixels: Tensor, windows: Tensor, size: int, precision: str) -> Path:
    """Named after everything that the features depend on."""
    digest = hashlib.sha256(weights_file().read_bytes())
    digest.update(pixels.numpy().tobytes())
    digest.update(windows.numpy().tobytes())
    name = f"{NAMES[column]}-{len(windows)}x{size}-{precision}-{digest.hexdigest()[:12]}"
    return cache_folder() / "features" / name
