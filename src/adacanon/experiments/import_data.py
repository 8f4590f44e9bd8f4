"""What an import says to the one who asked for it."""

from pathlib import Path
from shlex import quote

from adacanon.data.importing import import_folder


def describe_import(source: Path, output: Path, *, points: int) -> str:
    """Import an official folder, and say what was found and how it is used."""
    done = import_folder(source, output, points=points)
    counts = ", ".join(f"{count} {part}" for part, count in done.counts.items())
    lines = [f"{done.file}: {counts} shapes of {done.release}, {points} points each."]
    if done.counts != done.official:
        official = ", ".join(f"{count} {part}" for part, count in done.official.items())
        lines.append(f"This is not the whole release, which has {official} shapes.")
    return "\n".join([*lines, f"To use it: export ADACANON_DATA={quote(str(output.resolve()))}"])
