"""The hyperparameters that studies have chosen: data that ``tune`` writes and ``run`` reads."""

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

CHOSEN = Path(__file__).with_name("chosen.json")
Choices = dict[str, dict[str, dict[str, Any]]]
"""row -> column -> settings"""


def read_choices(file: Path = CHOSEN) -> Choices:
    """All choices so far."""
    return _parsed(file, file.stat().st_mtime_ns) if file.exists() else {}


def write_choice(file: Path, row: str, column: str, choice: dict[str, Any]) -> None:
    """Add one choice, in a stable order."""
    known = read_choices(file)
    chosen = {**known, row: {**known.get(row, {}), column: choice}}
    ordered = {name: dict(sorted(columns.items())) for name, columns in sorted(chosen.items())}
    file.write_text(json.dumps(ordered, indent=1) + "\n", encoding="utf-8")


@lru_cache(maxsize=2)
def _parsed(file: Path, modified: int) -> Choices:
    return json.loads(file.read_text(encoding="utf-8"))
