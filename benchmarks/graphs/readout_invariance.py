"""Whether A-NLSF as a readout notices the eigenbasis, on molhiv and Peptides-func.

Trains the row A-NLSF of ``ogb`` or ``peptides`` for a few epochs on the first training graphs, redraws the eigenvectors
of the first test graphs at random as ``basis_invariance`` does, prepares these graphs anew and compares the scores. An
answer is a label of a graph; it is changed if its score has another sign.
"""

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from adacanon.data.labelled_graphs import Parts
from adacanon.experiments.graphs import ogb, peptides
from adacanon.experiments.graphs.benchmark_graphs import BenchmarkGraphs
from adacanon.experiments.graphs.benchmark_methods import METHODS, partition_of
from adacanon.experiments.graphs.readout_validation import COLUMNS, graphs_of
from adacanon.graphs.band_frames import band_frames_of
from adacanon.graphs.category_embedding import one_hot_columns
from adacanon.graphs.framed_graphs import FramedGraphs
from adacanon.graphs.shift_operators import shift_matrix
from adacanon.graphs.spectra import decompose
from adacanon.runs.run import Settings
from adacanon.training.learner import Learner
from adacanon.training.loop import train
from adacanon.training.schedule import Schedule
from benchmarks.frame import measure
from benchmarks.graphs.basis_invariance import Redraw, redraws


def settings_of(column: str) -> Settings:
    """Of the row A-NLSF in the table of a column."""
    table, name = (ogb.OGB_TABLE, column) if column == "molhiv" else (peptides.PEPTIDES, peptides.COLUMN)
    return table.settings_of("A-NLSF", name)


def first_graphs(column: str, training: int, tested: int) -> BenchmarkGraphs:
    """Some graphs of the official training and test part, as a data set of its own."""
    graphs = graphs_of(column)
    parts = graphs.data.parts
    chosen = Parts(parts.train[:training], parts.test[:0], parts.test[:tested])
    return BenchmarkGraphs(graphs.data.only(chosen), graphs.metric)


def redrawn(
    found: FramedGraphs, graphs: list[Any], categories: tuple[int, ...], options: Settings, redraw: Redraw
) -> FramedGraphs:
    """The same graphs with frames that are computed from redrawn spectra."""
    signals = (one_hot_columns(graph.x, categories).double() for graph in graphs)
    pairs = [(redraw(decompose(shift_matrix(graph))), signal) for graph, signal in zip(graphs, signals, strict=True)]
    edges = [graph.edge_index for graph in graphs]
    frames = band_frames_of(pairs, edges, partition_of(options), width=options["frame"])
    return replace(found, basis=frames.basis, sizes=frames.sizes, ranks=frames.ranks)


def measured(column: str, *, training: int, tested: int, epochs: int, times: int, seed: int) -> list[measure.Row]:
    """Train on one data set and compare the answers, for each way to redraw."""
    graphs, options = first_graphs(column, training, tested), settings_of(column) | {"epochs": epochs}
    torch.manual_seed(seed)
    learner = METHODS["A-NLSF"](graphs, options, seed)
    generator = torch.Generator().manual_seed(seed)
    train(learner, graphs.split, Schedule.of(options), generator=generator)
    test, data = graphs.data.parts.test, graphs.data
    (found,), before = learner.inputs(test), scores(learner, learner.inputs(test))
    rows = []
    for within, redraw in redraws(partition_of(options), seed=seed).items():
        others = [redrawn(found, data.graphs(test), data.node_categories, options, redraw) for _ in range(times)]
        after = torch.stack([scores(learner, (other,)) for other in others])
        rows.append({"data set": column, "redrawn within": within, **compared(before, after)})
    return rows


def scores(learner: Learner, inputs: tuple[Any, ...]) -> Tensor:
    learner.module.eval()
    with torch.no_grad():
        return learner.module(*inputs)


def compared(before: Tensor, after: Tensor) -> measure.Row:
    """Scores (graphs, labels) beside those of several redraws (times, graphs, labels)."""
    changed = (after > 0) != (before > 0)
    return {
        "answers": changed.numel(),
        "changed, %": 100 * changed.double().mean().item(),
        "largest change of a score": (after - before).abs().max().item(),
        "spread of the scores": before.std(0).mean().item(),
    }


def main(arguments: list[str] | None = None) -> None:
    parser = measure.options(__doc__ or "")
    parser.add_argument("--datasets", nargs="+", choices=COLUMNS, default=list(COLUMNS))
    parser.add_argument("--training", type=int, default=1024, help="training graphs")
    parser.add_argument("--tested", type=int, default=256, help="test graphs")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--times", type=int, default=5, help="how often the bases of all graphs are redrawn")
    options = measure.start(parser, arguments)
    sizes = {name: getattr(options, name) for name in ("training", "tested", "epochs", "times", "seed")}
    rows = [row for name in options.datasets for row in measured(name, **sizes)]
    title = f"{options.epochs} epochs, eigenbases of all graphs redrawn {options.times} times"
    measure.report(rows, title=title, path=options.json)


if __name__ == "__main__":
    main()
