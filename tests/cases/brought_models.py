"""Networks that a user of the doctor brings, found by their import path."""

import torch
from torch import Tensor, nn

PIXELS = 8


class Half(nn.Module):
    """The brightness of the upper half against that of the lower half: two classes, which a half turn exchanges."""

    def forward(self, images: Tensor) -> Tensor:
        rows = images.mean((1, 3))
        middle = rows.shape[1] // 2
        return 9 * torch.stack([rows[:, :middle].mean(1), rows[:, middle:].mean(1)], 1)


class Colour(nn.Module):
    """Only for colour images."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Conv2d(3, 2, 3)

    def forward(self, images: Tensor) -> Tensor:
        return self.layer(images).mean((2, 3))


class Marks(nn.Module):
    """Class c has the brightest of the first pixels at place c: never a mistake on images that are not transformed."""

    def __init__(self, classes: int) -> None:
        super().__init__()
        self.classes = classes

    def forward(self, images: Tensor) -> Tensor:
        return 9 * images.mean(1).flatten(1)[:, : self.classes]


NUMERALS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


class NamedMarks(Marks):
    """Knows what its outputs are called."""

    def __init__(self, names: tuple[str, ...] = NUMERALS) -> None:
        super().__init__(len(names))
        self.class_names = list(names)


class Permuted(nn.Module):
    """The twelve classes in the order of their numbers as text: 0, 1, 10, 11, 2, ..."""

    def forward(self, images: Tensor) -> Tensor:
        return Marks(12)(images)[:, sorted(range(12), key=str)]


def named_ten() -> nn.Module:
    return NamedMarks()


def named_other() -> nn.Module:
    return NamedMarks(("cero", *NUMERALS[1:]))


def text_order() -> nn.Module:
    return Permuted()


def needs_arguments(classes: int, *, width: int, depth: int = 2) -> nn.Module:
    return Marks(classes)


def fails() -> nn.Module:
    return Marks({}["no such key"])


def ten() -> nn.Module:
    return Marks(10)


def twelve() -> nn.Module:
    return Marks(12)


def mark(label: int) -> Tensor:
    """A picture (height, width) of a class that such a network knows."""
    image = torch.zeros(PIXELS, PIXELS)
    image.view(-1)[label] = 1
    return image


def half() -> nn.Module:
    return Half()


class Tall(nn.Module):
    """How far clouds (samples, points, 3) reach along the last axis against the first."""

    def forward(self, points: Tensor) -> Tensor:
        reach = points.amax(1) - points.amin(1)
        return torch.stack([reach[:, 0], reach[:, 2]], 1)


def tall() -> nn.Module:
    return Tall()


def colour() -> nn.Module:
    return Colour()


def number() -> int:
    return 7


INSTANCE = Half()


def halves(samples: int = 40) -> tuple[Tensor, Tensor]:
    """Images that the network classifies without a mistake."""
    generator = torch.Generator().manual_seed(0)
    labels = torch.arange(samples) % 2
    images = 0.3 * torch.rand(samples, 1, PIXELS, PIXELS, generator=generator)
    images[labels == 0, :, 1:3, 2:6] += 0.6
    images[labels == 1, :, 5:7, 2:6] += 0.6
    return images, labels
