"""Notes on tables: files beside the records, which may share paragraphs."""

import re
from pathlib import Path

import pytest

from adacanon.errors import DataError
from adacanon.experiments.catalogue import TABLES
from adacanon.experiments.clouds.stability import AT_RANDOM
from adacanon.runs.notes import read_notes
from adacanon.runs.runner import summary_of
from cases.tiny_table import TINY

RESULTS = Path(__file__).parents[2] / "results"


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    return folder


def test_a_paragraph_is_a_note_and_line_breaks_do_not_count(notes: Path) -> None:
    (notes / "tiny.md").write_text("One\nnote.\n\n\nAnother one.\n")
    assert read_notes(notes.parent, "tiny") == ("One note.", "Another one.")
    summary = summary_of(TINY, TINY.runs(), notes.parent / "tiny.jsonl")
    assert summary.notes == ("One note.", "Another one.")


def test_a_folder_without_notes_has_none(tmp_path: Path) -> None:
    assert read_notes(tmp_path, "tiny") == ()


def test_included_notes_stand_where_they_are_named(notes: Path) -> None:
    (notes / "tiny.md").write_text("First.\n\ninclude: shared\n\nLast.\n")
    (notes / "shared.md").write_text("Second.\n\nThird.\n")
    assert read_notes(notes.parent, "tiny") == ("First.", "Second.", "Third.", "Last.")


@pytest.mark.parametrize(("included", "reason"), [("absent", "does not exist"), ("tiny", "includes itself")])
def test_an_include_that_leads_nowhere_is_named(notes: Path, included: str, reason: str) -> None:
    (notes / "tiny.md").write_text(f"include: {included}\n")
    with pytest.raises(DataError, match=rf"tiny.md includes .*{included}.md, which {reason}"):
        read_notes(notes.parent, "tiny")


def test_every_table_has_notes_and_every_file_of_notes_is_read() -> None:
    assert [name for name in TABLES if not read_notes(RESULTS, name)] == []
    files = list((RESULTS / "notes").glob("*.md"))
    included = {name for file in files for name in re.findall(r"^include: (\S+)$", file.read_text(), flags=re.M)}
    assert {file.stem for file in files} == {*TABLES, *included}


def test_the_note_on_stability_has_the_distance_of_random_rotations() -> None:
    assert any(f"{AT_RANDOM:.1f} degrees" in note for note in read_notes(RESULTS, "stability"))
