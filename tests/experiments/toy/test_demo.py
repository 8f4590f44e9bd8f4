"""The page of the demo: our figures beside those that the paper prints."""

from pathlib import Path

import pytest

from adacanon.cli import main
from adacanon.experiments.catalogue import TABLES
from adacanon.experiments.toy import demo as demo_module


def test_the_page_shows_the_papers_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without training: what is not run yet has the paper's figure alone."""
    monkeypatch.setattr(demo_module, "run_missing", lambda *_, **__: [])
    monkeypatch.setattr(demo_module, "story", lambda *_: None)
    monkeypatch.setattr(demo_module, "draw", lambda story: b"")
    assert main(["demo", "--folder", str(tmp_path), "--threads", "1"]) == 0
    page = (tmp_path / "index.html").read_text()
    for row in ("GIN", "A-NLSF"):
        figure, spread = TABLES["toy"].published[row]["accuracy"]
        assert f"{figure:.2f} ± {spread}" in page
    assert "paper" in capsys.readouterr().out
