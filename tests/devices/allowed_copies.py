"""The copies between devices that are allowed: those that ``docs/devices.md`` lists, and no others."""

import re
from pathlib import Path

from cases.virtual_device import FROM_CPU, TO_CPU

PAGE = Path(__file__).parents[2] / "docs" / "devices.md"
HEADING = "## Copies that are allowed"


def allowed_copies() -> set[tuple[str, str]]:
    """Direction and function, from the table: why, to the CPU, from the CPU."""
    section = PAGE.read_text().split(HEADING)[1].split("\n## ")[0]
    rows = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("|")][2:]
    return {
        (direction, place)
        for _, *cells in rows
        for direction, cell in zip((TO_CPU, FROM_CPU), cells, strict=True)
        for place in re.findall(r"`([^`]+)`", cell)
    }


def is_allowed(direction: str, place: str, allowed: set[tuple[str, str]]) -> bool:
    """A copy of a function in the table, or of any function of a module in the table."""
    parts = place.split(".")
    return any((direction, ".".join(parts[:count])) in allowed for count in range(1, len(parts) + 1))
