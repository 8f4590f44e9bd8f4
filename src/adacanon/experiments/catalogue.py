"""All tables by name, with the numbers that the paper prints for them."""

from dataclasses import replace
from pathlib import Path

from adacanon.errors import UnknownNameError
from adacanon.experiments.clouds.continuity import CONTINUITY
from adacanon.experiments.clouds.fast_clouds import FAST_CLOUDS
from adacanon.experiments.clouds.held_out import HELD_OUT
from adacanon.experiments.clouds.invariance import INVARIANCE
from adacanon.experiments.clouds.learning_curve import LEARNING_CURVE
from adacanon.experiments.clouds.modelnet import MODELNET, MODELNET_BACKBONES, MODELNET_Z
from adacanon.experiments.clouds.shapenet import SHAPENET
from adacanon.experiments.clouds.shapenet_held_out import SHAPENET_HELD_OUT
from adacanon.experiments.clouds.stability import STABILITY
from adacanon.experiments.clouds.temperature import TEMPERATURE_GRID
from adacanon.experiments.graphs.fast_graphs import FAST_GRAPHS
from adacanon.experiments.graphs.nodes import NODES
from adacanon.experiments.graphs.ogb import OGB_TABLE
from adacanon.experiments.graphs.peptides import PEPTIDES
from adacanon.experiments.graphs.readout_validation import READOUT_VALIDATION
from adacanon.experiments.graphs.temperature import TEMPERATURE_GRAPHS
from adacanon.experiments.graphs.tu import TU
from adacanon.experiments.graphs.tu_ablations import (
    TU_ATTRIBUTES,
    TU_BANDS,
    TU_COMPONENTS,
    TU_NODE,
    TU_SEARCH,
    TU_SHIFT,
)
from adacanon.experiments.graphs.tu_fair import TU_FAIR, TU_FAIR_ATTRIBUTES, TU_FAIR_LABELS
from adacanon.experiments.graphs.tu_runtime import TU_RUNTIME
from adacanon.experiments.images.cifar import CIFAR
from adacanon.experiments.images.rotated_mnist import ROTATED_MNIST
from adacanon.experiments.images.segmentation import SEGMENTATION, SEGMENTATION_TEMPERATURE
from adacanon.experiments.molecules.qm9 import QM9_TABLE
from adacanon.experiments.molecules.qm9_validation import QM9_VALIDATION
from adacanon.experiments.temperature import TEMPERATURE
from adacanon.experiments.toy.directions import DIRECTIONS
from adacanon.experiments.toy.orientation import TOY, TOY_STRICT
from adacanon.experiments.toy.sensitivity import TOY_SENSITIVITY
from adacanon.runs.published import read_published
from adacanon.runs.table import Table

_GRAPHS = (
    TU,
    TU_ATTRIBUTES,
    TU_SEARCH,
    TU_NODE,
    TU_BANDS,
    TU_SHIFT,
    TU_COMPONENTS,
    TU_RUNTIME,
    TEMPERATURE_GRAPHS,
    NODES,
    DIRECTIONS,
)
_FAIR = (TU_FAIR, TU_FAIR_LABELS, TU_FAIR_ATTRIBUTES)
_BENCHMARKS = (OGB_TABLE, PEPTIDES, READOUT_VALIDATION)
_CLOUDS = (
    MODELNET,
    MODELNET_Z,
    MODELNET_BACKBONES,
    SHAPENET,
    STABILITY,
    CONTINUITY,
    INVARIANCE,
    HELD_OUT,
    TEMPERATURE_GRID,
    SHAPENET_HELD_OUT,
    LEARNING_CURVE,
)
_IMAGES = (CIFAR, ROTATED_MNIST, SEGMENTATION, SEGMENTATION_TEMPERATURE)
_MOLECULES = (QM9_TABLE, QM9_VALIDATION)
_FAST = (FAST_CLOUDS, FAST_GRAPHS)
_PUBLISHED = Path(__file__).with_name("published.json")
TABLES: dict[str, Table] = {
    table.name: replace(table, published=read_published(_PUBLISHED, table.name))
    for table in (
        TOY,
        TOY_STRICT,
        TOY_SENSITIVITY,
        *_GRAPHS,
        *_FAIR,
        *_BENCHMARKS,
        *_CLOUDS,
        *_IMAGES,
        *_MOLECULES,
        *_FAST,
        TEMPERATURE,
    )
}


def table_named(name: str, results: Path | None = None) -> Table:
    """The table of that name, with the choices of a results folder, or with the package's."""
    if name not in TABLES:
        raise UnknownNameError(f"Tables are {', '.join(TABLES)}; got {name!r}. Hint: adacanon list")
    return TABLES[name] if results is None else TABLES[name].under(results)
