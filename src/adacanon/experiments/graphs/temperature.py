"""Loss and temperature of a soft maximum on graphs, tried together on graphs that are held out of the training and
validation part of the first split of ``tu``; its test part is not used.
"""

from dataclasses import replace
from functools import lru_cache
from itertools import product
from typing import NamedTuple

import torch
from torch import Tensor

from adacanon.experiments.graphs import tu
from adacanon.experiments.graphs.changed_graphs import Preparation, moved, signal_paths
from adacanon.experiments.graphs.fast_graphs import METHOD
from adacanon.experiments.graphs.spectral_methods import LOSSES, node_deviations, node_signals, partition_of
from adacanon.experiments.graphs.tu_data import TUData, split_of, tu_data
from adacanon.graphs.encoded_anlsf import EncodedANLSF
from adacanon.graphs.framed_graphs import FramedGraphs
from adacanon.runs.choices import Choices
from adacanon.runs.run import Run, Settings
from adacanon.runs.seeded import train_seeded
from adacanon.runs.table import Row, Table
from adacanon.training.loop import DataSplit, TrainingControl
from adacanon.training.schedule import Schedule
from adacanon.training.score_metrics import calibration_error, largest_change, mean_change

TEMPERATURES: tuple[float | str, ...] = (0.0, 0.1, 0.3, 1.0, 3.0, 10.0, "inf")
REFINED = "refined"
EPOCHS, SEEDS = 100, 10
PATHS, PATH_STEPS = 8, 65


def soft_row(temperature: float | str, loss: str) -> Row:
    """A-NLSF with a soft maximum over its draws, without refinement."""
    size = "mean" if temperature == "inf" else f"temperature {temperature:g}"
    own = {"temperature": temperature, "loss": loss, "steps": 0, "low_precision": False}
    return Row(f"{size}; {loss}", METHOD, base=METHOD, settings=own)


def refined_row(loss: str) -> Row:
    """A-NLSF as in ``tu``: the maximum over its draws, refined by a gradient step."""
    return Row(f"{REFINED}; {loss}", METHOD, base=METHOD, settings={"loss": loss})


ROWS = (
    *(soft_row(temperature, loss) for loss, temperature in product(LOSSES, TEMPERATURES)),
    *(refined_row(loss) for loss in LOSSES),
)


def settings(row: Row, column: str, preset: str, *, choices: Choices | None = None) -> Settings:
    """Those of A-NLSF in ``tu``, what the row has of its own, and the paths on which jumps are looked for."""
    every = tu.settings(tu.TU.row(row.base), column, preset, choices=choices)
    own = {name: value for name, value in every.items() if name != "patience"}
    return {**own, **row.own_settings(preset), "epochs": EPOCHS, "paths": PATHS, "path_steps": PATH_STEPS}


def inner_split(data: TUData, *, seed: int) -> DataSplit:
    """The training and validation graphs of the first split of ``tu``, of which a random third is held out; it stands
    where a test part would. No graph of the test part of that split is used.
    """
    first = split_of(data, 0)
    graphs = torch.cat([first.train, first.validation])
    order = graphs[torch.randperm(len(graphs), generator=torch.Generator().manual_seed(seed))]
    held_out = len(graphs) // 3
    return DataSplit(order[held_out:], order[:0], order[:held_out])


def execute(run: Run, control: TrainingControl) -> dict[str, float]:
    """The figures of a data set, the column of the run."""
    return figures(run, run.column, control)


def figures(run: Run, data_set: str, control: TrainingControl) -> dict[str, float]:
    """Train for a fixed number of epochs, and measure on the graphs held out.

    Returns:
        accuracy and calibration_error in percent; invariance_error and largest_jump in units of the deviation of scores
        between graphs; effective_forms, how many draws decide the score of the predicted class; seconds of training.
    """
    options = run.options()
    data = tu_data(data_set, options["features"])
    split = inner_split(data, seed=run.split)
    build = tu.METHODS[METHOD]
    learner, history = train_seeded(
        run,
        lambda: build(data, options, split.train, run.split),
        split,
        Schedule.of(options, cosine=True),
        control,
    )
    module = learner.module.eval()
    assert isinstance(module, EncodedANLSF)
    batch, labels = options["batch"], data.dataset.labels[split.test]
    preparation = Preparation(partition_of(data, options), options["operator"], options["frame"], options["returns"])
    changed = changed_graphs(data, preparation, run.split, options["paths"], options["path_steps"])
    deviation = node_deviations(data, node_signals(data, options["returns"]), split.train)
    with torch.no_grad():
        scores = torch.cat([learner.scores(rows) for rows in split.test.split(batch)])
        others, paths = (_scored(module, graphs, deviation, batch=batch) for graphs in changed)
    return {
        "accuracy": 100 * float((scores.argmax(1) == labels).double().mean()),
        "calibration_error": calibration_error(scores, labels),
        "invariance_error": mean_change(scores, others),
        "largest_jump": largest_change(paths.unflatten(0, (-1, options["path_steps"])), scores),
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


def _scored(module: EncodedANLSF, graphs: FramedGraphs, deviation: Tensor, *, batch: int) -> Tensor:
    parts = (graphs[rows] for rows in torch.arange(len(graphs)).split(batch))
    return torch.cat([module(replace(part, signals=part.signals / deviation)) for part in parts])


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


TEMPERATURE_GRAPHS = Table(
    name="temperature-graphs",
    title="Loss and temperature of A-NLSF: accuracy on graphs held out of the training part",
    rows=ROWS,
    columns=("MUTAG", "PTC", "ENZYMES"),
    splits=lambda row, column: SEEDS,
    most_splits=SEEDS,
    settings=settings,
    execute=execute,
    extra_metrics=(
        ("calibration_error", "calibration error"),
        ("invariance_error", "invariance error"),
        ("largest_jump", "largest jump"),
        ("effective_forms", "effective forms"),
    ),
    presets=("cpu",),
    choices=tu.CHOICES,
    aliases={"PTC_MR": "PTC"},
    comparable=lambda options: False,
)
