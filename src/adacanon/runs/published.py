"""The figures that a paper prints, as data."""

import json
from pathlib import Path

Published = dict[str, dict[str, list[float | None]]]
"""row -> column -> [figure, plus or minus]"""


def read_published(file: Path, table: str) -> Published:
    """The printed figures for a table; empty for tables that the paper does not have."""
    return json.loads(file.read_text(encoding="utf-8")).get(table, {})
