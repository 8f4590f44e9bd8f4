"""What a pass over some forms leaves out of the gradient: ``Objective(forms=m)`` against all forms.

AC-PointNet on ModelNet40, at initialization and trained (``benchmarks.frame.cascade_networks``), the 24 rotations into
principal axes. For each batch of training shapes the gradient of all parameters is computed with all forms and with
some. Their cosine and the ratio of their lengths are means over batches, once with batch normalization in training mode,
where its statistics are those of the forms of the pass, and once with fixed statistics, where only the forms differ.
Dropout is off.
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
FORMS = (1.0, 2.0, 4.0)


def rows(options: argparse.Namespace) -> Iterator[measure.Row]:
    """One for each network, loss and number of forms."""
    for name, epochs in (("at initialization", 0), ("trained", options.epochs)):
        stages = ((options.points, epochs, STAGES[0][2]),)
        subject = cascade_networks.clouds_of(_seeded(), "AC-PointNet", classes=40, stages=stages)
        index = subject.split.train[: options.batches * options.batch]
        batches = [(subject.samples[i], subject.labels[i]) for i in index[_mixed(len(index))].split(options.batch)]
        for loss in LOSSES:
            for forms in FORMS:
                compared = [_compared(subject.model.network, *batch, loss, forms) for batch in batches]
                columns = {key: sum(one[key] for one in compared) / len(compared) for key in compared[0]}
                yield {"network": name, "loss": loss, "forms": forms, **columns}


def _compared(network: Any, clouds: Tensor, labels: Tensor, loss: str, forms: float) -> dict[str, float]:
    found: dict[str, float] = {}
    for mode, training in (("batch statistics", True), ("fixed statistics", False)):
        full, some = (gradient(network, clouds, labels, loss, m, training=training) for m in (None, forms))
        found[f"cosine, {mode}"] = float(nn.functional.cosine_similarity(full, some, dim=0))
        found[f"length, {mode}"] = float(some.norm() / full.norm())
    return found


def gradient(
    network: nn.Module, clouds: Tensor, labels: Tensor, loss: str, forms: float | None, *, training: bool
) -> Tensor:
    """Of all parameters, one after the other; statistics and modes are left as they were."""
    state = {name: value.clone() for name, value in network.state_dict().items()}
    model = Canonicalized(network, Rotations(), AnchoredSearch(24)).train()
    for module in network.modules():
        if isinstance(module, nn.Dropout):
            module.eval()
        if isinstance(module, nn.BatchNorm1d):
            module.train(training)
    model.zero_grad()
    Objective(model, loss=LOSSES[loss], forms=forms).train()(clouds, labels).loss.backward()
    found = torch.cat([p.grad.flatten() for p in network.parameters() if p.grad is not None])
    network.load_state_dict(state)
    return found


def _seeded() -> PointNet:
    return cascade_networks.seeded(lambda: PointNet(40))  # type: ignore[return-value]


def _mixed(count: int) -> Tensor:
    return torch.randperm(count, generator=torch.Generator().manual_seed(0))


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
