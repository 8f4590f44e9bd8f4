"""Graphs in portions: what was computed before a stop is not computed again."""

import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from adacanon.graphs import dyadic, prepared_graphs
from adacanon.graphs.portions import in_portions, portions_of
from cases.labelled_molecules import ATOM_KINDS, small_molecules


class StoppedError(Exception):
    """Somebody has stopped the command."""


def stopped_after(count: int) -> Callable[..., Iterator[Any]]:
    """Calls a function so many times, and stops then."""

    def in_order(function: Callable[..., Any], calls: Iterable[tuple[Any, ...]]) -> Iterator[Any]:
        for number, arguments in enumerate(calls):
            if number == count:
                raise StoppedError
            yield function(*arguments)

    return in_order


def test_answers_are_in_the_order_of_the_portions_whether_loaded_or_computed() -> None:
    kept, told = {range(2, 4): ["kept"]}, list[tuple[int, int]]()
    found = in_portions(
        lambda graphs, first: [first, *graphs],
        list,
        portions_of(5, 2),
        load=kept.get,
        store=kept.__setitem__,
        on_progress=lambda done, total: told.append((done, total)),
    )
    assert found == [[0, 0, 1], ["kept"], [4, 4]] == [kept[portion] for portion in portions_of(5, 2)]
    assert told == [(4, 5), (5, 5)]


def test_a_preparation_that_is_stopped_goes_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ADACANON_CACHE", str(tmp_path))
    monkeypatch.setattr("adacanon.graphs.coefficient_cache._FEWEST_GRAPHS", 10)
    monkeypatch.setattr(sys.modules[prepared_graphs.__module__], "_KEPT_PORTION", 4)
    graphs = small_molecules(18)
    whole = prepared_graphs(graphs, dyadic(6), categories=ATOM_KINDS, cache=False)
    with pytest.raises(StoppedError):
        prepared_graphs(graphs, dyadic(6), categories=ATOM_KINDS, in_order=stopped_after(3))
    assert len(list((tmp_path / "coefficients").iterdir())) == 3
    told: list[tuple[int, int]] = []
    found = prepared_graphs(
        graphs, dyadic(6), categories=ATOM_KINDS, on_progress=lambda done, total: told.append((done, total))
    )
    assert told == [(16, 18), (18, 18)]
    for name in ("basis", "sizes", "ranks", "signals"):
        assert torch.equal(getattr(found, name), getattr(whole, name)), name
    assert len(list((tmp_path / "coefficients").iterdir())) == 1  # the whole; its portions are gone
