"""The toy problem in a small version, with a page that tells its story."""

from dataclasses import replace
from pathlib import Path

import torch

from adacanon.core.canonicalized import Canonicalized
from adacanon.experiments.toy.orientation import GRAPH_ROWS, TOY, build, task_of, task_spectrum
from adacanon.files import write_whole
from adacanon.graphs.bands import dyadic
from adacanon.graphs.coefficients import coefficients_of
from adacanon.graphs.spectra import Spectrum
from adacanon.reports.orientation_figure import OrientationStory, draw
from adacanon.reports.pages import render
from adacanon.reports.pictures import data_address
from adacanon.reports.render import report_values
from adacanon.reports.summary import Summary
from adacanon.runs.published import Published
from adacanon.runs.run import Run
from adacanon.runs.runner import Failure, run_missing, summary_of
from adacanon.spaces.orthogonal import Orthogonal
from adacanon.training.loop import DataSplit, train
from adacanon.training.schedule import Schedule

SPLITS = 2
ROWS_SHOWN = (*(row.name for row in GRAPH_ROWS), "Energy MLP", "Gram MLP", "A-NLSF")
BAND = 3
"""The band that the picture shows: the one that holds the signals' own frequency."""

NOTES = (
    "A small version: 300 samples on a 20 x 20 torus, period 10, 20 epochs, two of five folds. The paper's figures are "
    "those of the full task; ours for it are in results/toy.md.",
)


def demo(folder: Path, *, published: Published, show: bool = True) -> tuple[Summary, Path, list[Failure]]:
    """Train every method on the small task and write the page; records of earlier calls are used again.

    Args:
        published: the paper's figures for the full task, which the page shows beside ours.
    """
    file, page = folder / "records.jsonl", folder / "index.html"
    runs = TOY.runs(rows=ROWS_SHOWN, splits=SPLITS, preset="demo")
    failures = run_missing(TOY, runs, file, show=show)
    summary = summary_of(replace(TOY, published=published), runs, file, notes=NOTES)
    means = {row: cells["accuracy"].mean for row, cells in summary.cells.items()}
    accuracy = {row: mean for row, mean in means.items() if mean is not None}
    run = next(run for run in runs if run.row == "A-NLSF")
    picture = data_address(draw(story(run, accuracy)))
    write_whole(page, render("demo.html", {**report_values(summary), "picture": picture}).encode())
    return summary, page, failures


def story(run: Run, accuracy: dict[str, float]) -> OrientationStory:
    """Train A-NLSF once more for a few epochs and let it canonicalize one sample given in two bases."""
    options = run.options()
    task = task_of(run)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        everything = torch.arange(options["samples"])
        learner = build(TOY.row("A-NLSF"), task, options, train=everything, seed=0)
        generator = torch.Generator().manual_seed(0)
        split = DataSplit(everything, everything[:0], everything[:0])
        train(learner, split, Schedule.of(options, epochs=8), generator=generator)
    assert isinstance(learner.module, Canonicalized)
    examples = [int((task.labels == label).nonzero()[0]) for label in (0, 1)]
    signal = task.signals[examples[1]]
    spectrum = task_spectrum(task)
    bases = [spectrum, turned(spectrum, options["bands"], options["decay"])]
    partition = dyadic(options["bands"], decay=options["decay"])
    vectors = [b.eigenvectors[:, partition.assign(b.eigenvalues) == BAND] for b in bases]
    shape = (task.size, task.size)
    return OrientationStory(
        signals=task.signals[examples].unflatten(1, shape),
        bases=torch.stack([v[:, :2].T.unflatten(1, shape) for v in vectors]),
        coefficients=torch.stack([v.T @ signal.double() for v in vectors]),
        canonical=torch.stack([_canonical(learner.module, b, signal, options) for b in bases]),
        accuracy=accuracy,
    )


def turned(spectrum: Spectrum, bands: int, decay: float) -> Spectrum:
    """The same operator with another, equally valid basis of the band in the picture."""
    inside = dyadic(bands, decay=decay).assign(spectrum.eigenvalues) == BAND
    turn = Orthogonal(int(inside.sum())).sample(1, generator=torch.Generator().manual_seed(1))[0]
    vectors = spectrum.eigenvectors.clone()
    vectors[:, inside] = vectors[:, inside] @ turn
    return Spectrum(spectrum.eigenvalues, vectors)


def _canonical(model: Canonicalized, spectrum: Spectrum, signal: torch.Tensor, options: dict) -> torch.Tensor:
    partition = dyadic(options["bands"], decay=options["decay"])
    forms = model.eval().canonicalize(coefficients_of([(spectrum, signal)], partition)).forms()
    size = int((partition.assign(spectrum.eigenvalues) == BAND).sum())
    return forms[0].unflatten(1, (options["bands"], options["rows"]))[:, BAND, :size]
