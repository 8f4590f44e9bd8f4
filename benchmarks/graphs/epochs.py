"""One training epoch of A-NLSF against graph networks, on the five TU data sets, molhiv and Peptides-func.

Ratios. ``without``: A-NLSF with no message passing, against GIN of the same width and batches. ``behind``: A-NLSF
as the readout of an encoder, against the network that is this encoder with an ordinary readout; on TU data sets also
under a soft maximum over a few draws. On TU data sets the first pair has the settings of ``tu``, the second those of
``tu-fair`` (first splits and folds); on molhiv and Peptides-func both have those of ``ogb`` and ``peptides``, on the
first training graphs. Epochs of all networks of a data set are interleaved, and medians are compared. Spectra and
frames, which are computed once, are not in these times.
"""

import argparse
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from adacanon.data.labelled_graphs import Parts
from adacanon.experiments.graphs import ogb, peptides
from adacanon.experiments.graphs.benchmark_graphs import BenchmarkGraphs
from adacanon.experiments.graphs.benchmark_methods import METHODS as BENCHMARK_METHODS
from adacanon.experiments.graphs.fair_data import fair_fold
from adacanon.experiments.graphs.fair_methods import METHODS as FAIR_METHODS
from adacanon.experiments.graphs.tu_data import COLUMNS
from adacanon.experiments.graphs.tu_fair import TU_FAIR
from adacanon.experiments.graphs.tu_runtime import TU_RUNTIME, epoch_of, learners_of
from adacanon.runs.run import Run, Settings
from adacanon.training.learner import Learner
from adacanon.training.loop import training_epoch
from adacanon.training.schedule import Schedule
from benchmarks.frame import measure

LARGE = ("molhiv", "peptides")
Epochs = dict[str, Callable[[], object]]


class WithoutMessages(nn.Module):
    """The node embedding of an encoder, without the layers behind it."""

    def __init__(self, nodes: nn.Module) -> None:
        super().__init__()
        self.nodes = nodes

    def forward(self, x: Tensor, *structure: Tensor) -> Tensor:
        return self.nodes(x)


def tu_epochs(column: str) -> Epochs:
    """Both pairs on a TU data set."""
    run = Run.of("tu-runtime", "A-NLSF (paper)", column, 0, measure.settings_of(TU_RUNTIME, "A-NLSF (paper)", column))
    plain = learners_of(run)
    fold = fair_fold(column, "structural", 0)
    names = {"behind": "A-NLSF", "soft": "A-NLSF (soft)", "encoder": "GIN (mean)"}
    epochs = {"without": epoch_of(run, plain["row"]), "GIN": epoch_of(run, plain["reference"])}
    for key, name in names.items():
        options = {**measure.settings_of(TU_FAIR, name, column), "learning_rate": 0.001, "dropout": 0.0}
        epochs[key] = epoch(FAIR_METHODS[name](fold, options, 0), fold.split.train, options)
    return epochs


def large_epochs(name: str, graphs: int, encoder: str) -> Epochs:
    """Both pairs on the first training graphs of molhiv or Peptides-func."""
    table, column = (ogb.OGB_TABLE, "molhiv") if name == "molhiv" else (peptides.PEPTIDES, peptides.COLUMN)
    options = {**table.settings_of("A-NLSF", column), "encoder": encoder}
    data = first_graphs(ogb.ogb_graphs("molhiv") if name == "molhiv" else peptides.peptides(), graphs)
    alone = {"gin": "GIN", "gatedgcn": "GatedGCN"}[encoder]
    learners = {
        "without": without_messages(BENCHMARK_METHODS["A-NLSF"](data, options, 0)),
        "GIN": BENCHMARK_METHODS["GIN"](data, table.settings_of("GIN", column), 0),
        "behind": BENCHMARK_METHODS["A-NLSF"](data, options, 0),
        "encoder": BENCHMARK_METHODS[alone](data, table.settings_of(alone, column), 0),
    }
    return {key: epoch(learner, data.data.parts.train, options) for key, learner in learners.items()}


def without_messages(learner: Learner) -> Learner:
    """A-NLSF on the embedded node features themselves."""
    pooled: Any = learner.module.encoder
    pooled.encoder = WithoutMessages(pooled.encoder.node_encoder)
    return learner


def first_graphs(graphs: BenchmarkGraphs, count: int) -> BenchmarkGraphs:
    """The first training graphs, as a data set of its own."""
    kept = graphs.data.parts.train[:count]
    return BenchmarkGraphs(graphs.data.only(Parts(kept, kept[:0], kept[:0])), graphs.metric)


def epoch(learner: Learner, train: Tensor, options: Settings) -> Callable[[], object]:
    """Single training epochs, with the optimizer of the table."""
    optimizer = Schedule.of(options).optimizer(learner.module)
    generator = torch.Generator().manual_seed(0)
    return lambda: training_epoch(learner, optimizer, train, options["batch"], generator)


def row(name: str, encoder: str, epochs: Epochs, repetitions: int, clock: measure.Clock) -> measure.Row:
    """Medians of interleaved epochs, and the ratios."""
    seconds = measure.medians(epochs, repetitions=repetitions, clock=clock)
    return {
        "data set": name,
        "without messages, s": seconds["without"],
        "GIN, s": seconds["GIN"],
        "without / GIN": seconds["without"] / seconds["GIN"],
        "encoder": encoder,
        "behind it, s": seconds["behind"],
        "alone, s": seconds["encoder"],
        "behind / alone": seconds["behind"] / seconds["encoder"],
        "soft / alone": seconds["soft"] / seconds["encoder"] if "soft" in seconds else None,
    }


def section(options: argparse.Namespace) -> measure.Section:
    """Headlines: both ratios on every data set."""
    clock, rows = measure.CLOCKS[options.clock], []
    for name in options.datasets:
        for encoder in ("gin", "gatedgcn") if name in LARGE else ("gin",):
            torch.manual_seed(options.seed)
            epochs = large_epochs(name, options.graphs, encoder) if name in LARGE else tu_epochs(name)
            rows.append(row(name, encoder, epochs, options.repetitions, clock))
    without = {one["data set"]: one["without / GIN"] for one in rows if one["encoder"] == "gin"}
    behind = {f"{one['data set']}, {one['encoder']}": one["behind / alone"] for one in rows}
    return {"anlsf_without_messages_over_gin": without, "anlsf_behind_encoder_over_encoder": behind}, rows


def parser() -> argparse.ArgumentParser:
    quick = {"datasets": ["MUTAG"], "repetitions": 1, "graphs": 64}
    parser = measure.section_options(__doc__ or "", quick=quick)
    parser.set_defaults(threads=1)
    every = [*COLUMNS, *LARGE]
    parser.add_argument("--datasets", nargs="+", choices=every, default=every)
    parser.add_argument("--graphs", type=int, default=2048, help="training graphs of molhiv and Peptides-func")
    parser.add_argument("--repetitions", type=int, default=5)
    return parser


def title(options: argparse.Namespace) -> str:
    return f"Seconds per training epoch, {options.threads} thread; {options.clock} time"


if __name__ == "__main__":
    measure.run_section(parser(), section, title)
