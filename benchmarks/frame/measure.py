"""What all benchmarks do alike: options, interleaved timing, tables, records."""

import argparse
import json
import math
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from adacanon.runs.run import Settings
from adacanon.runs.table import Table
from adacanon.training.timing import Clock, medians

Row = dict[str, Any]

Section = tuple[dict[str, Any], list[Row]]
"""What a section of ``benchmarks.speed.bench`` returns: headline figures by their name in the file, and a table."""

__all__ = [
    "CLOCKS",
    "Clock",
    "Row",
    "Section",
    "common_options",
    "medians",
    "options",
    "report",
    "run_section",
    "section_options",
    "settings_of",
    "start",
    "table",
    "text",
]

RESULTS = Path(__file__).parents[2] / "results"
ROUNDING = 1e-12
"""No figure of a benchmark is so small but by rounding."""

CLOCKS: dict[str, Clock] = {"wall": time.perf_counter, "processor": time.process_time}
"""On a machine that others use too, take processor time and one thread."""


def settings_of(table: Table, row: str, column: str) -> Settings:
    """What the runs of a table in the results folder have, with the choices of that folder."""
    return table.under(RESULTS).settings_of(row, column)


def common_options(description: str) -> argparse.ArgumentParser:
    """Threads and seed."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--threads", type=int, default=2, help="threads for torch")
    parser.add_argument("--seed", type=int, default=0, help="seed of network, clouds and candidates")
    return parser


def options(description: str) -> argparse.ArgumentParser:
    """The command line that every benchmark understands."""
    parser = common_options(description)
    parser.add_argument("--json", type=Path, default=None, help="also write the rows to this file")
    return parser


def section_options(description: str, *, quick: Row) -> argparse.ArgumentParser:
    """The command line of a section of ``benchmarks.speed.bench``, where ``--quick`` stands for the sizes ``quick``."""
    parser = options(description)
    parser.add_argument("--clock", choices=CLOCKS, default="wall", help="processor: undisturbed by other jobs")
    parser.add_argument("--quick", action=_Several, const=quick, default=False, help="tiny sizes: does it run?")
    return parser


class _Several(argparse.Action):
    """One word for several options; those that follow it still count."""

    def __init__(self, option_strings: Sequence[str], dest: str, **other: Any) -> None:
        super().__init__(option_strings, dest, nargs=0, **other)

    def __call__(
        self, parser: object, namespace: argparse.Namespace, values: object, option: str | None = None
    ) -> None:
        for name, value in {**self.const, self.dest: True}.items():
            setattr(namespace, name, value)


def start(parser: argparse.ArgumentParser, arguments: list[str] | None = None) -> argparse.Namespace:
    """Read the command line and set the number of threads."""
    chosen = parser.parse_args(arguments)
    torch.set_num_threads(chosen.threads)
    return chosen


def report(rows: list[Row], *, title: str, path: Path | None) -> None:
    """Print an aligned table, and write the rows as JSON if a path is given."""
    print(f"\n{title}\n{table(rows)}")
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps({"title": title, "rows": rows}, indent=2) + "\n")


def run_section(
    parser: argparse.ArgumentParser,
    section: Callable[[argparse.Namespace], Section],
    title: Callable[[argparse.Namespace], str],
) -> list[Row]:
    """A section as a command of its own: its table, and its headlines."""
    options = start(parser)
    headline, rows = section(options)
    report(rows, title=title(options), path=options.json)
    for name, value in headline.items():
        print(f"{name}: {value}")
    return rows


def table(rows: list[Row]) -> str:
    """Rows with the same keys as aligned text: names to the left, numbers to the right."""
    header = list(rows[0])
    cells = [header] + [[text(row[key]) for key in header] for row in rows]
    widths = [max(len(line[i]) for line in cells) for i in range(len(header))]
    numeric = [isinstance(rows[0][key], int | float) for key in header]
    return "\n".join(
        "  ".join(_pad(cell, w, n) for cell, w, n in zip(line, widths, numeric, strict=True)) for line in cells
    )


def text(value: object) -> str:
    """A number with four digits, a dash for nothing, zero for rounding, anything else as it is."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return "–"
    if not isinstance(value, float):
        return str(value)
    return f"{value:.4g}" if abs(value) > ROUNDING else "0"


def _pad(cell: str, width: int, numeric: bool) -> str:
    return cell.rjust(width) if numeric else cell.ljust(width)
