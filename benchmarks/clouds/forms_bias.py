"""What a pass over some forms leaves out of the gradient: ``Objective(forms=m)`` against all forms.

A trained AC-PointNet on ModelNet40 (``benchmarks.frame.cascade_networks``), the 24 rotations into principal axes. For
each batch of training shapes the gradient of all parameters is computed with all forms and with some. Their cosine and
the ratio of their lengths are means over batches, once with batch normalization in training mode, where its statistics
are those of the forms of the pass, and once with fixed statistics, where only the forms differ. Dropout is off. With
forty forms, one for each class, no form is left out: what still differs is that every class is scored at the best of
all forms of its shape as the batch statistics make them, not at the one that the search found with running statistics.
"""

import argparse
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from adacanon import AnchoredSearch, Canonicalized, Objective
from adacanon.core.loss import LOSSES
from adacanon.points import PointNet, Rotations
from benchmarks.frame import cascade_networks, measure

STAGES = ((256, 8, 1e-3),)
FORMS = (1.0, 2.0, 4.0, 40.0)
MODES = {"batch statistics": True, "fixed statistics": False}


def rows(options: argparse.Namespace) -> Iterator[measure.Row]:
    """One for each loss and number of forms."""
    stages = ((options.points, options.epochs, STAGES[0][2]),)
    make = cascade_networks.seeded(lambda: PointNet(40))
    subject = cascade_networks.clouds_of(make, "AC-PointNet", classes=40, stages=stages)
    index = subject.split.train
    mixed = index[torch.randperm(len(index), generator=torch.Generator().manual_seed(options.seed))]
    parts = mixed[: options.batches * options.batch].split(options.batch)
    for loss in LOSSES:
        batches = [_compared(subject.model.network, subject.samples[i], subject.labels[i], loss) for i in parts]
        for forms in FORMS:
            found = [batch[forms] for batch in batches]
            yield {"loss": loss, "forms": forms, **{key: sum(x[key] for x in found) / len(found) for key in found[0]}}


def _compared(network: Any, clouds: Tensor, labels: Tensor, loss: str) -> dict[float, dict[str, float]]:
    """Cosines and ratios of lengths by the number of forms."""
    found: dict[float, dict[str, float]] = {forms: {} for forms in FORMS}
    for mode, training in MODES.items():
        full = gradient(network, clouds, labels, loss, None, training=training)
        for forms in FORMS:
            some = gradient(network, clouds, labels, loss, forms, training=training)
            found[forms][f"cosine, {mode}"] = float(nn.functional.cosine_similarity(full, some, dim=0))
            found[forms][f"length, {mode}"] = float(some.norm() / full.norm())
    return found


def gradient(
    network: nn.Module, clouds: Tensor, labels: Tensor, loss: str, forms: float | None, *, training: bool
) -> Tensor:
    """Of all parameters, one after the other; statistics and modes are left as they were."""
    state = {name: value.clone() for name, value in network.state_dict().items()}
    model = Canonicalized(network, Rotations(), AnchoredSearch(24))
    objective = Objective(model, loss=LOSSES[loss], forms=forms).train()
    for module in network.modules():
        if isinstance(module, nn.Dropout):
            module.eval()
        if isinstance(module, nn.BatchNorm1d):
            module.train(training)
    model.zero_grad()
    objective(clouds, labels).loss.backward()
    found = torch.cat([p.grad.flatten() for p in network.parameters() if p.grad is not None])
    network.load_state_dict(state)
    return found


def main(arguments: list[str] | None = None) -> list[measure.Row]:
    parser = measure.section_options(__doc__, quick={"points": 32, "epochs": 0, "batches": 1, "batch": 8})
    parser.add_argument("--points", type=int, default=STAGES[0][0], help="of every cloud")
    parser.add_argument("--epochs", type=int, default=STAGES[0][1], help="of the training")
    parser.add_argument("--batches", type=int, default=4, help="of shapes")
    parser.add_argument("--batch", type=int, default=32, help="shapes in a batch")
    options = measure.start(parser, arguments)
    found = list(rows(options))
    title = f"{options.batches} batches of {options.batch} clouds of {options.points} points, 40 classes, 24 rotations"
    measure.report(found, title=title, path=options.json)
    return found


if __name__ == "__main__":
    main()
