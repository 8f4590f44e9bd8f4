"""Whether batch normalization is what an AC network on clouds lacks.

AC rows of `modelnet-held-out`, with the full search on whole clouds. In training, statistics are those of the forms
that the cheaper search of a step finds. Here they are computed anew on the forms that the full search finds for some
training shapes, those of the true class and of the hardest other one, and the accuracy on the shapes held out with
both.
"""

import argparse
import copy

import torch
from torch import Tensor, nn

from adacanon.core import Canonicalized
from adacanon.experiments.clouds.rotated_clouds import RotatedClouds
from benchmarks.frame import measure
from benchmarks.searches.training_views import BATCH, ROWS, learner_of


def section(options: argparse.Namespace) -> measure.Section:
    """No headline: this is why rows are what they are."""
    rows: list[measure.Row] = []
    for name in options.rows:
        learner, data = learner_of(name, options.epochs)
        model = learner.module
        assert isinstance(model, Canonicalized)
        order = torch.randperm(len(data.split.train), generator=torch.Generator().manual_seed(options.seed))
        anew = with_statistics_of(model, data, data.split.train[order[: options.shapes]])
        accuracies = [held_out_accuracy(each, data) for each in (model, anew)]
        names = "statistics as trained, %", "statistics computed anew, %"
        rows.append({"network": name, **dict(zip(names, accuracies, strict=True))})
    return {}, rows


@torch.no_grad()
def with_statistics_of(model: Canonicalized, data: RotatedClouds, index: Tensor) -> Canonicalized:
    """A copy with running statistics of the forms of some shapes: the mean over batches."""
    found = copy.deepcopy(model)
    assert isinstance(found.network, nn.Module)
    batches = [forms_of(model, data, rows) for rows in index.split(BATCH)]
    for module in found.network.modules():
        if isinstance(module, nn.modules.batchnorm._BatchNorm):
            module.reset_running_stats()
            module.momentum = None
            module.train()
    for forms in batches:
        found.network(forms)
    return found.eval()


def forms_of(model: Canonicalized, data: RotatedClouds, index: Tensor) -> Tensor:
    """The forms of the true class and of the hardest other one, (2 * shapes, points, 3)."""
    canonical, labels = model.canonicalize(data.points[index]), data.labels[index]
    others = canonical.scores.scatter(1, labels.unsqueeze(1), -torch.inf).argmax(1)
    forms, shape = canonical.forms(), torch.arange(len(index))
    assert isinstance(forms, Tensor)
    return torch.cat([forms[shape, labels], forms[shape, others]])


@torch.no_grad()
def held_out_accuracy(model: Canonicalized, data: RotatedClouds) -> float:
    """In percent."""
    answers = torch.cat([model(data.points[index]).argmax(1) for index in data.split.test.split(BATCH)])
    return 100 * float((answers == data.labels[data.split.test]).double().mean())


def parser() -> argparse.ArgumentParser:
    parser = measure.section_options(__doc__ or "", quick={"epochs": 1, "shapes": 64, "rows": ["AC-PointNet (paper)"]})
    parser.add_argument("--rows", nargs="+", choices=ROWS, default=list(ROWS))
    parser.add_argument("--shapes", type=int, default=640)
    parser.add_argument("--epochs", type=int, default=None, help="of the training, instead of the table's own")
    return parser


def title(options: argparse.Namespace) -> str:
    return f"Accuracy on training shapes held out, batch statistics of {options.shapes} others"


if __name__ == "__main__":
    measure.run_section(parser(), section, title)
