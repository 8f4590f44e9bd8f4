"""All tables by name, and the numbers that the paper prints for them."""

import json
from importlib import resources

from adacanon.errors import UnknownNameError
from adacanon.experiments.run import Table
from adacanon.experiments.toy import TOY, TOY_STRICT

TABLES: dict[str, Table] = {table.name: table for table in (TOY, TOY_STRICT)}

Published = dict[str, dict[str, list[float]]]
"""row -> column -> [figure, plus or minus]"""


def table_named(name: str) -> Table:
    """The table of that name."""
    if name not in TABLES:
        raise UnknownNameError(f"Tables are {', '.join(TABLES)}; got {name!r}. Hint: adacanon list")
    return TABLES[name]


def checked_rows(table: Table, rows: tuple[str, ...]) -> tuple[str, ...]:
    """Row names as the table spells them, whatever the case in which they came."""
    known = {row.lower(): row for row in table.rows}
    unknown = [row for row in rows if row.lower() not in known]
    if unknown:
        raise UnknownNameError(f"Rows of {table.name} are {', '.join(table.rows)}; got {', '.join(unknown)}")
    return tuple(known[row.lower()] for row in rows)


def published(name: str) -> Published:
    """The paper's figures for a table; empty for tables that it does not have."""
    text = resources.files("adacanon.experiments").joinpath("published.json").read_text(encoding="utf-8")
    return json.loads(text).get(name, {})
