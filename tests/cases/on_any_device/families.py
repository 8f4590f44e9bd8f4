"""Every family of clouds and images: a search in it, its other verbs, and pictures and words for pages."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from adacanon import Canonicalized, Composition, Family, RandomSearch
from adacanon.core.pytree import Tree, cast_like, tensors
from adacanon.images import Dilations
from adacanon.images import Rotations as Turns
from adacanon.points import AxisRotations, DeepSet, Isometries, Rotations, Unpacked
from cases.image_cases import OUTSIDE, continuous, families, images
from cases.on_any_device.case import CLASSES, Case, Move, of_model

POINTS = 10


def clouds(batch: int = 3, points: int = POINTS) -> Tensor:
    generator = torch.Generator().manual_seed(1)
    return torch.randn(batch, points, 3, generator=generator) * torch.tensor([1.0, 0.6, 0.3])


def mask() -> Tensor:
    return torch.arange(POINTS) < torch.tensor([[10], [7], [8]])


def padded() -> tuple[Tensor, Tensor]:
    return clouds(), mask()


def with_normals() -> Tensor:
    return torch.cat([clouds(), nn.functional.normalize(clouds().sin(), dim=2)], 2)


def pictures() -> Tensor:
    return images(3, 2, 6, 9, dtype=torch.float32)


def cloud_network(channels: int = 3) -> DeepSet:
    return DeepSet(CLASSES, channels=channels, widths=(8, 8), head=(8,))


class PictureNetwork(nn.Module):
    """Pictures of any size."""

    def __init__(self) -> None:
        super().__init__()
        self.convolution, self.head = nn.Conv2d(2, 6, 3, padding=1), nn.Linear(6, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.convolution(x).tanh().mean((2, 3)))


def verbs(family: Family, inputs: Callable[[], Any]) -> Case:
    """What a family says of a batch and of transformations, beside the forms."""

    def run(move: Move) -> dict[str, Tree]:
        g = family.prepare(move(inputs()))
        space, owner = family.space(g), move(torch.tensor([0, 1, 2]))
        u = cast_like(space.sample(3, generator=torch.Generator().manual_seed(0)), g)
        found = {
            "forms": family.transform(g, u, owner),
            "coarse views": family.coarse(g, 5),
            "anchors": family.anchor(g),
            "weighted anchors": family.weighted_anchor(g),
            "determined": family.determined(g),
            "real points": family.real_points(g),
        }
        words = family.describe(g, u, owner)
        assert words is None or len(words) == 3
        family.picture(_row(found["forms"]))
        return {name: value for name, value in found.items() if value is not None}

    return run


def _row(form: Tree) -> Tree:
    return form[0] if isinstance(form, Tensor) else tuple(leaf[0] for leaf in tensors(form))


TURNED = {
    "Rotations": (Rotations(), clouds, cloud_network),
    "AxisRotations": (AxisRotations((0.0, 0.6, 0.8)), clouds, cloud_network),
    "Isometries": (Isometries(), clouds, cloud_network),
    "Rotations with normals": (Rotations(vectors=2), with_normals, lambda: cloud_network(6)),
    "Isometries with normals": (Isometries(vectors=2), with_normals, lambda: cloud_network(6)),
    "Rotations of padded clouds": (Rotations(), padded, lambda: Unpacked(cloud_network())),
    "AxisRotations of padded clouds": (AxisRotations((0, 0, 1)), padded, lambda: Unpacked(cloud_network())),
    "Composition of clouds": (Composition(AxisRotations((0, 0, 1)), Isometries()), clouds, cloud_network),
}

SHOWN = {repr(family): family for family in (*families("zero"), Composition(Turns(), Dilations()))}
EDGES = {repr(family): family for outside in OUTSIDE for family in continuous(outside)}


def _searched(family: Family, inputs: Callable[[], Any], network: Callable[[], nn.Module]) -> Case:
    return of_model(lambda: Canonicalized(network(), family, RandomSearch(5)), inputs)


CASES: dict[str, Case] = {
    **{f"family {name}": _searched(*parts) for name, parts in TURNED.items()},
    **{f"family {name}, verbs": verbs(family, inputs) for name, (family, inputs, _) in TURNED.items()},
    **{f"family of images {name}": _searched(family, pictures, PictureNetwork) for name, family in SHOWN.items()},
    **{f"family of images {name}, verbs": verbs(family, pictures) for name, family in (SHOWN | EDGES).items()},
}
