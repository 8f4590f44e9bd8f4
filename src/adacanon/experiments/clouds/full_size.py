"""The preset `full` of the tables on ModelNet: all shapes of ModelNet40 with 1,024 points, for some of the rows."""

from collections.abc import Mapping
from dataclasses import replace

from adacanon.experiments.clouds.methods import (
    adaptive_row,
    augmented_row,
    default_row,
    plain_row,
    rival_row,
    soft_row,
)
from adacanon.runs.table import Row, Table, row_named

EPOCHS = 40
"""One of those of `modelnet-curve`, in which it is chosen on shapes held out."""

ROWS = (
    plain_row("PointNet"),
    augmented_row("PointNet"),
    rival_row("CN", "PointNet"),
    rival_row("PCA", "PointNet"),
    rival_row("PCA-FA", "PointNet"),
    adaptive_row("PointNet"),
    default_row("PointNet"),
    soft_row("PointNet"),
)
PLAIN, AUGMENTED, CN, PCA, AVERAGED, PAPER, DEFAULT, SOFT = (row.name for row in ROWS)
SPLITS = {PLAIN: 1, AUGMENTED: 1, CN: 1, PCA: 1, AVERAGED: 3, PAPER: 1, DEFAULT: 3, SOFT: 3}
Z_SPLITS = {PLAIN: 1, CN: 1, AVERAGED: 1, DEFAULT: 1}
"""Seeds of every row; differences between PCA-FA-PointNet and ours are small, so that these have several."""


def variant(table: Table, splits: Mapping[str, int]) -> Table:
    """A table with the rows and seeds of the preset."""
    rows = tuple(row_named(ROWS, name) for name in splits)

    def of_row(row: Row, column: str) -> int:
        return splits[row.name]

    return replace(table, rows=rows, splits=of_row, variants={})
