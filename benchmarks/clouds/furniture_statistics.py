"""How much simple statistics tell about the classes of `random_furniture`, beside a PointNet on upright shapes.

An MLP reads numbers that no rotation changes: the root variances along the principal axes, the sorted distances of the
points to their centre, or every hundredth of the sorted distances between points. The first two are what a class
should not be told by; the last nearly determine a shape.
"""

import argparse
from collections.abc import Callable

import torch
from torch import Tensor, nn

from adacanon.experiments.clouds.furniture import Shapes, Sizes, network, predicted
from benchmarks.frame import measure

STATISTICS: dict[str, Callable[[Tensor], Tensor]] = {
    "root variances": lambda clouds: torch.linalg.eigvalsh(clouds.mT @ clouds / clouds.shape[1]).clamp(min=0).sqrt(),
    "distances to the centre": lambda clouds: clouds.norm(dim=2).sort(1).values,
    "distances between points": lambda clouds: torch.stack([torch.pdist(c).sort().values[::100] for c in clouds]),
}
"""From clouds (n, points, 3) to (n, numbers)."""


def rows(options: argparse.Namespace) -> list[measure.Row]:
    """One for each kind of statistics, and one for the PointNet."""
    torch.manual_seed(options.seed)
    shapes = Shapes.drawn(Sizes(training=options.training, test=options.test), seed=options.seed)
    classes = len(shapes.furniture.class_names)
    found: list[measure.Row] = []
    for name, statistics in STATISTICS.items():
        train, test = standardised(statistics(shapes.train), statistics(shapes.upright))
        right = accuracy(mlp(train.shape[1], classes), train, test, shapes, options.epochs, options.seed)
        found.append({"read": name, "network": "MLP", "accuracy, %": right})
    right = accuracy(network(classes), shapes.train, shapes.upright, shapes, Sizes().plain, options.seed)
    return [*found, {"read": "upright points", "network": "PointNet", "accuracy, %": right}]


def mlp(inputs: int, classes: int) -> nn.Module:
    """Two hidden layers."""
    return nn.Sequential(nn.Linear(inputs, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, classes))


def standardised(train: Tensor, test: Tensor) -> tuple[Tensor, Tensor]:
    """By the mean and the deviation of the training part."""
    mean, deviation = train.mean(0), train.std(0).clamp(min=1e-9)
    return (train - mean) / deviation, (test - mean) / deviation


def accuracy(module: nn.Module, train: Tensor, test: Tensor, shapes: Shapes, epochs: int, seed: int) -> float:
    """On the test shapes after some epochs, in percent."""
    generator = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.Adam(module.parameters(), lr=1e-3)
    for _ in range(epochs):
        for part in torch.randperm(len(train), generator=generator).split(32):
            optimizer.zero_grad()
            nn.functional.cross_entropy(module(train[part]), shapes.train_labels[part]).backward()
            optimizer.step()
    return 100 * float((predicted(module.eval(), test) == shapes.labels).double().mean())


def parser() -> argparse.ArgumentParser:
    parser = measure.options(__doc__ or "")
    parser.add_argument("--training", type=int, default=Sizes().training, help="shapes")
    parser.add_argument("--test", type=int, default=Sizes().test, help="shapes")
    parser.add_argument("--epochs", type=int, default=60, help="of the MLPs")
    return parser


if __name__ == "__main__":
    chosen = measure.start(parser())
    measure.report(rows(chosen), title=f"Furniture, {chosen.test} test shapes", path=chosen.json)
