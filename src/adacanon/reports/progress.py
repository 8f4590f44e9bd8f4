"""How far long work has come: bars on a terminal, and lines where the output goes to a file."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from adacanon.extras import is_installed

if TYPE_CHECKING:
    from rich.progress import Progress

SECONDS_BETWEEN_LINES = 30.0


@contextmanager
def progress_bars(*, show: bool = True) -> Iterator["Progress"]:
    """Bars of rich with what is done, the time it took and the time that is left."""
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, TimeRemainingColumn(), disable=not show) as bars:
        yield bars


@contextmanager
def passes_bar(name: str, *, show: bool = True) -> Iterator[Callable[[int, int], None]]:
    """A single bar, as a function of what is done and of all; nothing where rich is not installed."""
    if not is_installed("rich"):
        yield lambda done, total: None
        return
    with progress_bars(show=show) as bars:
        task = bars.add_task(name, total=None)
        yield lambda done, total: bars.update(task, completed=done, total=total)


def progress_lines(bars: "Progress") -> Callable[[str], None]:
    """A function that prints a line where bars are not drawn, at most one in half a minute."""
    last = time.monotonic()

    def line(text: str) -> None:
        nonlocal last
        if time.monotonic() - last >= SECONDS_BETWEEN_LINES:
            last = time.monotonic()
            progress_line(bars, text)

    return line


def progress_line(bars: "Progress", text: str) -> None:
    """Print a line where bars are not drawn."""
    if not (bars.disable or bars.console.is_terminal):
        bars.console.print(text, highlight=False, markup=False, soft_wrap=True)
