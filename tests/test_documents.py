"""What the documents say is so: their code runs, their tables come from the records, their links lead somewhere."""

import re
from pathlib import Path
from typing import Any

import pytest
import torch
from benchmarks.frame.document import filled, tables
from torch import nn

import adacanon
from adacanon.experiments.catalogue import TABLES, table_named
from adacanon.images import Preprocessing, ResNet18, load_weights
from adacanon.reports.render import to_markdown
from adacanon.runs.runner import summary_of

ROOT = Path(__file__).parents[1]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])


def test_the_code_of_the_readme_runs(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.S)
    assert len(blocks) == 2
    (own,) = [block for block in blocks if "adacanon.images" not in block]
    exec(compile(own, "README.md", "exec"), {})
    assert "torch.Size([8, 10, 256, 3])" in capsys.readouterr().out


def test_three_lines_of_the_readme_wrap_a_pretrained_classifier(tmp_path: Path) -> None:
    """With weights at random, read from a file as published ones are; quarter turns are then a symmetry of it."""
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.S)
    (block,) = [block for block in blocks if "adacanon.images" in block]
    assert len([line for line in block.splitlines() if line]) == 3
    torch.save(ResNet18().state_dict(), tmp_path / "resnet18-f37072fd.pth")
    network = ResNet18()
    load_weights(network, tmp_path / "resnet18-f37072fd.pth")
    classifier, images = nn.Sequential(Preprocessing(32), network).eval(), torch.rand(2, 3, 16, 16)
    content = {"adacanon": adacanon, "classifier": classifier, "images": images}
    exec(compile(block, "README.md", "exec"), content)
    assert content["scores"].shape == (2, 1000)
    torch.testing.assert_close(content["model"](images.rot90(1, (2, 3))), content["scores"], rtol=1e-4, atol=1e-4)
    assert not torch.allclose(classifier(images.rot90(1, (2, 3))), classifier(images), rtol=1e-4, atol=1e-4)


def test_the_code_on_the_doctor_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (block,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "doctor.md").read_text(), flags=re.S)
    exec(compile(block, "doctor.md", "exec"), {})
    assert capsys.readouterr().out.startswith("rotation ")
    assert sorted(file.name for file in (tmp_path / "report").iterdir()) == ["doctor.json", "index.html"]


def test_the_code_on_images_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With weights at random in the place of the published file."""
    monkeypatch.chdir(tmp_path)
    torch.save(ResNet18().state_dict(), "resnet18-f37072fd.pth")
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "images.md").read_text(), flags=re.S)
    assert len(blocks) == 3
    content = {"images": torch.rand(2, 3, 32, 32)}
    exec(compile("\n".join(blocks), "images.md", "exec"), content)
    assert content["logits"].shape == (2, 1000)
    assert content["features"].shape == (2, 55, 512)


def test_the_code_on_clouds_runs(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "clouds.md").read_text(), flags=re.S)
    assert len(blocks) == 3
    exec(compile("\n".join(blocks), "clouds.md", "exec"), {})
    assert capsys.readouterr().out.split("\n")[:2] == ["torch.Size([2, 10])", "torch.Size([4, 128])"]


def test_the_code_on_searches_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (block,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "searches.md").read_text(), flags=re.S)
    exec(compile(block, "searches.md", "exec"), {})
    assert capsys.readouterr().out.startswith("torch.Size([4, 10, 3, 3])\n24.0 ")


def test_the_code_on_graphs_runs(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "graphs.md").read_text(), flags=re.S)
    for block, shape in zip(blocks, ([8, 2], [8, 3]), strict=True):
        exec(compile(block, "graphs.md", "exec"), {})
        assert capsys.readouterr().out == f"torch.Size({shape})\n"


def test_the_code_on_temperature_runs(capsys: pytest.CaptureFixture[str]) -> None:
    first, second = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "temperature.md").read_text(), flags=re.S)
    content: dict[str, Any] = {}
    exec(compile(first, "temperature.md", "exec"), content)
    assert capsys.readouterr().out == "torch.Size([8, 10]) torch.Size([24, 8, 10])\ntensor(True)\n"
    exec(compile(second, "temperature.md", "exec"), content)
    assert content["model"].network.last.linear.weight.grad is not None


def test_the_code_on_answers_runs(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "answers.md").read_text(), flags=re.S)
    assert len(blocks) == 6
    exec(compile("\n".join(blocks), "answers.md", "exec"), {})
    assert capsys.readouterr().out.splitlines() == [
        "torch.Size([4, 1])",
        "torch.Size([4, 3]) torch.Size([24, 4, 1])",
        "torch.Size([4, 3, 3]) [1.0, 1.0, 1.0, 1.0]",
        "torch.Size([4, 64])",
        "torch.Size([2, 5, 32, 32]) tensor(1.)",
        "True",
    ]


def test_the_code_on_speed_runs(capsys: pytest.CaptureFixture[str]) -> None:
    (block,) = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "speed.md").read_text(), flags=re.S)
    exec(compile(block, "speed.md", "exec"), {})
    assert capsys.readouterr().out == "torch.Size([8, 10])\n"


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
        r"`((?:core|spaces|maximizers|graphs|images|points|data|experiments|reports)/\w+\.py)`", document.read_text()
    )
    assert len(named) > 15
    assert [name for name in named if not (ROOT / "src" / "adacanon" / name).exists()] == []
