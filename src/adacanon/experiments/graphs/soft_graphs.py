"""A-NLSF under a soft maximum over its draws: what is measured of it as its temperature changes.

Everything is measured on graphs that are held out of the training and validation part of the first split of ``tu``; the
test part of that split is not used.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import torch
from torch import Tensor

from adacanon.errors import InputError
from adacanon.experiments.graphs import tu
from adacanon.experiments.graphs.changed_graphs import Preparation, moved, signal_paths
from adacanon.experiments.graphs.fast_graphs import METHOD
from adacanon.experiments.graphs.spectral_methods import node_deviations, node_signals, partition_of
from adacanon.experiments.graphs.tu_data import TUData, split_of, tu_data
from adacanon.experiments.graphs.tu_preparation import Read, prepare_graphs
from adacanon.graphs.encoded_anlsf import EncodedANLSF
from adacanon.graphs.framed_graphs import FramedGraphs
from adacanon.runs.choices import Choices
from adacanon.runs.executors import Executor
from adacanon.runs.run import Run, Settings
from adacanon.runs.seeded import train_seeded
from adacanon.training.calibration import calibration_error, scaled_calibration_error
from adacanon.training.loop import DataSplit, TrainingControl
from adacanon.training.schedule import Schedule
from adacanon.training.smoke import shortened

EPOCHS = 100
PATHS, STEPS = 8, 65
"""Graphs whose signals move along a path, and the steps of each."""


def graph_settings(data_set: str, *, choices: Choices | None = None) -> Settings:
    """Those of A-NLSF in ``tu`` on a data set, for a fixed number of epochs; which data set is among them."""
    every = tu.settings(tu.TU.row(METHOD), data_set, "cpu", choices=choices)
    own = {name: value for name, value in every.items() if name != "patience"}
    return {**own, "data": data_set, "epochs": EPOCHS, "cosine": True, "paths": PATHS, "path_steps": STEPS}


def read_by(run: Run) -> Read:
    """What a run reads of its data set."""
    options = run.options()
    return tu.read_with(options["data"], METHOD, options)


def prepare(runs: Sequence[Run], *, executor: Executor, show: bool) -> None:
    """What the runs share: spectra, frames and return probabilities."""
    prepare_graphs(runs, read_by, executor=executor, show=show)


def inner_split(data: TUData, *, seed: int) -> DataSplit:
    """The training and validation graphs of the first split of ``tu``, of which a random third is held out; it stands
    where a test part would.
    """
    first = split_of(data, 0)
    graphs = torch.cat([first.train, first.validation])
    order = graphs[torch.randperm(len(graphs), generator=torch.Generator().manual_seed(seed))]
    held_out = len(graphs) // 3
    return shortened(DataSplit(order[held_out:], order[:0], order[:held_out]))


def figures(run: Run, control: TrainingControl) -> dict[str, float]:
    """Train, and measure on the graphs held out: the last epoch, nothing is chosen.

    Returns:
        accuracy, calibration errors and "changed", the share of predictions that other bases and orders of the nodes
        change, in percent; "moved", the mean change of a score under them, and "jump", its largest change between
        neighbours on a path of signals, in units of the deviation of scores between graphs; "effective_forms".
    """
    options = run.options()
    if options.get("scores", "logits") != "logits" or options.get("learned"):
        raise InputError("A-NLSF has rows with a fixed temperature of logits. Hint: leave scores and learned out")
    data = tu_data(options["data"], options["features"])
    split = inner_split(data, seed=run.split)
    learner, history = train_seeded(
        run,
        lambda: tu.METHODS[METHOD](data, options, split.train, run.split),
        split,
        Schedule.of(options),
        control,
    )
    module = learner.module.eval()
    assert isinstance(module, EncodedANLSF)
    batch, labels = options["batch"], data.dataset.labels[split.test]
    deviation = node_deviations(data, node_signals(data, options["returns"]), split.train)
    preparation = Preparation(partition_of(data, options), options["operator"], options["frame"], options["returns"])
    changed = changed_graphs(data, preparation, run.split, options["paths"], options["path_steps"])
    with torch.no_grad():
        scores = torch.cat([learner.scores(rows) for rows in split.test.split(batch)])
        others, on_paths = (_scored(module, graphs, deviation, batch=batch) for graphs in changed)
    unit = float(scores.std(0).mean().clamp(min=1e-12))
    steps = on_paths.unflatten(0, (-1, options["path_steps"])).diff(dim=1)
    return {
        "accuracy": 100 * float((scores.argmax(1) == labels).double().mean()),
        "calibration_error": calibration_error(scores, labels),
        "scaled_calibration_error": scaled_calibration_error(scores, labels),
        "changed": 100 * float((others.argmax(1) != scores.argmax(1)).double().mean()),
        "moved": float((others - scores).abs().mean()) / unit,
        "jump": float(steps.abs().amax((1, 2)).mean()) / unit,
        "effective_forms": effective_forms(module, [learner.inputs(rows)[0] for rows in split.test.split(batch)]),
        "train_loss": history.loss,
        "seconds": history.seconds,
    }


class Changed(NamedTuple):
    """The graphs held out with other bases and orders of nodes, and some of them on paths of signals."""

    moved: FramedGraphs
    paths: FramedGraphs


@lru_cache(maxsize=1)
def changed_graphs(data: TUData, preparation: Preparation, seed: int, paths: int, steps: int) -> Changed:
    """The same for all rows of a seed."""
    graphs = [data.dataset.graphs[i] for i in inner_split(data, seed=seed).test.tolist()]
    return Changed(moved(graphs, preparation, seed=seed), signal_paths(graphs[:paths], preparation, steps, seed=seed))


def effective_forms(module: EncodedANLSF, batches: list[FramedGraphs]) -> float:
    """How many draws decide the score of the predicted class, on average over the graphs."""
    if module.temperature is None:
        return 1.0
    numbers = []
    for graphs in batches:
        found = module.canonicalize(graphs)
        assert found.effective_forms is not None
        numbers.append(found.effective_forms.gather(1, found.logits.argmax(1, keepdim=True)))
    return float(torch.cat(numbers).mean())


def _scored(module: EncodedANLSF, graphs: FramedGraphs, deviation: Tensor, *, batch: int) -> Tensor:
    parts = (graphs[rows] for rows in torch.arange(len(graphs)).split(batch))
    return torch.cat([module(replace(part, signals=part.signals / deviation)) for part in parts])
