"""A summary as Markdown, as HTML and on the terminal."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress

from adacanon.reports.pages import render
from adacanon.reports.summary import Cell, Summary

OURS, NOTHING = "ours", "–"
FIGURES = ("paper", OURS, "± splits", "s.e.m.", "diff.", "runs")
Line = tuple[str, ...]

SMALLEST = 1e-4
"""What is smaller is shown as zero."""

LINK_OR_CODE = re.compile(r"\[(?P<link>[^]]+)]\((?P<address>[^)]+)\)|`(?P<code>[^`]+)`")

OVERVIEW = "Ours ± standard deviation between splits (the paper's figure):"


def lines(summary: Summary) -> tuple[Line, ...]:
    """The names of the fields, and one line of text fields per cell; fields that no cell has are left out, and a table
    with a single column does not repeat its name.
    """
    headings = ("method", "column", *FIGURES, *summary.extra_metrics)
    cells = [(row, column, *fields(cell)) for row, columns in summary.cells.items() for column, cell in columns.items()]
    empty = {"column"} if summary.single else set()
    empty |= {name for name, *values in zip(headings, *cells, strict=True) if set(values) == {NOTHING}} - {OURS}
    shown = [name not in empty for name in headings]
    return tuple(tuple(compress(line, shown)) for line in (headings, *cells))


def fields(cell: Cell) -> tuple[str, ...]:
    """Paper, ours, spread, standard error, difference, number of runs, and what else the table shows."""
    spread = "" if cell.paper_spread is None else f" ± {cell.paper_spread:.1f}"
    paper = NOTHING if cell.paper is None else f"{cell.paper:.2f}{spread}"
    return (
        paper,
        _number(cell.mean),
        _number(cell.std),
        _number(cell.sem),
        NOTHING if cell.difference is None else f"{cell.difference:+.2f}",
        f"{cell.n}/{cell.expected}",
        *(_number(value) for value in cell.extra_metrics),
    )


def to_markdown(summary: Summary) -> str:
    """A report that stands on its own."""
    overview = [] if summary.single else [OVERVIEW, "", markdown_overview(summary), ""]
    text = [f"# {summary.title}", "", *overview, markdown_table(summary), ""]
    text += [f"Time of the runs shown: {summary.hours:.2f} hours.", ""]
    text += [f"- {note}" for note in summary.notes]
    text += [f"- Missing runs: {gap}" for gap in summary.missing()]
    return "\n".join(text) + "\n"


def markdown_table(summary: Summary) -> str:
    """The figures alone."""
    return markdown_lines(lines(summary))


def markdown_overview(summary: Summary) -> str:
    """One line per row, one field per column: ours with its spread, and the paper's figure."""
    columns = list(dict.fromkeys(column for cells in summary.cells.values() for column in cells))
    rows = [(row, *(_short(cells.get(column)) for column in columns)) for row, cells in summary.cells.items()]
    return markdown_lines((("method", *columns), *rows))


def markdown_lines(content: Sequence[Line]) -> str:
    """Headings and rows of text fields as a table of Markdown."""
    headings, *rows = content
    return "\n".join(f"| {' | '.join(row)} |" for row in (headings, ("---",) * len(headings), *rows))


def to_html(summary: Summary) -> str:
    """A page that stands on its own."""
    return render("report.html", report_values(summary))


def report_values(summary: Summary) -> dict[str, object]:
    """What the template of reports, and those that extend it, are filled with."""
    headings, *rows = lines(summary)
    notes = [*summary.notes, *(f"Missing runs: {gap}" for gap in summary.missing())]
    return {
        "title": summary.title,
        "headings": headings,
        "rows": rows,
        "hours": summary.hours,
        "notes": [pieces(note) for note in notes],
    }


@dataclass(frozen=True)
class Piece:
    """A part of a note: plain words, words of code, or words with a link."""

    text: str
    code: bool = False
    address: str = ""


def pieces(note: str) -> list[Piece]:
    """A note of Markdown, cut at its links and words of code.

    Example:
        >>> pieces("see `a`")
        [Piece(text='see ', code=False, address=''), Piece(text='a', code=True, address='')]
    """
    found, end = [], 0
    for match in LINK_OR_CODE.finditer(note):
        found.append(Piece(note[end : match.start()]))
        found.append(Piece(match["link"] or match["code"], bool(match["code"]), match["address"] or ""))
        end = match.end()
    return [piece for piece in (*found, Piece(note[end:])) if piece.text]


def _short(cell: Cell | None) -> str:
    if cell is None or cell.mean is None:
        quoted = cell is not None and cell.expected == 0 and cell.paper is not None
        return f"({_number(cell.paper, 1)})" if cell is not None and quoted else NOTHING
    spread = "" if cell.std is None else f" ± {cell.std:.{_places(cell.mean, 1)}f}"
    runs = "" if cell.n == cell.expected else f" [{cell.n} of {cell.expected} runs]"
    paper = "" if cell.paper is None else f" ({_number(cell.paper, 1)})"
    return f"{_number(cell.mean, 1)}{spread}{paper}{runs}"


def _number(value: float | None, places: int = 2) -> str:
    """With so many decimals, more where two digits would not be seen otherwise, none for thousands."""
    if value is None:
        return NOTHING
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.{_places(value, places)}f}"


def _places(value: float, least: int) -> int:
    """The decimals that show two digits of a value."""
    return max(least, 1 - math.floor(math.log10(abs(value)))) if abs(value) >= SMALLEST else least
