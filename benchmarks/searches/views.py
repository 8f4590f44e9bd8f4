"""What coarse views of clouds are good for: poses, and with a correction also classes.

A trained AC-PointNet, clouds in random poses, 50 draws. For the best pose on the view: its value on the whole cloud, as
a share of the gap between the mean of the draws and the best of them, for the true class and for the others. For
classes: how often the view names the hardest other class as the whole cloud does, and how often the class that the full
search finds is among three contenders: from the scores on the view as they are, calibrated, and with a pilot.
"""

import argparse
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

from adacanon import CoarseToFine
from adacanon.core import ClassScore, Landscape
from adacanon.core.space import candidates
from adacanon.maximizers.coarse_to_fine import pilot_of
from adacanon.points import Rotations
from adacanon.spaces import SO3
from benchmarks.frame import measure
from benchmarks.frame.trained import add_options, some_of, trained

BATCH = 32


def section(options: argparse.Namespace) -> measure.Section:
    """No headline: this is why the others are what they are."""
    model, data = trained({"epochs": options.epochs, "points": options.points})
    chosen = some_of(data, options.part, options.clouds)
    search = model.search
    assert isinstance(search, CoarseToFine)
    parts = [
        one_batch(model.network, search, data.points[rows], data.labels[rows], draws=options.draws, seed=options.seed)
        for rows in chosen.split(BATCH)
    ]
    found = {key: float(torch.cat([part[key] for part in parts]).double().mean()) for key in parts[0]}
    rows: list[measure.Row] = [{"measure": key, "share": value} for key, value in found.items()]
    return {}, rows


def one_batch(
    network: Callable[[Tensor], Tensor],
    search: CoarseToFine,
    clouds: Tensor,
    labels: Tensor,
    *,
    draws: int,
    seed: int,
) -> dict[str, Tensor]:
    """Every measure for every cloud."""
    landscape = Landscape(network, Rotations(), ClassScore(), clouds)
    rotations = SO3().sample(draws, generator=torch.Generator().manual_seed(seed))
    block = candidates(landscape.space, landscape.place(rotations), len(clouds))
    whole = landscape(block)
    with landscape.coarse(search.size, low_precision=search.low_precision) as view:
        seen, winners = view(block).max(0)
        points = rotations.to(clouds)[winners].unsqueeze(0)
        pilot = pilot_of(landscape, view, points, seen.unsqueeze(0))
    best, gap = whole.amax(0), whole.amax(0) - whole.mean(0)
    share = (whole.gather(0, winners.unsqueeze(0))[0] - whole.mean(0)) / gap.clamp(min=1e-6)
    true = functional.one_hot(labels, best.shape[1]).bool()
    calibrated = seen if search.calibration is None else search.calibration(seen)
    return {
        "value found, true class": share[true],
        "value found, other classes": share.masked_select(~true).view(len(clouds), -1).mean(1),
        **{
            f"{name}, {how}": measured(values, best, true)
            for how, values in (("raw", seen), ("calibrated", calibrated), ("pilot", seen + pilot.shift))
            for name, measured in (("hardest class right", hardest_right), ("winner among three contenders", in_three))
        },
    }


def hardest_right(values: Tensor, best: Tensor, true: Tensor) -> Tensor:
    """Whether both name the same class as the largest of those that are not the true one."""
    return values.masked_fill(true, -torch.inf).argmax(1) == best.masked_fill(true, -torch.inf).argmax(1)


def in_three(values: Tensor, best: Tensor, true: Tensor) -> Tensor:
    """Whether the class that the full search finds is among the three largest values."""
    return (values.topk(min(3, values.shape[1])).indices == best.argmax(1, keepdim=True)).any(1)


def parser() -> argparse.ArgumentParser:
    parser = measure.section_options(__doc__ or "", quick={"clouds": 8, "epochs": 0, "points": 64, "draws": 5})
    parser.add_argument("--clouds", type=int, default=320)
    parser.add_argument("--draws", type=int, default=50)
    add_options(parser)
    return parser


def title(options: argparse.Namespace) -> str:
    return f"{options.clouds} {options.part} clouds, {options.draws} draws"


if __name__ == "__main__":
    measure.run_section(parser(), section, title)
