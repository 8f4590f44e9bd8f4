"""Molecules and proteins of the Open Graph Benchmark (paper: its second table)."""

from collections.abc import Sequence
from functools import lru_cache

from adacanon.data.ogb import layout_named, load_ogb
from adacanon.experiments.graphs.benchmark_graphs import BenchmarkGraphs
from adacanon.experiments.graphs.benchmark_methods import INPUTS, METHODS, OWN_SETTINGS, prepare
from adacanon.experiments.graphs.kept_arrays import Portions, distinct, prepare_columns
from adacanon.runs.executors import Executor
from adacanon.runs.run import Run, Settings
from adacanon.runs.seeded import train_seeded
from adacanon.runs.table import Row, Table
from adacanon.training.learner import Learner
from adacanon.training.loop import TrainingControl, accuracy
from adacanon.training.schedule import Schedule

COLUMNS = {"molhiv": "ogbg-molhiv", "molpcba": "ogbg-molpcba", "ppa": "ogbg-ppa"}
"""The paper's names without their prefix, and OGB's."""

PUBLISHED_ONLY = ("GraphTrans", "SAT", "SAN")
"""Rows with figures of their authors alone, as the paper quotes them: nothing is built or run for them."""

ROWS = (
    *(Row(name, name, settings=OWN_SETTINGS.get(name, {})) for name in METHODS if name != "S2GNN"),
    *(Row(f"{name} (published)", published_only=True) for name in PUBLISHED_ONLY),
)

ALL: Settings = {
    **INPUTS,
    "readout": "mean",
    "combination": "last",
    "residual": True,
    "cosine": True,
    "fused": True,
    "seed": 0,
}
COMMON: dict[str, Settings] = {
    "cpu": {"width": 128, "layers": 4, "dropout": 0.3, "batch": 128, "learning_rate": 1e-3, "epochs": 30},
    "paper": {"width": 256, "layers": 5, "dropout": 0.3, "batch": 128, "learning_rate": 5e-4, "epochs": 100},
}
ENCODER = "gatedgcn"
"""Of the row A-NLSF; to be chosen on the validation part, by the table ``readout-validation``."""

SEEDS = 10


def settings(row: Row, column: str, preset: str) -> Settings:
    """Everything that a cell depends on."""
    return {**COMMON[preset], **ALL, "weight_decay": 1e-5, **encoder_of(row, ENCODER), **row.own_settings(preset)}


def encoder_of(row: Row, encoder: str) -> Settings:
    """The setting that only A-NLSF has."""
    return {"encoder": encoder} if row.method == "A-NLSF" else {}


def execute(run: Run, control: TrainingControl) -> dict[str, float]:
    """Train, keep the epoch of the best validation metric, and read the test part once."""
    return trained_and_tested(run, control, ogb_graphs(run.column))


def trained_and_tested(run: Run, control: TrainingControl, graphs: BenchmarkGraphs) -> dict[str, float]:
    """The official metric on the validation and on the test part, in percent, with the kept weights."""
    learner, found = trained(run, control, graphs, method=run.row)
    return {"test": accuracy(learner, graphs.data.parts.test, batch=run.options()["batch"]), **found}


def trained(
    run: Run, control: TrainingControl, graphs: BenchmarkGraphs, *, method: str
) -> tuple[Learner, dict[str, float]]:
    """The learner with the weights of the epoch of the best validation metric; no test graph is read."""
    options = run.options()
    learner, history = train_seeded(
        run, lambda: METHODS[method](graphs, options, run.split), graphs.split, Schedule.of(options), control
    )
    return learner, {
        "validation": history.selected["validation_accuracy"],
        "validation_loss": history.selected["validation_loss"],
        "kept_epoch": history.selected["epoch"],
        "epochs": float(history.epoch),
        "train_loss": history.loss,
        "parameters": float(sum(p.numel() for p in learner.module.parameters())),
        "seconds": history.seconds,
    }


@lru_cache(maxsize=1)
def ogb_graphs(column: str) -> BenchmarkGraphs:
    """The data of a column, read once per process."""
    name = COLUMNS[column]
    return BenchmarkGraphs.of(load_ogb(name), layout_named(name).metric)


def prepare_ogb(runs: Sequence[Run], *, executor: Executor, show: bool) -> None:
    """What the runs share: frames, return probabilities, eigenvectors. Runs without data fail one by one, later."""

    def prepare_column(column: str, portions: Portions) -> None:
        prepare(ogb_graphs(column), [run.options() for run in runs if run.column == column], portions)

    prepare_columns(distinct(run.column for run in runs), prepare_column, executor=executor, show=show)


def seeds_of(row: Row, column: str) -> int:
    """Five of A-NLSF, three of others."""
    return 5 if row.method == "A-NLSF" else 3


EXTRA_METRICS = (("validation", "validation"), ("kept_epoch", "kept epoch"), ("parameters", "parameters"))

OGB_TABLE = Table(
    name="ogb",
    title="Molecules and proteins of OGB: ROC-AUC, average precision and accuracy in percent (paper: second table)",
    rows=ROWS,
    columns=tuple(COLUMNS),
    splits=seeds_of,
    most_splits=SEEDS,
    settings=settings,
    execute=execute,
    metric="test",
    extra_metrics=EXTRA_METRICS,
    aliases={name: column for column, name in COLUMNS.items()},
    prepare=prepare_ogb,
)
