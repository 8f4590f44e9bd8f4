"""What a transformation of an image costs beside one forward pass of a small network; medians of interleaved passes.

Also with derivatives by the parameters, as a refinement step needs them.
"""

import torch
from torch import Tensor, nn

from adacanon.core import Family
from adacanon.core.pytree import Tree, cast_like, map_tensors, tensors
from adacanon.images import AffineMaps, Composed, Reflections, Rotations, Translations, Truncations, Windows
from benchmarks.frame import measure

FAMILIES: dict[str, Family] = {
    "rotation": Rotations(),
    "rotation in a disc": Rotations("disc"),
    "quarter turns and reflections": Composed(Rotations(), Reflections()),
    "rotation, translation, reflection, at once": Composed(Rotations(), Translations(), Reflections()),
    "affine map": AffineMaps(),
    "window, bilinear": Windows(),
    "truncation, exact averages": Truncations(),
}


class SmallCNN(nn.Sequential):
    """Three convolutions of 32, 64 and 64 channels, two of them with stride 2."""

    def __init__(self, channels: int, classes: int = 10) -> None:
        widths = (channels, 32, 64, 64)
        layers: list[nn.Module] = []
        for number, stride in enumerate((1, 2, 2)):
            layers += [nn.Conv2d(widths[number], widths[number + 1], 3, stride=stride, padding=1), nn.ReLU()]
        super().__init__(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(widths[-1], classes))


def transformations(name: str, images: Tensor, generator: torch.Generator) -> tuple[Family, Tensor, Tree]:
    """A family, its prepared images, and one draw for each."""
    family = FAMILIES[name]
    g = family.prepare(images)
    u = cast_like(family.space(g).sample(len(g), generator=generator), g)
    if name == "quarter turns and reflections":
        u = ((u[0] / (torch.pi / 2)).round() * (torch.pi / 2), u[1])
    return family, g, u


def forward(family: Family, g: Tensor, u: Tree) -> None:
    with torch.no_grad():
        family.transform(g, u, torch.arange(len(g)))


def backward(family: Family, g: Tensor, u: Tree) -> None:
    u = map_tensors(lambda leaf: leaf.clone().requires_grad_(leaf.is_floating_point()), u)
    forms = family.transform(g, u, torch.arange(len(g)))
    if forms.requires_grad:
        torch.autograd.grad(forms.sum(), [leaf for leaf in tensors(u) if leaf.requires_grad])


def rows(images: Tensor, *, repetitions: int, clock: measure.Clock, generator: torch.Generator) -> list[measure.Row]:
    """The network alone, then every family."""
    network = SmallCNN(images.shape[1]).eval()
    drawn = {name: transformations(name, images, generator) for name in FAMILIES}

    def plain() -> None:
        with torch.no_grad():
            network(images)

    actions = {"network": plain}
    actions |= {name: lambda parts=parts: forward(*parts) for name, parts in drawn.items()}
    actions |= {f"{name}, slopes": lambda parts=parts: backward(*parts) for name, parts in drawn.items()}
    seconds = measure.medians(actions, repetitions=repetitions, clock=clock)

    def row(name: str) -> measure.Row:
        floating = any(leaf.is_floating_point() for leaf in tensors(drawn[name][2]))
        slopes = 1e6 * seconds[f"{name}, slopes"] / len(images) if floating else None
        return {
            "transformation": name,
            "µs per image": 1e6 * seconds[name] / len(images),
            "share of a forward pass": seconds[name] / seconds["network"],
            "µs with derivatives": slopes,
        }

    pass_alone = {
        "transformation": "small network, forward pass",
        "µs per image": 1e6 * seconds["network"] / len(images),
    }
    return [pass_alone | {"share of a forward pass": 1.0, "µs with derivatives": None}, *map(row, FAMILIES)]


def main() -> None:
    parser = measure.options(__doc__ or "")
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--side", type=int, default=32)
    parser.add_argument("--channels", type=int, default=3)
    parser.add_argument("--repetitions", type=int, default=15)
    parser.add_argument("--clock", choices=measure.CLOCKS, default="wall", help="processor: undisturbed by other jobs")
    options = measure.start(parser)
    generator = torch.Generator().manual_seed(options.seed)
    images = torch.rand(options.batch, options.channels, options.side, options.side, generator=generator)
    clock = measure.CLOCKS[options.clock]
    found = rows(images, repetitions=options.repetitions, clock=clock, generator=generator)
    size = f"{options.channels} x {options.side} x {options.side}"
    title = f"Batch {options.batch}, images of {size}; {options.threads} threads, {options.clock} time"
    measure.report(found, title=title, path=options.json)


if __name__ == "__main__":
    main()
