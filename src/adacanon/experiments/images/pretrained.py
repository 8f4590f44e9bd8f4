"""The ResNet-18 of the experiments, with weights published for ImageNet."""

from pathlib import Path

from adacanon.errors import MissingDataError
from adacanon.folders import cache_folder, data_folder
from adacanon.images.resnet import ResNet18
from adacanon.images.weights import load_weights

FILES = ("resnet18_imagenet.npz", "resnet18-f37072fd.pth", "resnet18.safetensors")
"""Looked for in this order; the second is torchvision's."""


def weights_file() -> Path:
    """The first of the files in ``weights/`` of the data folder or the cache folder."""
    folders = [root / "weights" for root in (data_folder(), cache_folder()) if root is not None]
    for file in (folder / name for folder in folders for name in FILES):
        if file.is_file():
            return file
    raise MissingDataError(
        f"No weights of ResNet-18 in {' or '.join(map(str, folders))}, expected {', '.join(FILES)}. Hint: fetch "
        f"https://download.pytorch.org/models/resnet18-f37072fd.pth into {folders[-1]}"
    )


def pretrained_resnet18() -> ResNet18:
    """In evaluation mode, with the classifier for ImageNet."""
    network = ResNet18()
    load_weights(network, weights_file())
    return network.eval().requires_grad_(False)
