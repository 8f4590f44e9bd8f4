"""Rows are records, which are looked up by their names."""

import pytest

from adacanon.errors import UnknownNameError
from adacanon.experiments.catalogue import TABLES
from adacanon.runs.table import Row, row_named
from cases.tiny_table import TINY


def test_a_row_has_its_settings_and_those_of_the_preset() -> None:
    row = Row("A", settings={"x": 1, "y": 1}, preset_settings={"paper": {"y": 2}})
    assert row.own_settings("cpu") == {"x": 1, "y": 1}
    assert row.own_settings("paper") == {"x": 1, "y": 2}


def test_a_name_that_there_is_not_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(UnknownNameError, match="Rows are A, B; got 'C'"):
        TINY.row("C")


@pytest.mark.parametrize("name", TABLES)
def test_no_two_rows_of_a_table_have_the_same_name(name: str) -> None:
    names = TABLES[name].row_names
    assert len(set(names)) == len(names) >= 2
    assert all(row_named(TABLES[name].rows, row.name) is row for row in TABLES[name].rows)
