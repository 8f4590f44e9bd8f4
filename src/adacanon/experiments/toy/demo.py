"""The toy problem in a small version, with a page that tells its story."""

from pathlib import Path

import torch

from adacanon.core.canonicalized import Canonicalized
from adacanon.experiments.toy.orientation import GRAPH_ROWS, TOY, build, task_of, task_spectrum
from adacanon.graphs.bands import dyadic
from adacanon.graphs.coefficients import coefficients_of
from adacanon.graphs.spectra import Spectrum
from adacanon.reports.orientation_figure import OrientationStory, as_html_image, draw
from adacanon.reports.render import to_html
from adacanon.reports.summary import Summary
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

TEXT = """
<p>Every node of a torus grid carries two channels, one on each half. The question is whether both oscillate in the
same direction. A graph has no axes: within a band of the spectrum the eigensolver may return any basis, so that a
network on spectral coefficients sees arbitrary numbers (<em>as given</em>, different for basis A and basis B). A-NLSF
lets each class turn the basis until its own score is largest, and reads the coefficients there (<em>class 0</em>,
<em>class 1</em>): the same form comes out, whatever basis went in. The narrow panels show these coefficients for the
sample of class 1, one row per basis vector and one column per channel.</p>
<p>This page shows the small version of the task that <code>make demo</code> trains: a 20 by 20 grid, 300 samples, two
folds. The paper's figures are those of the full task, which is <code>adacanon run toy</code>.</p>
"""


def demo(folder: Path, *, show: bool = True) -> tuple[Summary, Path, list[Failure]]:
    """Train every method on the small task and write the page; records of earlier calls are used again."""
    file, page = folder / "records.jsonl", folder / "index.html"
    runs = TOY.runs(rows=ROWS_SHOWN, splits=SPLITS, preset="demo")
    failures = run_missing(TOY, runs, file, show=show)
    summary = summary_of(TOY, runs, file, notes=NOTES)
    means = {row: cells["accuracy"].mean for row, cells in summary.cells.items()}
    accuracy = {row: mean for row, mean in means.items() if mean is not None}
    run = next(run for run in runs if run.row == "A-NLSF")
    picture = as_html_image(draw(story(run, accuracy)), alt="the toy problem")
    page.write_text(to_html(summary, body=TEXT + picture), encoding="utf-8")
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
