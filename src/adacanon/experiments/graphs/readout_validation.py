"""How the row A-NLSF of `ogb` and `peptides` should be set: its encoder, and how it deals with bases. On the validation
parts; no test graph is read.
"""

from dataclasses import replace

from adacanon.experiments.graphs import ogb, peptides
from adacanon.experiments.graphs.benchmark_graphs import BenchmarkGraphs
from adacanon.experiments.graphs.benchmark_methods import OWN_SETTINGS
from adacanon.runs.run import INFINITE, Run, Settings
from adacanon.runs.table import Row
from adacanon.training.loop import TrainingControl

METHOD = "A-NLSF"
EPOCHS = 12
"""A fraction of the tables', with a learning rate that falls as there."""

VARIANTS: dict[str, Settings] = {
    "GCN": {"encoder": "gcn"},
    "GIN": {"encoder": "gin"},
    "GatedGCN": {"encoder": "gatedgcn"},
    "GIN (soft)": {"encoder": "gin", "temperature": 1.0},
    "GIN (mean over bases)": {"encoder": "gin", "temperature": INFINITE},
}
"""Encoders under the maximum over bases, and one of them under a soft maximum and under the mean."""

ROWS = tuple(Row(name, METHOD, settings={**OWN_SETTINGS[METHOD], **own}) for name, own in VARIANTS.items())
COLUMNS = ("molhiv", "peptides")


def settings(row: Row, column: str, preset: str) -> Settings:
    """As in the table of the column, for fewer epochs."""
    table = ogb if column == "molhiv" else peptides
    return {**table.settings(row, column, preset), "epochs": EPOCHS}


def execute(run: Run, control: TrainingControl) -> dict[str, float]:
    """The validation metric of the best epoch."""
    return ogb.trained(run, control, graphs_of(run.column), method=METHOD)[1]


def graphs_of(column: str) -> BenchmarkGraphs:
    """The data of a column."""
    return peptides.peptides() if column == "peptides" else ogb.ogb_graphs(column)


READOUT_VALIDATION = replace(
    ogb.OGB_TABLE,
    name="readout-validation",
    title="A-NLSF as the readout of graph networks: metric on the validation part, in percent",
    rows=ROWS,
    columns=COLUMNS,
    splits=lambda row, column: 1,
    settings=settings,
    execute=execute,
    metric="validation",
    extra_metrics=(("kept_epoch", "kept epoch"), ("parameters", "parameters")),
    aliases={},
    prepare=None,
)
