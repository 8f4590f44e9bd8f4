"""How far transformations of images are from independent implementations: kornia, and averages in exact fractions.

In float32 on images of noise, the hardest ones: neighbouring pixels differ by as much as they can.
"""

import warnings
from collections.abc import Callable

import torch
from tests.oracles.area_average import area_average
from torch import Tensor

from adacanon.images import Composed, Dilations, PlaneMaps, Reflections, Rotations, Translations, Truncations
from benchmarks.frame import measure

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import kornia.geometry.transform as kornia

Act = Callable[[Tensor, Tensor], Tensor]

KORNIA: dict[str, tuple[PlaneMaps, Act]] = {
    "rotation": (Rotations(), lambda x, u: kornia.rotate(x, u.rad2deg(), align_corners=True)),
    "translation": (
        Translations(0.25),
        lambda x, u: kornia.translate(x, u * min(x.shape[2:]), align_corners=True),
    ),
    "dilation": (
        Dilations(0.5, 2.0),
        lambda x, u: kornia.scale(x, u.exp().expand(-1, 2), align_corners=True),
    ),
}


def transformed(family: PlaneMaps | Truncations, images: Tensor, u: object) -> Tensor:
    return family.transform(images, u, torch.arange(len(images)))


def against_kornia(images: Tensor, generator: torch.Generator) -> list[measure.Row]:
    found = []
    for name, (family, theirs) in KORNIA.items():
        u = family.points.sample(len(images), generator=generator).float()
        found.append(row(name, "kornia", transformed(family, images, u), theirs(images, u)))
    return found


def against_fractions(images: Tensor, generator: torch.Generator) -> measure.Row:
    family = Truncations()
    u = family.points.sample(len(images), generator=generator).float()
    expected = [area_average(image.numpy(), point) for image, point in zip(images[:, 0], u.tolist(), strict=True)]
    exact = torch.stack([torch.from_numpy(image) for image in expected])
    return row("truncation", "exact fractions", transformed(family, images, u)[:, 0].double(), exact)


def on_pixels(images: Tensor) -> list[measure.Row]:
    """Maps from pixels to pixels, against indexing."""
    turns = torch.arange(len(images)) % 4
    turned = torch.stack([image.rot90(int(k), (1, 2)) for image, k in zip(images, turns, strict=True)])
    shift = torch.tensor([3.0, -2.0]).expand(len(images), 2) / images.shape[-1]
    moved = torch.nn.functional.pad(images, (3, -3, -2, 2))
    neutral = (torch.zeros(len(images)), torch.zeros(len(images), 2))
    return [
        row("identity", "the image", transformed(Composed(Rotations(), Translations()), images, neutral), images),
        row("quarter turns", "indexing", transformed(Rotations(), images, turns * (torch.pi / 2)), turned),
        row("whole-pixel shift", "indexing", transformed(Translations(), images, shift), moved),
        row("reflection", "indexing", transformed(Reflections(), images, torch.ones_like(turns)), images.flip(3)),
    ]


def row(name: str, other: str, ours: Tensor, theirs: Tensor) -> measure.Row:
    return {"transformation": name, "against": other, "largest difference": float((ours - theirs).abs().max())}


def main() -> None:
    parser = measure.options(__doc__ or "")
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--side", type=int, default=32)
    options = measure.start(parser)
    generator = torch.Generator().manual_seed(options.seed)
    images = torch.rand(options.batch, 3, options.side, options.side, generator=generator)
    small = torch.rand(16, 1, 9, 9, generator=generator)
    rows = [*against_kornia(images, generator), against_fractions(small, generator), *on_pixels(images)]
    title = f"{options.batch} images of noise, 3 x {options.side} x {options.side}, float32; fractions on 16 of 9 x 9"
    measure.report(rows, title=title, path=options.json)


if __name__ == "__main__":
    main()
