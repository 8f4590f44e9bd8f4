"""The dial from averaging to maximizing: what a temperature does on clouds, crops, digits and graphs.

Everything is measured on training samples that are held out: defaults follow from this table, and no test sample is
read for it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from adacanon.core.loss import LOSSES
from adacanon.core.shared_priors import SHARED
from adacanon.experiments.clouds import soft_clouds
from adacanon.experiments.graphs import soft_graphs
from adacanon.experiments.graphs.spectral_methods import SOFT_SETTINGS
from adacanon.experiments.images import cifar, soft_crops, soft_digits
from adacanon.reports.summary import Summary
from adacanon.reports.temperature_figure import Curve
from adacanon.runs.executors import Executor
from adacanon.runs.run import INFINITE, Run, Settings, Training
from adacanon.runs.table import Row, Table
from adacanon.training.loop import TrainingControl

TEMPERATURES: tuple[float | str, ...] = (0.0, 0.3, 1.0, 3.0, INFINITE)


def soft_row(temperature: float | str, loss: str, scores: str = "logits", *, learned: bool = False) -> Row:
    """A network under a soft maximum, whatever it is about."""
    size = "mean" if temperature == INFINITE else "maximum" if temperature == 0 else f"temperature {temperature:g}"
    name = f"{size}{' learned' if learned else ''}; {loss}{'' if scores == 'logits' else f' on {scores}'}"
    own: Settings = {"temperature": temperature, "loss": loss, "scores": scores}
    return Row(name, "soft", settings=own | ({"learned": True, "temperature_rate": 0.1} if learned else {}))


def one_form_row(prior: str) -> Row:
    """One form for all classes: one search instead of one for each class, and one form in the pass with gradients."""
    own: Settings = {"temperature": 0.0, "loss": "cross-entropy", "scores": "logits", "prior": prior}
    return Row(f"one form by {prior}; cross-entropy", "soft", settings=own)


def few_forms_row(forms: float) -> Row:
    """On clouds only: some forms of a cloud carry gradients, the others enter as constants."""
    row = soft_row(1.0, "cross-entropy")
    return Row(f"{row.name}; gradients at {forms:g} forms", "soft", settings={**row.settings, "forms": forms})


def windows_row(drawn: int) -> Row:
    """On crops only: more or fewer windows of an image in a step of training."""
    row = soft_row(3.0, "cross-entropy")
    return Row(f"{row.name}; {drawn} windows", "soft", settings={**row.settings, "drawn": drawn})


def all_frames_row(temperature: float | str) -> Row:
    """On clouds only: principal axes in any order, four forms of a cloud with gradients."""
    row = soft_row(temperature, "cross-entropy")
    return Row(f"{row.name}; 24 frames", "soft", settings={**row.settings, "frames": 24, "forms": 4.0})


ROWS = (
    *(soft_row(temperature, loss) for loss, temperature in product(LOSSES, TEMPERATURES)),
    *(soft_row(temperature, "cross-entropy", "log-probabilities") for temperature in (0.3, 1.0, 3.0)),
    soft_row(1.0, "cross-entropy", learned=True),
    *map(all_frames_row, (0.0, 0.3, 1.0)),
    few_forms_row(2.0),
    *map(windows_row, (2, 4, 16, 55)),
    *map(one_form_row, SHARED),
)


@dataclass(frozen=True)
class Field:
    """What a column is about.

    Attributes:
        settings: of all its runs.
        figures: trains one run and measures it.
        splits: folds or seeds.
        takes: what rows may have beside a temperature and a loss.
    """

    settings: Settings
    figures: Training
    splits: int
    takes: frozenset[str]


FRAMES, FORMS, WINDOWS, PRIOR, LEARNED, SCORES = "frames", "forms", "drawn", "prior", "learned", "scores"
OF_CROPS = frozenset({WINDOWS, LEARNED, SCORES})
GRAPHS = "ENZYMES"
FIELDS: dict[str, Field] = {
    "clouds": Field(soft_clouds.SMALL, soft_clouds.figures, 4, frozenset({FRAMES, FORMS, PRIOR, LEARNED, SCORES})),
    "crops": Field(soft_crops.CROPS, soft_crops.figures, 4, OF_CROPS),
    "crops (CIFAR-100)": Field({**soft_crops.CROPS, "data": "CIFAR-100"}, soft_crops.figures, 4, OF_CROPS),
    "digits": Field(soft_digits.DIGITS, soft_digits.figures, 2, frozenset({PRIOR, LEARNED, SCORES})),
    GRAPHS: Field({**soft_graphs.graph_settings(GRAPHS), **SOFT_SETTINGS}, soft_graphs.figures, 5, frozenset()),
}


def splits(row: Row, column: str) -> int:
    """How many folds or seeds a cell has; none where a column does not take what a row asks for."""
    field = FIELDS[column]
    asked = {name for name in (FRAMES, FORMS, WINDOWS, PRIOR, LEARNED) if name in row.settings}
    asked |= {SCORES} if row.settings[SCORES] != "logits" else set()
    return field.splits if asked <= field.takes else 0


def settings(row: Row, column: str, preset: str) -> Settings:
    """What a cell depends on."""
    own = {name: value for name, value in row.own_settings(preset).items() if name != SCORES or column != GRAPHS}
    return {**FIELDS[column].settings, **own}


def execute(run: Run, control: TrainingControl) -> dict[str, float]:
    """Train and measure, each field in its own way."""
    return FIELDS[run.column].figures(run, control)


def prepare(runs: Sequence[Run], *, executor: Executor, show: bool) -> None:
    """Extract the features that the crops need, and what is derived of graphs."""
    options = [(run, run.options()) for run in runs]
    crops = [Run.of("cifar", run.row, own["data"], run.split, own) for run, own in options if "windows" in own]
    cifar.prepare(crops, executor=executor, show=show)
    soft_graphs.prepare([run for run in runs if run.column == GRAPHS], executor=executor, show=show)


SHOWN = (
    ("accuracy, %", None),
    ("calibration error, %", "after scaling"),
    ("change under the symmetry", "moved"),
    ("largest jump", "jump"),
)
"""What the figure shows: heading, and which of the extra metrics."""

Curves = tuple[list[str], dict[str, list[Curve]], list[tuple[str, int | None]]]


def curves_of(summary: Summary) -> Curves:
    """Along the dial, for every column that has records: what :func:`adacanon.reports.temperature_figure.draw` takes.

    The soft maxima of logits alone, by loss.
    """
    names = {INFINITE: "mean", 0.0: "max"}
    metrics = [(heading, None if key is None else summary.extra_metrics.index(key)) for heading, key in SHOWN]
    panels = {
        column: [
            Curve(loss, [summary.cells[soft_row(temperature, loss).name].get(column) for temperature in TEMPERATURES])
            for loss in LOSSES
        ]
        for column in FIELDS
    }
    run = {column: curves for column, curves in panels.items() if any(c and c.n for x in curves for c in x.cells)}
    return [names.get(t, f"{t:g}" if isinstance(t, float) else t) for t in TEMPERATURES], run, metrics


TEMPERATURE = Table(
    name="temperature",
    title="Loss, scores and temperature on clouds, crops, digits and graphs: accuracy on samples that are held out",
    rows=ROWS,
    columns=tuple(FIELDS),
    splits=splits,
    most_splits=12,
    settings=settings,
    execute=execute,
    extra_metrics=(
        ("calibration_error", "calibration"),
        ("scaled_calibration_error", "after scaling"),
        ("changed", "changed"),
        ("moved", "moved"),
        ("jump", "jump"),
        ("effective_forms", "effective forms"),
    ),
    presets=("cpu",),
    prepare=prepare,
    reuses="temperature-graphs",
)
