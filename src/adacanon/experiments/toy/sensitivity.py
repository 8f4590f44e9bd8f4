"""How A-NLSF on the toy problem depends on the task and on its width (paper: appendix "Sensitivity Analysis")."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from adacanon.experiments.toy import orientation as toy
from adacanon.reports.summary import Cell, Summary
from adacanon.runs.run import Run, Settings
from adacanon.runs.table import Row, Table
from adacanon.training.loop import TrainingControl

METHOD = "A-NLSF"
COLUMN = "accuracy"

SWEPT: dict[str, tuple[str, tuple[float, ...]]] = {
    "grid size": ("size", (20, 30, 40, 50)),
    "period": ("period", (5, 10, 20, 30, 40)),
    "noise": ("noise", (0.01, 0.1, 0.5, 1.0, 2.0, 4.0)),
    "hidden": ("hidden", (2, 4, 8, 16, 32, 64, 128)),
}
"""Panel -> the setting that is swept, and its values."""

POINTS: dict[str, tuple[str, float]] = {
    f"{panel} {value:g}": (panel, value) for panel, (_, values) in SWEPT.items() for value in values
}
"""Row -> panel and value."""

ROWS = tuple(
    Row(name, "A-NLSF", base=METHOD, settings={SWEPT[panel][0]: value, "method": METHOD})
    for name, (panel, value) in POINTS.items()
)


def settings(row: Row, column: str, preset: str) -> Settings:
    """Those of A-NLSF in the toy table, with one of them changed."""
    return {**toy.settings("toy", toy.TOY.row(row.base), column, preset), **row.own_settings(preset)}


def execute(run: Run, control: TrainingControl) -> dict[str, float]:
    """A run of the toy table under other settings."""
    return toy.execute(replace(run, table="toy", row=METHOD), control)


def panels(summary: Summary) -> dict[str, dict[float, Cell]]:
    """Panel -> value -> cell, for the values that were run."""
    found: dict[str, dict[float, Cell]] = {panel: {} for panel in SWEPT}
    for row, columns in summary.cells.items():
        panel, value = POINTS[row]
        if columns[COLUMN].n:
            found[panel][value] = columns[COLUMN]
    return found


def usual() -> Mapping[str, Any]:
    """Panel -> the value in the toy table."""
    options = toy.TOY.settings_of(METHOD, COLUMN)
    return {panel: options[key] for panel, (key, _) in SWEPT.items()}


TOY_SENSITIVITY = Table(
    name="toy-sensitivity",
    title="Sensitivity of A-NLSF on grid signal orientation (paper: appendix, sensitivity analysis)",
    rows=ROWS,
    columns=(COLUMN,),
    splits=lambda row, column: 3,
    most_splits=10,
    settings=settings,
    execute=execute,
    presets=("paper",),
    reuses="toy",
    extra_metrics=(("train_accuracy", "training"),),
)
