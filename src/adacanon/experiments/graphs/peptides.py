"""Peptides-func of the Long Range Graph Benchmark (ours: the paper has no such table)."""

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from adacanon.data.peptides import load_peptides
from adacanon.experiments.graphs import ogb
from adacanon.experiments.graphs.benchmark_graphs import BenchmarkGraphs
from adacanon.experiments.graphs.benchmark_methods import METHODS, OWN_SETTINGS, prepare
from adacanon.experiments.graphs.kept_arrays import Portions
from adacanon.reports.progress import passes_bar
from adacanon.runs.executors import Executor
from adacanon.runs.executors.executor import calls_on
from adacanon.runs.run import Run, Settings
from adacanon.runs.table import Row
from adacanon.training.loop import TrainingControl

COLUMN = "average precision"
ROWS = tuple(Row(name, name, settings=OWN_SETTINGS.get(name, {})) for name in METHODS)
COMMON: dict[str, Settings] = {
    "cpu": {"width": 64, "layers": 5, "dropout": 0.1, "batch": 64, "learning_rate": 1e-3, "epochs": 60},
    "paper": {"width": 96, "layers": 6, "dropout": 0.1, "batch": 64, "learning_rate": 1e-3, "epochs": 250},
}
"""The longer preset is about that of Tönshoff et al., within their limit of 500,000 parameters."""

ENCODER = "gatedgcn"
"""Of the row A-NLSF; to be chosen on the validation part, by the table ``readout-validation``."""


def settings(row: Row, column: str, preset: str) -> Settings:
    """Everything that a cell depends on."""
    encoder = ogb.encoder_of(row, ENCODER)
    return {**COMMON[preset], **ogb.ALL, "weight_decay": 0.0, **encoder, **row.own_settings(preset)}


def execute(run: Run, control: TrainingControl) -> dict[str, float]:
    """Train, keep the epoch of the best validation average precision, and read the test part once."""
    return ogb.trained_and_tested(run, control, peptides())


@lru_cache(maxsize=1)
def peptides() -> BenchmarkGraphs:
    """The data set, read once per process."""
    return BenchmarkGraphs.of(load_peptides(), "average_precision")


def prepare_peptides(runs: Sequence[Run], *, executor: Executor, show: bool) -> None:
    """What the runs share: frames, return probabilities, eigenvectors."""
    with passes_bar("peptides", show=show) as on_progress:
        prepare(peptides(), [run.options() for run in runs], Portions(calls_on(executor), on_progress))


PEPTIDES = replace(
    ogb.OGB_TABLE,
    name="peptides",
    title="Peptides-func: average precision in percent",
    rows=ROWS,
    columns=(COLUMN,),
    settings=settings,
    execute=execute,
    aliases={"ap": COLUMN},
    prepare=prepare_peptides,
)
