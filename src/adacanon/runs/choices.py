"""The hyperparameters that studies have chosen: data that ``tune`` writes to a results folder and ``run`` reads there.

The package holds the choices of the published records. It is never written to: a results folder has a file of its own,
whose choices come first.
"""

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

from adacanon.errors import DataError
from adacanon.files import exclusively, write_whole

Choices = dict[str, dict[str, dict[str, Any]]]
"""row -> column -> settings"""


def chosen_file(folder: Path) -> Path:
    """The file of choices in a folder."""
    return folder / "chosen.json"


def read_choices(package: Path, results: Path | None = None) -> Choices:
    """The choices in the package's folder; those of a results folder, if there are any, replace them cell by cell."""
    published, own = (_read(chosen_file(folder)) if folder else {} for folder in (package, results))
    return {row: {**published.get(row, {}), **own.get(row, {})} for row in {**published, **own}}


def write_choice(file: Path, row: str, column: str, choice: dict[str, Any]) -> None:
    """Add one choice, in a stable order; commands that share a folder wait for one another."""
    with exclusively(file.parent):
        known = _parsed(file) if file.exists() else {}  # two writes may have the same time: nothing is remembered here
        chosen = {**known, row: {**known.get(row, {}), column: choice}}
        ordered = {name: dict(sorted(columns.items())) for name, columns in sorted(chosen.items())}
        write_whole(file, (json.dumps(ordered, indent=1) + "\n").encode())


def _read(file: Path) -> Choices:
    return _remembered(file, file.stat().st_mtime_ns) if file.exists() else {}


@lru_cache(maxsize=4)
def _remembered(file: Path, modified: int) -> Choices:
    return _parsed(file)


def _parsed(file: Path) -> Choices:
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise _malformed(file, str(error)) from error
    rows = content.values() if isinstance(content, dict) else [None]
    if not all(isinstance(row, dict) and all(isinstance(cell, dict) for cell in row.values()) for row in rows):
        raise _malformed(file, "another structure")
    return content


def _malformed(file: Path, came: str) -> DataError:
    return DataError(
        f"{file}: expected choices in JSON, row -> column -> settings, got {came}. "
        "Hint: repair or remove it; adacanon tune writes it anew from the records of its trials"
    )
