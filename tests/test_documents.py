"""What the documents say is so: their code runs, their tables come from the records, their links lead somewhere."""

import re
from collections.abc import Callable
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import torch
from benchmarks.frame.document import filled, tables
from torch import nn

from adacanon.experiments.catalogue import TABLES, table_named
from adacanon.images import Preprocessing, ResNet18
from adacanon.reports.render import to_markdown
from adacanon.runs.runner import summary_of

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"^```python\n(.*?)^```$(?:\s*^```text\n(.*?)^```$)?", flags=re.S | re.M)
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])


PAGES = [page for page in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))] if BLOCK.search(page.read_text())]


def published_weights() -> dict[str, Any]:
    """Weights at random, in a file of the published name."""
    torch.save(ResNet18().state_dict(), "resnet18-f37072fd.pth")
    return {}


def a_classifier() -> dict[str, Any]:
    """Three lines of the README wrap a classifier that the reader has."""
    return {"classifier": nn.Sequential(Preprocessing(32), ResNet18()).eval(), "images": torch.rand(2, 3, 16, 16)}


def images_and_weights() -> dict[str, Any]:
    return {"images": torch.rand(2, 3, 32, 32), **published_weights()}


PREPARED: dict[str, Callable[[], dict[str, Any]]] = {
    "README.md": a_classifier,
    "images.md": images_and_weights,
    "pretrained.md": published_weights,
}
"""What a reader of these pages already has: names, and files in the working folder."""


def run_blocks(page: str, content: dict[str, Any]) -> list[str]:
    """Execute the Python blocks of a page in one namespace; a ``text`` block right after one must be what it prints.

    Returns:
        one line for each block that prints something else than the page shows.
    """
    content["__name__"] = "page"
    wrong = []
    for code, shown in BLOCK.findall(page):
        with redirect_stdout(StringIO()) as printed:
            exec(compile(code, "page", "exec"), content)
        if shown and printed.getvalue().strip() != shown.strip():
            wrong.append(f"shown {shown!r}, printed {printed.getvalue()!r}")
    return wrong


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_the_code_of_a_page_runs_and_prints_what_the_page_shows(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        content = PREPARED.get(path.name, dict)()
        assert run_blocks(path.read_text(), content) == []


def test_most_pages_have_code_that_is_run() -> None:
    assert len(PAGES) >= 15


def test_output_that_differs_from_the_page_is_noticed() -> None:
    page = "```python\nprint(x)\n```\n\n```text\n{}\n```\n\n```python\nx = 2\n```\n\n```text of another kind\n```\n"
    assert run_blocks(page.format(1), {"x": 1}) == []
    assert len(run_blocks(page.format(2), {"x": 1})) == 1
    with pytest.raises(NameError):
        run_blocks(page.format(1), {})


@pytest.mark.parametrize("path", sorted((ROOT / "docs").glob("*.md")), ids=lambda path: path.name)
def test_every_page_is_in_the_navigation_of_the_site(path: Path) -> None:
    assert f": {path.name}\n" in (ROOT / "mkdocs.yml").read_text()


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text().split()) <= 900


@pytest.mark.parametrize(
    "document",
    [
        ROOT / "README.md",
        *sorted((ROOT / "docs").glob("results*.md")),
    ],
    ids=lambda path: path.name,
)
def test_the_tables_of_the_documents_come_from_the_committed_results(document: Path) -> None:
    """If this fails: python -m benchmarks.frame.document"""
    content = document.read_text()
    assert content.count("<!-- end -->") >= (1 if document.name == "README.md" else 2)
    assert filled(content, tables()) == content


def test_tables_stand_in_the_readme_and_on_the_pages_of_results_only() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    marked = {path.name for path in pages if "<!-- end -->" in path.read_text()}
    assert {name for name in marked if not name.startswith("results")} == {"README.md"}


@pytest.mark.parametrize("name", [name for name in TABLES if (ROOT / "results" / f"{name}.jsonl").exists()])
def test_the_committed_reports_come_from_the_records(name: str) -> None:
    """If this fails: adacanon report NAME --output results/NAME.md"""
    table = table_named(name, ROOT / "results")
    summary = summary_of(table, table.runs(), ROOT / "results" / f"{name}.jsonl")
    assert (ROOT / "results" / f"{name}.md").read_text() == to_markdown(summary)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_between_documents_lead_somewhere(document: Path) -> None:
    targets = re.findall(r"\]\((?!http)([^)#]+)", document.read_text())
    broken = [target for target in targets if not (document.parent / target).exists()]
    assert not broken


@pytest.mark.parametrize("document", [ROOT / "ARCHITECTURE.md"], ids=lambda path: path.name)
def test_files_that_the_architecture_names_exist(document: Path) -> None:
    named = re.findall(
        r"`((?:core|spaces|maximizers|graphs|images|points|data|experiments|explain|reports)/\w+\.py)`",
        document.read_text(),
    )
    assert len(named) > 15
    assert [name for name in named if not (ROOT / "src" / "adacanon" / name).exists()] == []
