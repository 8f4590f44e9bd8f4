"""What an import says to the one who asked for it."""

from collections.abc import Callable
from pathlib import Path
from shlex import quote

from adacanon.data.importing import import_folder
from adacanon.runs.executors import Executor
from adacanon.runs.executors.executor import calls_on


def describe_import(
    source: Path, output: Path, *, points: int, on_progress: Callable[[int, int], None], executor: Executor
) -> str:
    """Import an official folder, whose files an executor reads, and say what was found and how it is used."""
    place = source if executor.inside else source.absolute()  # workers may be in another folder
    done = import_folder(place, output, points=points, on_progress=on_progress, in_order=calls_on(executor))
    each = f", {points} points each" if done.unit == "shapes" else ""
    lines = [f"{done.file}: {_in_words(done.counts)} {done.unit} of {done.release}{each}."]
    if done.counts != done.official:
        lines.append(f"This is not the whole release, which has {_in_words(done.official)} {done.unit}.")
    lines += [done.remark] * bool(done.remark)
    return "\n".join([*lines, f"To use it: export ADACANON_DATA={quote(str(output.resolve()))}"])


def _in_words(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {part}" for part, count in counts.items())
