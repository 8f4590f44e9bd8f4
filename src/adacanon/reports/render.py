"""A summary as Markdown, as HTML and on the terminal."""

import html
import math
import re
from itertools import compress

from adacanon.reports.summary import Cell, Summary

OURS, NOTHING = "ours", "–"
FIGURES = ("paper", OURS, "± splits", "s.e.m.", "diff.", "runs")
Line = tuple[str, ...]

SMALLEST = 1e-4
"""What is smaller is shown as zero."""

OVERVIEW = "Ours ± standard deviation between splits (the paper's figure):"

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #1d2733; }
table { border-collapse: collapse; margin: 1rem 0; } th, td { padding: .35rem .8rem; text-align: right; }
th { border-bottom: 2px solid #1d2733; } td { border-bottom: 1px solid #d8dee6; }
th:first-child, td:first-child { text-align: left; } img { max-width: 100%; } li { margin: .3rem 0; }
"""


def lines(summary: Summary) -> tuple[Line, ...]:
    """The names of the fields, and one line of text fields per cell; fields that no cell has are left out, and a table
    with a single column does not repeat its name.
    """
    headings = ("method", "column", *FIGURES, *summary.also)
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
        *(_number(value) for value in cell.also),
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
    headings, *rows = lines(summary)
    return "\n".join(_markdown_row(row) for row in (headings, ("---",) * len(headings), *rows))


def markdown_overview(summary: Summary) -> str:
    """One line per row, one field per column: ours with its spread, and the paper's figure."""
    columns = list(dict.fromkeys(column for cells in summary.cells.values() for column in cells))
    rows = [("method", *columns), ("---",) * (1 + len(columns))]
    rows += [(row, *(_short(cells.get(column)) for column in columns)) for row, cells in summary.cells.items()]
    return "\n".join(_markdown_row(row) for row in rows)


def to_html(summary: Summary, *, body: str = "") -> str:
    """A page that stands on its own; ``body`` goes between the heading and the table."""
    headings, *cells = lines(summary)
    head = "".join(f"<th>{html.escape(name)}</th>" for name in headings)
    rows = "".join("<tr>" + "".join(f"<td>{html.escape(field)}</td>" for field in row) + "</tr>" for row in cells)
    notes = [*summary.notes, *(f"Missing runs: {gap}" for gap in summary.missing())]
    items = "".join(f"<li>{_html_note(note)}</li>" for note in notes)
    title = html.escape(summary.title)
    return (
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>"
        f"<title>{title}</title><style>{STYLE}</style></head>"
        f"<body><h1>{title}</h1>{body}<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
        f"<p>Time of the runs shown: {summary.hours:.2f} hours.</p><ul>{items}</ul></body></html>\n"
    )


def _html_note(note: str) -> str:
    """A note of Markdown as HTML: its links and its words of code."""
    linked = re.sub(r"\[([^]]+)]\(([^)]+)\)", r"<a href='\2'>\1</a>", html.escape(note))
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", linked)


def _short(cell: Cell | None) -> str:
    if cell is None or cell.mean is None:
        return NOTHING
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


def _markdown_row(cells: tuple[str, ...]) -> str:
    return "| " + " | ".join(cells) + " |"
