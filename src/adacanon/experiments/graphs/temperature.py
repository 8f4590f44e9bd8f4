"""Loss and temperature of A-NLSF, tried together on graphs that are held out; no test part is used."""

from itertools import product

from adacanon.core.loss import LOSSES
from adacanon.experiments.graphs import soft_graphs, tu
from adacanon.experiments.graphs.fast_graphs import METHOD
from adacanon.experiments.graphs.spectral_methods import SOFT_SETTINGS
from adacanon.runs.choices import Choices
from adacanon.runs.run import INFINITE, Settings
from adacanon.runs.table import Row, Table

TEMPERATURES: tuple[float | str, ...] = (0.0, 0.1, 0.3, 1.0, 3.0, 10.0, INFINITE)
REFINED = "refined"
SEEDS = 5


def soft_row(temperature: float | str, loss: str) -> Row:
    """A-NLSF with a soft maximum over its draws."""
    size = "mean" if temperature == INFINITE else "maximum" if temperature == 0 else f"temperature {temperature:g}"
    own = {**SOFT_SETTINGS, "temperature": temperature, "loss": loss}
    return Row(f"{size}; {loss}", METHOD, settings=own)


def refined_row(loss: str) -> Row:
    """A-NLSF as in ``tu``: the maximum over its draws, refined by a gradient step."""
    return Row(f"{REFINED}; {loss}", METHOD, settings={"loss": loss})


ROWS = (
    *(soft_row(temperature, loss) for loss, temperature in product(LOSSES, TEMPERATURES)),
    *(refined_row(loss) for loss in LOSSES),
)


def settings(row: Row, column: str, preset: str, *, choices: Choices | None = None) -> Settings:
    """Those of the data set, and what the row has of its own."""
    return {**soft_graphs.graph_settings(column, choices=choices), **row.own_settings(preset)}


TEMPERATURE_GRAPHS = Table(
    name="temperature-graphs",
    title="Loss and temperature of A-NLSF: accuracy on graphs that are held out",
    rows=ROWS,
    columns=("MUTAG", "PTC", "ENZYMES"),
    splits=lambda row, column: SEEDS,
    most_splits=20,
    settings=settings,
    execute=soft_graphs.figures,
    prepare=soft_graphs.prepare,
    extra_metrics=(
        ("calibration_error", "calibration"),
        ("scaled_calibration_error", "after scaling"),
        ("changed", "changed"),
        ("moved", "moved"),
        ("jump", "jump"),
        ("effective_forms", "effective forms"),
    ),
    presets=("cpu",),
    choices=tu.CHOICES,
    aliases={"PTC_MR": "PTC"},
    smoke={"paths": 1, "path_steps": 3},
)
