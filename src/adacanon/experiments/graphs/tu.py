"""Graph classification on TU data sets (paper: its first table, and the ablations of its appendix)."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from adacanon.experiments.graphs.graph_methods import BASELINE_SETTINGS, BASELINES, OPERATORS, Builder
from adacanon.experiments.graphs.spectral_methods import NODE_LEVEL, SOFT_SETTINGS, SPECTRAL, SPECTRAL_SETTINGS
from adacanon.experiments.graphs.tu_data import COLUMNS, split_of, tu_data
from adacanon.experiments.graphs.tu_preparation import Frames, Read, prepare_graphs
from adacanon.runs.choices import Choices, read_choices
from adacanon.runs.executors import Executor
from adacanon.runs.run import Run, Settings
from adacanon.runs.seeded import train_seeded
from adacanon.runs.table import Row, Table, row_named
from adacanon.training.learner import Learner
from adacanon.training.loop import History, TrainingControl
from adacanon.training.schedule import Schedule

CHOICES = Path(__file__).parent
"""The folder of the choices of the published records."""

EPOCHS = {"cpu": 200, "paper": 1000}
METHODS: dict[str, Builder] = {**BASELINES, **SPECTRAL, **NODE_LEVEL}


def variant_of_anlsf(name: str, settings: Settings) -> Row:
    """A-NLSF with another loss or search, and the hyperparameters that were chosen for A-NLSF."""
    return Row(name, "A-NLSF", base="A-NLSF", settings={**SPECTRAL_SETTINGS["A-NLSF"], **settings})


VARIANTS = (
    variant_of_anlsf("A-NLSF (cross-entropy)", {"loss": "cross-entropy"}),
    variant_of_anlsf("A-NLSF (soft)", SOFT_SETTINGS),
)
"""What was chosen on graphs that are held out (``temperature-graphs``), and the best row with a temperature there."""

ROWS = (
    *(Row(name, name, settings={**BASELINE_SETTINGS, **SPECTRAL_SETTINGS}.get(name, {})) for name in METHODS),
    *VARIANTS,
)
"""Every method, also those that only ablations show, and variants; a method's own row is called as it is."""

COMMON: Settings = {"features": "labels", "hidden": 128, "batch": 128, "patience": 100, "seed": 0}
SHARED_CHOICES = {"NCI1": "PROTEINS"}
"""Columns without studies of their own, and whose choices they take."""

DEFAULTS: Settings = {"learning_rate": 1e-3, "weight_decay": 1e-4, "layers": 3}
"""Used where nothing was chosen on the validation part."""

RANGES: dict[str, list[Any]] = {
    "learning_rate": [1e-2, 1e-3, 1e-4],
    "weight_decay": [1e-2, 1e-3, 1e-4],
    "layers": [2, 3, 4, 5, 6, 7, 8, 9],
}
"""The ranges of the paper."""

OWN_RANGES: dict[str, dict[str, list[Any]]] = {
    "NLSF": {"layers": [2, 3, 4]},
    "Gram MLP": {"layers": [2, 3, 4]},
    "A-NLSF (paper)": {"layers": [2, 3, 4], "bands": [4, 6, 8], "rows": [1, 2, 4]},
    "A-NLSF": {"layers": [2, 3], "bands": [4, 6], "partition": ["uniform", "dyadic"], "dropout": [0.0, 0.3]},
}

EXTRA_METRICS = (("accuracy_at_smallest_loss", "smallest loss"), ("best_test_accuracy", "best test epoch"))


def settings(row: Row, column: str, preset: str, *, choices: Choices | None = None) -> Settings:
    """Everything that a cell depends on: what all methods share, what the method has, and what was chosen for it."""
    return {
        **COMMON,
        **DEFAULTS,
        **row.own_settings(preset),
        **(chosen(row.base, column, choices=choices) if row.base else {}),
        **chosen(row.name, column, choices=choices),
        "epochs": EPOCHS[preset],
    }


def chosen(row: str, column: str, *, choices: Choices | None = None) -> Settings:
    """The settings that the study found best on the validation part; NCI1 takes those of PROTEINS, unless it has its
    own (see the notes on ``tu``). Without choices, the package's are meant.
    """
    own = (read_choices(CHOICES) if choices is None else choices).get(row, {})
    return own.get(column) or own.get(SHARED_CHOICES.get(column, column), {})


def search_space(row: Row) -> dict[str, list[Any]]:
    """What a study of a row may choose; the narrower ranges of some rows are explained in the notes."""
    return {**RANGES, **OWN_RANGES.get(row.base or row.name, {})}


def read_by(run: Run) -> Read:
    """What a run reads of its data set."""
    return read_with(run.column, row_of(run).method, run.options())


def read_with(column: str, method: str, options: Settings) -> Read:
    """What a method reads of a data set with these settings."""
    return Read(
        column,
        options["features"],
        operators=OPERATORS.get(method, (options["operator"],) if "operator" in options else ()),
        encodings=options["encodings"] if method == "OAP+GIN" else None,
        returns=options.get("returns"),
        frames=Frames.of(options) if "frame" in options else None,
    )


def prepare(runs: Sequence[Run], *, executor: Executor, show: bool) -> None:
    """What the runs share: spectra, frames, canonical eigenvectors and return probabilities."""
    prepare_graphs(runs, read_by, executor=executor, show=show)


def execute(run: Run, control: TrainingControl) -> dict[str, float]:
    """Train with early stopping and test the selected epoch."""
    learner, history = trained(run, control)
    return {
        "accuracy": history.selected["test_accuracy"],
        "accuracy_at_smallest_loss": history.smallest["test_accuracy"],
        "best_test_accuracy": history.best_test,
        "validation_accuracy": history.selected["validation_accuracy"],
        "validation_loss": history.selected["validation_loss"],
        "kept_epoch": history.selected["epoch"],
        "epochs": float(history.epoch),
        "train_loss": history.loss,
        "parameters": float(sum(p.numel() for p in learner.module.parameters())),
        "seconds": history.seconds,
    }


def trained(run: Run, control: TrainingControl) -> tuple[Learner, History]:
    """The learner with the parameters of the selected epoch, and what happened on the way."""
    options = run.options()
    data = tu_data(run.column, options["features"])
    split = split_of(data, run.split)
    method = METHODS[row_of(run).method]
    schedule = Schedule.of(options)
    return train_seeded(run, lambda: method(data, options, split.train, run.split), split, schedule, control)


def row_of(run: Run) -> Row:
    """The record of a run's row; an ablation names the row that it varies in its settings."""
    return row_named(ROWS, run.options().get("method", run.row))


def _splits(row: Row, column: str) -> int:
    return 3 if column == "NCI1" and row.name != "A-NLSF" else 10


TU = Table(
    name="tu",
    title="Graph classification on TU data sets (paper: its first table)",
    rows=tuple(row for row in ROWS if row.method not in NODE_LEVEL),
    columns=COLUMNS,
    splits=_splits,
    most_splits=10,
    settings=settings,
    execute=execute,
    prepare=prepare,
    extra_metrics=EXTRA_METRICS,
    search_space=search_space,
    choices=CHOICES,
    aliases={"PTC_MR": "PTC"},
    tuned=tuple(column for column in COLUMNS if column not in SHARED_CHOICES),
)
