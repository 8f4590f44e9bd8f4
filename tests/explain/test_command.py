"""``adacanon explain`` on a network and data of one's own."""

from pathlib import Path

import numpy as np
import pytest

from adacanon.cli import main


@pytest.fixture
def brought(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A module with a network for images and one for clouds, and data for both."""
    (tmp_path / "explained_networks.py").write_text(
        "from torch import nn\n"
        "def images(): return nn.Sequential(nn.Flatten(), nn.Linear(64, 3))\n"
        "def clouds(): return nn.Sequential(nn.Flatten(), nn.Linear(60, 2))\n"
    )
    generator = np.random.default_rng(0)
    labels, names = np.arange(6) % 3, np.array(["cat", "cow", "dog"])
    images = generator.integers(0, 256, (6, 8, 8)).astype(np.uint8)
    np.savez(tmp_path / "images.npz", images=images, labels=labels, class_names=names)
    points = generator.normal(size=(6, 20, 3)).astype(np.float32) * np.array([1, 0.5, 0.2], np.float32)
    np.savez(tmp_path / "clouds.npz", points=points, labels=labels % 2)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_it_writes_a_page_about_some_samples(brought: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(["explain", "explained_networks:images", "--data", "images.npz", "--samples", "2", "--threads", "1"]) == 0
    )
    assert "The page: build/explain.html" in capsys.readouterr().out
    text = (brought / "build" / "explain.html").read_text()
    assert "What explained_networks:images saw in images.npz" in text
    assert text.count("<h2>Random sample") == 2
    assert "labelled c" in text or "labelled d" in text


def test_samples_families_and_temperatures_can_be_named(brought: Path) -> None:
    words = ["--index", "4", "1", "--family", "truncation", "--temperature", "1", "--output", "here/page.html"]
    assert main(["explain", "explained_networks:images", "--data", "images.npz", *words, "--threads", "1"]) == 0
    text = (brought / "here" / "page.html").read_text()
    assert text.index("<h2>Sample 4</h2>") < text.index("<h2>Sample 1</h2>")
    assert "labelled cow" in text
    assert "window of" in text
    assert "Weights of the candidates" in text


def test_clouds_are_explained(brought: Path) -> None:
    words = ["--samples", "1", "--moves", "1", "--output", "c.html", "--threads", "1"]
    assert main(["explain", "explained_networks:clouds", "--data", "clouds.npz", *words]) == 0
    assert "Score by the direction that points up" in (brought / "c.html").read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--index", "6"], "--index takes numbers from 0 to 5, got 6"),
        (["--family", "shear"], "Families for these inputs are rotation, reflection"),
        (["--samples", "0"], "limit must be a positive number"),
        (["--classes", "a,b"], "expected only classes that were named"),
    ],
)
def test_what_does_not_fit_is_told(
    brought: Path, words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", "explained_networks:images", "--data", "images.npz", *words, "--threads", "1"]) == 2
    assert message in capsys.readouterr().err
