"""Whether a trained A-NLSF notices the eigenbasis: predictions that change when the bases of all graphs are redrawn.

Trains on the first split of a TU data set, then redraws the eigenvectors of every graph at random, within bands (the
symmetry of A-NLSF) and within eigenspaces (what an eigensolver may return), computes all preparation again from the
redrawn spectra, and compares the answers on the test part. As a control, bases are also drawn across bands, which is
no symmetry: the answers should change.
"""

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from adacanon.experiments.graphs.spectral_methods import (
    encoded_inputs,
    node_signals,
    partition_of,
    scaled_coefficients,
    standardised_nodes,
)
from adacanon.experiments.graphs.tu import TU, trained
from adacanon.experiments.graphs.tu_data import COLUMNS, TUData, split_of, tu_data
from adacanon.graphs.band_frames import band_frames_of
from adacanon.graphs.bands import Partition
from adacanon.graphs.coefficients import coefficients_of, spectra_and_signals
from adacanon.graphs.eigenbases import redrawn_in_bands, redrawn_in_eigenspaces
from adacanon.graphs.spectra import Spectrum
from adacanon.runs.run import Run, Settings
from adacanon.training.learner import Inputs, Learner, looked_up
from adacanon.training.loop import TrainingControl
from benchmarks.frame import measure

ROWS = ("A-NLSF", "A-NLSF (paper)")
Redraw = Callable[[Spectrum], Spectrum]


def redraws(partition: Partition, *, seed: int) -> dict[str, Redraw]:
    """Two symmetries, and a control that mixes the bands."""
    generator = torch.Generator().manual_seed(seed)
    whole = Partition((partition.boundaries[0], partition.boundaries[-1]))
    return {
        "bands": lambda spectrum: redrawn_in_bands(spectrum, partition, generator=generator),
        "eigenspaces": lambda spectrum: redrawn_in_eigenspaces(spectrum, generator=generator),
        "nothing (control)": lambda spectrum: redrawn_in_bands(spectrum, whole, generator=generator),
    }


def prepared(row: str, data: TUData, options: Settings, redraw: Redraw) -> Inputs:
    """What the model of a row reads, from redrawn spectra of all graphs."""
    graphs, train, partition = data.dataset.graphs, split_of(data, 0).train, partition_of(data, options)
    pairs = [(redraw(spectrum), signal) for spectrum, signal in spectra_and_signals(graphs, options["operator"])]
    if row == "A-NLSF (paper)":
        return looked_up(scaled_coefficients(coefficients_of(pairs, partition), train))
    frames = band_frames_of(pairs, [graph.edge_index for graph in graphs], partition, width=options["frame"])
    return encoded_inputs(data, frames, standardised_nodes(data, node_signals(data, options["returns"]), train))


def logits(learner: Learner, index: Tensor) -> Tensor:
    learner.module.eval()
    with torch.no_grad():
        return learner.scores(index)


def measured(row: str, name: str, *, epochs: int, times: int, seed: int) -> list[measure.Row]:
    """Train one row on one data set and compare its answers, for each way to redraw."""
    options = measure.settings_of(TU, row, name) | {"epochs": epochs}
    learner, _ = trained(Run.of("tu", row, name, 0, options), TrainingControl())
    data = tu_data(name, options["features"])
    test = split_of(data, 0).test
    before = logits(learner, test)
    rows = []
    for within, redraw in redraws(partition_of(data, options), seed=seed).items():
        others = [replace(learner, inputs=prepared(row, data, options, redraw)) for _ in range(times)]
        after = torch.stack([logits(other, test) for other in others])
        rows.append({"data set": name, "model": row, "redrawn within": within, **compared(before, after)})
    return rows


def compared(before: Tensor, after: Tensor) -> measure.Row:
    """Logits (graphs, classes) beside those of several redraws (times, graphs, classes)."""
    changed = after.argmax(-1) != before.argmax(-1)
    return {
        "answers": changed.numel(),
        "changed, %": 100 * changed.double().mean().item(),
        "largest change of a logit": (after - before).abs().max().item(),
        "spread of the logits": before.std().item(),
    }


def main(arguments: list[str] | None = None) -> None:
    parser = measure.options(__doc__ or "")
    parser.add_argument("--datasets", nargs="+", choices=COLUMNS, default=["MUTAG"])
    parser.add_argument("--models", nargs="+", choices=ROWS, default=list(ROWS))
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--times", type=int, default=5, help="how often the bases of all graphs are redrawn")
    options = measure.start(parser, arguments)
    rows = [
        row
        for name in options.datasets
        for model in options.models
        for row in measured(model, name, epochs=options.epochs, times=options.times, seed=options.seed)
    ]
    title = f"{options.epochs} epochs, eigenbases of all graphs redrawn {options.times} times"
    measure.report(rows, title=title, path=options.json)


if __name__ == "__main__":
    main()
