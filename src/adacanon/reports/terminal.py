"""What the command shows on the terminal, as rich tables."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from adacanon.reports import demo_words
from adacanon.reports.demo_page import Measured, table_rows
from adacanon.reports.doctor_page import cautions, verdict
from adacanon.reports.paired import HOW_TO_READ, Comparison, comparison_lines
from adacanon.reports.render import Line, lines
from adacanon.reports.summary import Summary

if TYPE_CHECKING:
    from rich.table import Table

NAMES = ("method", "column")
"""Headings of what stands to the left, in this order."""

NAMES_AT_MOST = 60
"""Percent of the width that names may take; longer ones are folded, figures never."""

Counts = Mapping[str, float] | None
"""The statistics of a data set by name, or None if it is not present."""


class Progress(NamedTuple):
    """A table, and for each of its rows how many runs have a record and how many there are."""

    name: str
    title: str
    rows: Mapping[str, tuple[int, int]]


def show_summary(summary: Summary) -> None:
    """Figures, then notes and what is missing."""
    _show(summary.title, lines(summary), (*summary.notes, *(f"Missing runs: {gap}" for gap in summary.missing())))


def show_comparison(comparison: Comparison) -> None:
    """One row against the others."""
    (_, *columns), *rows = comparison_lines(comparison)
    title = f"{comparison.title}: {comparison.row} minus each method"
    _show(title, [(NAMES[0], *columns), *rows], [HOW_TO_READ])


def show_trials(title: str, content: Sequence[Line], notes: Sequence[str]) -> None:
    """What smoke runs came to."""
    _show(title, content, notes)


def _show(title: str, content: Sequence[Line], notes: Sequence[str]) -> None:
    """A table and notes on it; where the terminal is narrow, several tables that repeat the names."""
    from rich.console import Console

    console = Console()
    for number, columns in enumerate(_side_by_side(content, console.width)):
        console.print(_table(title if number == 0 else "", [tuple(line[i] for i in columns) for line in content]))
    for note in notes:
        console.print(f"• {note}", highlight=False, markup=False)


def _side_by_side(content: Sequence[Line], width: int) -> Iterator[list[int]]:
    """Columns that fit beside each other and beside the names, as many at a time as do."""
    widths = [3 + max(map(len, column)) for column in zip(*content, strict=True)]
    names = [i for i, heading in enumerate(content[0]) if heading in NAMES]
    room = width - 1 - min(sum(widths[i] for i in names), NAMES_AT_MOST * width // 100)
    columns: list[int] = []
    for i in range(len(names), len(widths)):
        if columns and sum(widths[j] for j in (*columns, i)) > room:
            yield names + columns
            columns = []
        columns.append(i)
    yield names + columns


def _table(title: str, content: Sequence[Line]) -> "Table":
    from rich.table import Table

    table, (_, *rows) = Table(title=title or None), content
    for heading, *cells in zip(*content, strict=True):
        if heading in NAMES:
            table.add_column(heading, justify="left", overflow="fold")
        else:
            table.add_column(heading, justify="right", no_wrap=True, min_width=max(map(len, (heading, *cells))))
    for row in rows:
        table.add_row(*row)
    return table


def show_progress(tables: Iterable[Progress]) -> None:
    """Every table with its rows and their records."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    tables, console = list(tables), Console()
    first, last = max((len(table.name) for table in tables), default=0), len("10 of 10")
    listing = Table(title="Tables", show_lines=True)
    listing.add_column("table", min_width=first)
    listing.add_column("row", no_wrap=True, max_width=max(20, console.width - first - last - 10))  # borders are 10 wide
    listing.add_column("records", no_wrap=True, justify="right", min_width=last)
    for name, title, rows in tables:
        records = "\n".join(f"{done} of {total}" for done, total in rows.values())
        listing.add_row(Text.assemble((name, "bold"), "\n", title), Text("\n".join(rows)), records)
    console.print(listing)


class DataSets(NamedTuple):
    """Data sets of one kind.

    Attributes:
        title: of the listing.
        counts: the statistics of every data set.
        caption: what the statistics are.
        missing: what to do where one is not present.
    """

    title: str
    counts: Mapping[str, Counts]
    caption: str
    missing: str


def show_data_sets(data_sets: DataSets) -> None:
    """Every data set with its counts; a dash where it is not present."""
    from rich.console import Console
    from rich.table import Table

    title, every, caption, missing = data_sets
    names = next((tuple(counts) for counts in every.values() if counts is not None), ())
    listing = Table(title=title, caption=caption, pad_edge=False)
    listing.add_column("data set")
    for name in ("present", *names):
        listing.add_column(name, justify="right")
    for data_set, counts in every.items():
        figures = ["–"] * len(names) if counts is None else [_figure(counts[name]) for name in names]
        listing.add_row(data_set, "no" if counts is None else "yes", *figures)
    console = Console()
    console.print(listing)
    if None in every.values():
        console.print(missing, highlight=False)


def _figure(value: float) -> str:
    """Counts are whole, averages are not."""
    return str(value) if isinstance(value, int) else f"{value:.2f}"


CLASSES_SHOWN = 40


def show_classes(names: Sequence[str], source: str) -> None:
    """Which name stands for which output of a network, and how that is known."""
    from rich.console import Console

    pairs = [f"{name} → {output}" for output, name in enumerate(names)]
    if len(pairs) > CLASSES_SHOWN:
        pairs[CLASSES_SHOWN:] = [f"and {len(pairs) - CLASSES_SHOWN} more, see the page"]
    text = f"Classes and outputs of the network (another order: --classes): {', '.join(pairs)}"
    Console().print(f"{text}\nThe order was taken from {source}.", highlight=False, markup=False)


def show_verdicts(diagnosis: Mapping[str, Any]) -> None:
    """Warnings, notes, how inputs were prepared, and a line for each family that the doctor looked at."""
    from rich.console import Console

    console = Console()
    for text in cautions(diagnosis, serious=True):
        console.print(f"Warning: {text}", style="bold red", highlight=False, markup=False)
    for text in cautions(diagnosis, serious=False):
        console.print(f"Note: {text}", highlight=False, markup=False)
    if diagnosis["preparation"]:
        console.print(f"Inputs: {'; '.join(diagnosis['preparation'])}", highlight=False, markup=False)
    for finding in diagnosis["findings"]:
        console.print(f"• {finding['family']}: {verdict(finding)}", highlight=False, markup=False)


def show_demo(records: Sequence[Mapping[str, Any]]) -> None:
    """The figures of the demo, and what they say."""
    from rich.console import Console

    console, measured = Console(), Measured.of(records)
    console.print(_table("Furniture", [("method", "upright", "turned", "training, s"), *table_rows(measured)]))
    said = demo_words.everything(measured.upright, measured.turned, measured.seconds)
    for sentence in (*said, *demo_words.graphs(measured.graphs)):
        console.print(f"• {sentence}", highlight=False, markup=False)
