"""What to know when reading a table: Markdown files beside the records, ``notes/TABLE.md`` in a results folder.

A paragraph is a note. A paragraph ``include: NAME`` stands for the notes of ``notes/NAME.md``, which several tables may
share.
"""

from pathlib import Path

from adacanon.errors import DataError

INCLUDE = "include:"


def read_notes(results: Path, name: str) -> tuple[str, ...]:
    """The notes on a table in a results folder; none if the folder has no file for it."""
    file = notes_file(results, name)
    return _notes(file, ()) if file.exists() else ()


def notes_file(results: Path, name: str) -> Path:
    """Where the notes on a table are."""
    return results / "notes" / f"{name}.md"


def _notes(file: Path, above: tuple[Path, ...]) -> tuple[str, ...]:
    """The notes of a file; ``above`` are the files that include it."""
    if file in above or not file.exists():
        reason = "includes itself" if file in above else "does not exist"
        raise DataError(f"{above[-1]} includes {file}, which {reason}. Hint: name a file of the folder notes")
    paragraphs = (" ".join(text.split()) for text in file.read_text(encoding="utf-8").split("\n\n"))
    found: list[str] = []
    for text in filter(None, paragraphs):
        if text.startswith(INCLUDE):
            found += _notes(file.with_name(f"{text.removeprefix(INCLUDE).strip()}.md"), (*above, file))
        else:
            found.append(text)
    return tuple(found)
