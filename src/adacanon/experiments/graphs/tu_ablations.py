"""The ablations of A-NLSF on TU data sets (paper: appendix, additional experiments)."""

from dataclasses import replace
from typing import Any

from adacanon.experiments.graphs.tu import ROWS, TU, VARIANTS, settings
from adacanon.experiments.graphs.tu_data import COLUMNS
from adacanon.runs.choices import Choices
from adacanon.runs.run import Settings
from adacanon.runs.table import Row, Table, row_named


def variant(name: str, base: str = "A-NLSF", **differences: Any) -> Row:
    """A row of ``tu`` with some settings changed; "method" names that row in the settings."""
    return Row(name, row_named(ROWS, base).method, base=base, settings={"method": base, **differences})


SEARCH = (
    variant("A-NLSF (sampling)", draws=32, steps=0),
    variant("A-NLSF (sampling x5)", draws=160, steps=0),
    variant("A-NLSF (sampling x10)", draws=320, steps=0),
    variant("A-NLSF (refined)"),
)
NODE = (
    variant("Node to graph", "A-NLSF (node)"),
    variant("Graph", "A-NLSF (paper)"),
)
BANDS = (
    variant("Uniform", partition="uniform"),
    variant("Dyadic", partition="dyadic"),
)
SHIFT = (
    variant("Laplacian", operator="laplacian"),
    variant("Normalized Laplacian", operator="normalized"),
)

COMPONENTS = (
    variant("A-NLSF"),
    variant("encoder without messages", hops=0),
    variant("encoder of 3 hops", hops=3),
    variant("no return probabilities", returns=0),
    variant("4 layers", layers=4),
    variant("12 bands", bands=12, partition="uniform"),
    variant("4 rows per band", rows=4),
    variant("frames of 8", frame=8),
    variant("random basis (no search)", draws=1, steps=0, resample_every=1),
    variant("strong search", draws=128, steps=5, resample_every=1),
    variant("dropout 0.5", dropout=0.5),
    variant("weight decay 0.01", weight_decay=0.01),
    variant("8 sets of candidates", ensemble=8),
)

ABLATION_SPLITS = 3
"""Of the ten of ``tu``; ``--splits 10`` runs them all."""


def ablation(
    name: str,
    title: str,
    variants: tuple[Row, ...],
    *,
    columns: tuple[str, ...] = COLUMNS,
    splits: int = ABLATION_SPLITS,
) -> Table:
    """Variants of methods of ``tu``, whose records it takes over where nothing differs."""

    def settings_of(row: Row, column: str, preset: str, *, choices: Choices | None = None) -> Settings:
        base = settings(row_named(ROWS, row.base), column, preset, choices=choices)
        return {**base, **row.own_settings(preset)}

    return replace(
        TU,
        name=name,
        title=title,
        rows=variants,
        columns=columns,
        splits=lambda row, column: splits,
        settings=settings_of,
        search_space=None,
        reuses=TU.name,
    )


def _with_attributes(row: Row, column: str, preset: str, *, choices: Choices | None = None) -> Settings:
    return {**settings(row, column, preset, choices=choices), "features": "attributes"}


TU_ATTRIBUTES = replace(
    TU,
    name="tu-attributes",
    title="Graph classification with node attributes beside the labels",
    rows=tuple(row for row in TU.rows if row not in VARIANTS),
    columns=("ENZYMES", "PROTEINS"),
    settings=_with_attributes,
    search_space=None,
)
TU_SEARCH = ablation("tu-search", "Sampling against sample-and-refine (paper: appendix)", SEARCH)
TU_NODE = ablation("tu-node", "Graph-level against node-to-graph construction (paper: appendix)", NODE)
TU_BANDS = ablation("tu-bands", "Uniform against dyadic bands (paper: appendix)", BANDS)
TU_SHIFT = ablation("tu-shift", "Laplacian against normalized Laplacian (paper: appendix)", SHIFT)
TU_COMPONENTS = replace(
    ablation(
        "tu-components",
        "What every component of A-NLSF contributes, on the validation part",
        COMPONENTS,
        columns=("PTC", "ENZYMES", "PROTEINS"),
    ),
    metric="validation_accuracy",
    extra_metrics=(("accuracy", "test"), ("best_test_accuracy", "best test epoch")),
)
