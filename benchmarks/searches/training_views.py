"""How well the search of a training step finds the forms that are trained on.

AC rows of `modelnet-held-out`, on the shapes held out. A training step may compare the 24 anchors of a cloud on a view
of some of its points, or some of the anchors on the whole cloud. For both: how often the anchor so found is the best
one on the whole cloud, and its value there as a share of the gap between the mean of the anchors and the best of them;
for the true class and for the hardest other one, the two forms that a step trains on. Beside it what the search costs,
in passes over the whole cloud.
"""

import argparse

import torch
from torch import Tensor

from adacanon.core import Canonicalized, ClassScore, Landscape
from adacanon.experiments.clouds import modelnet
from adacanon.experiments.clouds.held_out import HELD_OUT
from adacanon.experiments.clouds.rotated_clouds import RotatedClouds
from adacanon.folders import cache_folder
from adacanon.runs.run import Run
from adacanon.training.learner import Learner
from adacanon.training.loop import TrainingControl
from benchmarks.frame import measure

BATCH, ANCHORS, POINTS = 32, 24, 128
ROWS = ("AC-PointNet (paper)", "AC-DGCNN (paper)")


def section(options: argparse.Namespace) -> measure.Section:
    """No headline: this is why rows are what they are."""
    rows: list[measure.Row] = []
    for name in options.rows:
        learner, data = learner_of(name, options.epochs)
        chosen = data.split.test[: options.clouds]
        for size, anchors in (*((size, ANCHORS) for size in options.sizes), *((POINTS, n) for n in options.anchors)):
            parts = [one_batch(learner, data, index, size, anchors) for index in chosen.split(BATCH)]
            found = {key: float(torch.cat([part[key] for part in parts]).double().mean()) for key in parts[0]}
            passes = anchors * min(size, POINTS) / POINTS
            rows.append({"network": name, "points of the view": size, "anchors": anchors, "passes": passes, **found})
    return {}, rows


def learner_of(row: str, epochs: int | None) -> tuple[Learner, RotatedClouds]:
    """What the table has trained, or trained now."""
    settings = HELD_OUT.settings_of(row, "accuracy")
    run = Run.of(HELD_OUT.name, row, "accuracy", 0, settings if epochs is None else {**settings, "epochs": epochs})
    control = TrainingControl(cache_folder() / "benchmarks" / f"{run.key}.pt")
    learner, data = modelnet.kept_or_trained(run, control, HELD_OUT.row(row))
    learner.module.eval()
    return learner, data


@torch.no_grad()
def one_batch(learner: Learner, data: RotatedClouds, index: Tensor, size: int, anchors: int) -> dict[str, Tensor]:
    """Every measure for every cloud; of the anchors, so many are drawn."""
    model = learner.module
    assert isinstance(model, Canonicalized)
    clouds, labels = data.points[index], data.labels[index]
    landscape = Landscape(model.network, model.family, ClassScore(), clouds)
    block = model.family.anchor(clouds).transpose(0, 1)  # type: ignore[union-attr]
    whole = landscape(block)
    tried = torch.randperm(len(block), generator=torch.Generator().manual_seed(int(index[0])))[:anchors]
    with landscape.coarse(size, low_precision=False) as view:
        winners = tried[view(block[tried]).argmax(0)]
    others = whole.amax(0).scatter(1, labels.unsqueeze(1), -torch.inf).argmax(1)
    found: dict[str, Tensor] = {}
    for name, form in (("true class", labels), ("hardest other", others)):
        values = whole.gather(2, form.expand(len(whole), -1).unsqueeze(2)).squeeze(2)
        chosen = values.gather(0, winners.gather(1, form.unsqueeze(1)).T).squeeze(0)
        best, mean = values.amax(0), values.mean(0)
        found |= {f"best found, {name}": chosen == best}
        found |= {f"value found, {name}": (chosen - mean) / (best - mean).clamp(min=1e-6)}
    return found


def parser() -> argparse.ArgumentParser:
    parser = measure.section_options(
        __doc__ or "", quick={"epochs": 1, "clouds": 8, "sizes": [32], "anchors": [6], "rows": ["AC-PointNet (paper)"]}
    )
    parser.add_argument("--rows", nargs="+", choices=ROWS, default=list(ROWS))
    parser.add_argument("--sizes", type=int, nargs="+", default=[32, 64, 128])
    parser.add_argument("--anchors", type=int, nargs="*", default=[6, 12], help="drawn of the 24, on whole clouds")
    parser.add_argument("--clouds", type=int, default=400)
    parser.add_argument("--epochs", type=int, default=None, help="of the training, instead of the table's own")
    return parser


def title(options: argparse.Namespace) -> str:
    return "24 anchors of clouds of 128 points, training shapes held out; shares of clouds and of gaps"


if __name__ == "__main__":
    measure.run_section(parser(), section, title)
