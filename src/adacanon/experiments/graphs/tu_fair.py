"""Graph classification with model selection inside every fold and the same inputs for every row.

The protocol of Errica et al. (ICLR 2020): ten outer folds, an inner hold-out for model selection over a grid, one final
training with the chosen point, and the test fold read once. All rows have the same grid, so the same number of
trainings, and the same node inputs.
"""

from collections.abc import Sequence
from dataclasses import replace

from adacanon.experiments.graphs.fair_data import FOLDS, fair_fold
from adacanon.experiments.graphs.fair_methods import METHODS, OWN_SETTINGS
from adacanon.experiments.graphs.graph_methods import OPERATORS
from adacanon.experiments.graphs.tu_data import COLUMNS
from adacanon.experiments.graphs.tu_preparation import Frames, Read, prepare_graphs
from adacanon.runs.executors import Executor
from adacanon.runs.nested import select_and_train
from adacanon.runs.run import Run, Settings
from adacanon.runs.table import Row, Table, row_named
from adacanon.training.loop import TrainingControl, accuracy

GRID = {"learning_rate": [0.005, 0.001], "dropout": [0.0, 0.5]}
"""Four points, the same for every row."""

COMMON: Settings = {
    "grid": GRID,
    "width": 64,
    "layers": 4,
    "weight_decay": 0.0,
    "halved_every": 50,
    "fused": True,
    "seed": 0,
}
LENGTH: dict[str, Settings] = {
    "MUTAG": {"epochs": 150, "patience": 50, "batch": 32},
    "PTC": {"epochs": 150, "patience": 50, "batch": 32},
    "ENZYMES": {"epochs": 150, "patience": 50, "batch": 32},
    "PROTEINS": {"epochs": 100, "patience": 30, "batch": 64},
    "NCI1": {"epochs": 100, "patience": 30, "batch": 128},
}
"""Sized to two cores; the same for every row."""

ROWS = tuple(Row(name, name, settings=OWN_SETTINGS.get(name, {})) for name in METHODS)


def settings(row: Row, column: str, preset: str) -> Settings:
    """Everything that a cell depends on."""
    return {"inputs": "structural", **COMMON, **LENGTH[column], **row.own_settings(preset)}


def read_by(run: Run) -> Read:
    """What a run reads of its data set. Spectra and frames are those of the graphs with their labels."""
    options, method = run.options(), row_named(ROWS, run.row).method
    frames = "frame" in options
    return Read(
        run.column,
        operators=OPERATORS.get(method, ("normalized",) if frames else ()),
        encodings=options["encodings"] if method == "OAP+GIN" else None,
        structural=options["inputs"] != "labels",
        frames=Frames("normalized", "dyadic", options["bands"], 0.5, options["frame"]) if frames else None,
    )


def prepare(runs: Sequence[Run], *, executor: Executor, show: bool) -> None:
    """What the runs share: spectra, frames, canonical eigenvectors and return probabilities."""
    prepare_graphs(runs, read_by, executor=executor, show=show)


def execute(run: Run, control: TrainingControl) -> dict[str, float]:
    """Select, train, and read the test fold once."""
    options = run.options()
    fold = fair_fold(run.column, options["inputs"], run.split)
    method = METHODS[row_named(ROWS, run.row).method]
    unseen = replace(fold.split, test=fold.split.test[:0])
    found = select_and_train(run, lambda point, seed: method(fold, point, seed), unseen, control)
    validation = [history.selected["validation_accuracy"] for history in found.grid]
    return {
        "accuracy": accuracy(found.learner, fold.split.test, batch=options["batch"]),
        "validation_accuracy": found.history.selected["validation_accuracy"],
        "validation_loss": found.history.selected["validation_loss"],
        "chosen": float(found.chosen),
        **{f"validation_accuracy_{i}": value for i, value in enumerate(validation)},
        "kept_epoch": found.history.selected["epoch"],
        "epochs": float(found.history.epoch),
        "grid_epochs": float(sum(history.epoch for history in found.grid)),
        "train_loss": found.history.loss,
        "parameters": float(sum(p.numel() for p in found.learner.module.parameters())),
        "seconds": found.seconds,
    }


TU_FAIR = Table(
    name="tu-fair",
    title="Graph classification: the same inputs, model selection inside every fold",
    rows=ROWS,
    columns=COLUMNS,
    splits=lambda row, column: FOLDS,
    most_splits=FOLDS,
    settings=settings,
    execute=execute,
    prepare=prepare,
    extra_metrics=(("validation_accuracy", "validation"),),
    presets=("cpu",),
    aliases={"PTC_MR": "PTC"},
)


def _with_inputs(inputs: str, columns: tuple[str, ...], title: str) -> Table:
    def settings_of(row: Row, column: str, preset: str) -> Settings:
        return {**settings(row, column, preset), "inputs": inputs}

    return replace(TU_FAIR, name=f"tu-fair-{inputs}", title=title, columns=columns, settings=settings_of)


TU_FAIR_LABELS = _with_inputs("labels", COLUMNS, "Graph classification as in tu-fair, from one-hot labels alone")
TU_FAIR_ATTRIBUTES = _with_inputs(
    "attributes", ("ENZYMES", "PROTEINS"), "Graph classification as in tu-fair, with node attributes"
)
