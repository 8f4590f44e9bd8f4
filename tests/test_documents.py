"""What the documents say is so: their code runs, their tables come from the records, their links lead somewhere."""

import re
from pathlib import Path

import pytest
from benchmarks.document import filled, tables

from adacanon.experiments.runner import summary_of
from adacanon.experiments.tables import TABLES
from adacanon.reports.render import to_markdown

ROOT = Path(__file__).parents[1]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])


def test_the_code_of_the_readme_runs(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.S)
    assert len(blocks) == 2
    exec(compile("\n".join(blocks), "README.md", "exec"), {})
    assert "torch.Size([8, 10, 256, 3])" in capsys.readouterr().out


@pytest.mark.parametrize(
    "document",
    [ROOT / "README.md", *(ROOT / "docs" / name for name in ("clouds.md", "graphs.md", "searches.md", "speed.md"))],
    ids=lambda path: path.name,
)
def test_the_tables_of_the_documents_come_from_the_committed_results(document: Path) -> None:
    """If this fails: python -m benchmarks.document"""
    content = document.read_text()
    assert content.count("<!-- end -->") >= 2
    assert filled(content, tables()) == content


@pytest.mark.parametrize("name", [name for name in TABLES if (ROOT / "results" / f"{name}.jsonl").exists()])
def test_the_committed_reports_come_from_the_records(name: str) -> None:
    """If this fails: adacanon report NAME --output results/NAME.md"""
    table = TABLES[name]
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
        r"`((?:core|spaces|maximizers|graphs|points|data|experiments|reports)/\w+\.py)`", document.read_text()
    )
    assert len(named) > 15
    assert [name for name in named if not (ROOT / "src" / "adacanon" / name).exists()] == []
