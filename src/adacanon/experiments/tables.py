"""All tables by name, and the numbers that the paper prints for them."""

import json
from importlib import resources
from pathlib import Path

from adacanon.errors import UnknownNameError
from adacanon.experiments.choices import read_choices
from adacanon.experiments.cifar import CIFAR
from adacanon.experiments.continuity import CONTINUITY
from adacanon.experiments.fast_clouds import FAST_CLOUDS
from adacanon.experiments.fast_graphs import FAST_GRAPHS
from adacanon.experiments.held_out_clouds import HELD_OUT
from adacanon.experiments.invariance import INVARIANCE
from adacanon.experiments.modelnet import MODELNET, MODELNET_BACKBONES, MODELNET_Z
from adacanon.experiments.rotated_mnist import ROTATED_MNIST
from adacanon.experiments.run import Table
from adacanon.experiments.shapenet import SHAPENET
from adacanon.experiments.stability import STABILITY
from adacanon.experiments.toy import TOY, TOY_STRICT
from adacanon.experiments.toy_sensitivity import TOY_SENSITIVITY
from adacanon.experiments.tu import TU
from adacanon.experiments.tu_ablations import TU_ATTRIBUTES, TU_BANDS, TU_LEVERS, TU_NODE, TU_SEARCH, TU_SHIFT
from adacanon.experiments.tu_runtime import TU_RUNTIME

_GRAPHS = (TU, TU_ATTRIBUTES, TU_SEARCH, TU_NODE, TU_BANDS, TU_SHIFT, TU_LEVERS, TU_RUNTIME)
_CLOUDS = (MODELNET, MODELNET_Z, MODELNET_BACKBONES, SHAPENET, STABILITY, CONTINUITY, INVARIANCE, HELD_OUT)
_IMAGES = (CIFAR, ROTATED_MNIST)
_FAST = (FAST_CLOUDS, FAST_GRAPHS)
TABLES: dict[str, Table] = {
    table.name: table for table in (TOY, TOY_STRICT, TOY_SENSITIVITY, *_GRAPHS, *_CLOUDS, *_IMAGES, *_FAST)
}

Published = dict[str, dict[str, list[float | None]]]
"""row -> column -> [figure, plus or minus]"""


def table_named(name: str, results: Path | None = None) -> Table:
    """The table of that name, with the choices of a results folder, or with the package's."""
    if name not in TABLES:
        raise UnknownNameError(f"Tables are {', '.join(TABLES)}; got {name!r}. Hint: adacanon list")
    return TABLES[name] if results is None else TABLES[name].under(read_choices(results))


def checked_rows(table: Table, rows: tuple[str, ...]) -> tuple[str, ...]:
    """Row names as the table spells them, whatever the case in which they came."""
    return _spelled(f"Rows of {table.name}", table.rows, rows)


def checked_columns(table: Table, columns: tuple[str, ...]) -> tuple[str, ...]:
    """Column names as the table spells them; PTC_MR is what the files call PTC."""
    return _spelled(
        f"Columns of {table.name}", table.columns, tuple("PTC" if c.upper() == "PTC_MR" else c for c in columns)
    )


def _spelled(what: str, known: tuple[str, ...], names: tuple[str, ...]) -> tuple[str, ...]:
    spelling = {name.lower(): name for name in known}
    unknown = [name for name in names if name.lower() not in spelling]
    if unknown:
        raise UnknownNameError(f"{what} are {', '.join(known)}; got {', '.join(unknown)}")
    return tuple(spelling[name.lower()] for name in names)


def published(name: str) -> Published:
    """The paper's figures for a table; empty for tables that it does not have."""
    text = resources.files("adacanon.experiments").joinpath("published.json").read_text(encoding="utf-8")
    return json.loads(text).get(name, {})
