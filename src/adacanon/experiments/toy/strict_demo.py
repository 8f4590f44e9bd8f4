"""The strict grid signal task in a very small version, for the demo."""

import time
from collections.abc import Callable

import torch

from adacanon.experiments.toy.orientation import TOY_STRICT, build, task_of
from adacanon.reports.hits import Hits
from adacanon.runs.run import Run
from adacanon.training.learner import Learner
from adacanon.training.loop import DataSplit, TrainingControl, stratified_folds, train
from adacanon.training.records import Record
from adacanon.training.schedule import Schedule

SHOWN = ("GCN", "GIN", "Gram MLP", "A-NLSF")
"""Rows of `toy-strict`: two that pass messages, the control, and adaptive canonicalization."""
SAMPLES, EPOCHS, HALVES = 600, 20, 2


def graph_records(*, samples: int = SAMPLES, epochs: int = EPOCHS, on_epoch: Callable[[str], None]) -> list[Record]:
    """Train every row on one half of the samples and test it on the other."""
    return [_measured(row, samples, epochs, on_epoch) for row in SHOWN]


def example_record(*, samples: int = SAMPLES) -> Record:
    """The two channels of the first sample of each class, as rows of the grid."""
    task = task_of(_run("A-NLSF", samples, EPOCHS))
    first = [int((task.labels == label).nonzero()[0, 0]) for label in (0, 1)]
    grids = task.signals[first].unflatten(1, (task.size, task.size)).movedim(-1, 1)
    return {"kind": "signals", "grids": [[[[round(v, 2) for v in r] for r in g] for g in s] for s in grids.tolist()]}


def _run(row: str, samples: int, epochs: int) -> Run:
    few = {"samples": samples, "epochs": epochs, "folds": HALVES}
    return Run.of(TOY_STRICT.name, row, "accuracy", 0, TOY_STRICT.settings_of(row, "accuracy", "demo") | few)


def _measured(row: str, samples: int, epochs: int, on_epoch: Callable[[str], None]) -> Record:
    run = _run(row, samples, epochs)
    task, schedule = task_of(run), Schedule.of(run.options())
    train_index, test = stratified_folds(task.labels, HALVES, generator=torch.Generator().manual_seed(0))[0]
    control = TrainingControl(on_epoch=lambda epoch, loss: on_epoch(f"Graphs: {row}"))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        learner = build(TOY_STRICT.row(row), task, run.options(), train=train_index, seed=0)
        begin = time.process_time()
        split = DataSplit(train_index, train_index[:0], test)
        train(learner, split, schedule, generator=torch.Generator().manual_seed(0), control=control)
    seconds = round(time.process_time() - begin, 2)
    return {"kind": "graphs", "method": row, "hits": _hits(learner, test, schedule.batch), "seconds": seconds}


@torch.no_grad()
def _hits(learner: Learner, test: torch.Tensor, batch: int) -> str:
    """A 1 for every test sample that is named rightly, and a 0 for the others."""
    learner.module.eval()
    scores = torch.cat([learner.scores(rows) for rows in test.split(batch)])
    return Hits.of(scores.argmax(1) == learner.labels[test]).outcomes
