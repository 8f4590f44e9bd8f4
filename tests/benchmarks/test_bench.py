"""The benchmark runs from one command, and its file has the keys that it promises. No figure is checked."""

import importlib
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from benchmarks.speed.bench import SECTIONS, finite, main
from benchmarks.speed.bench_figure import GOALS
from benchmarks.speed.memory import grown
from benchmarks.speed.scaling import slope

from adacanon.experiments.clouds import modelnet, rotated_clouds
from cases.small_clouds import small_modelnet

WITHOUT_DATA = ("dgcnn_step", "cloud_networks", "search_overhead", "memory", "search_errors", "scaling")
HEADLINES = {
    "pointnet_step": {"pointnet_step_over_plain", "soft_step_over_plain", "pointnet_naive_over_ours"},
    "dgcnn_step": {"dgcnn_step_over_plain"},
    "search_cost": {"forwards_for_99_percent"},
    "evaluation_cost": {"eval_forwards"},
    "cascade": {"eval_forwards_cascade", "latency_batch1"},
    "search_overhead": {"search_overhead"},
    "views": set(),
    "anlsf_epoch": {"anlsf_epoch_over_gin"},
}


def bench(sections: Sequence[str], folder: Path) -> dict[str, Any]:
    """What a quick run of some sections leaves behind."""
    command = [sys.executable, "-m", "benchmarks.speed.bench", "--quick", "--threads", "1", "--only", *sections]
    subprocess.run([*command, "--output", str(folder)], check=True, cwd=Path(__file__).parents[2])
    content = json.loads((folder / "bench.json").read_text())
    assert set(content["sections"]) == set(sections)
    assert all(rows and all(row.keys() == rows[0].keys() for row in rows) for rows in content["sections"].values())
    assert {"cpu", "cores", "torch", "threads", "precision", "date"} <= set(content["machine"])
    assert content["machine"]["threads"] == 1
    assert (folder / "bench.png").read_bytes().startswith(b"\x89PNG")
    return content


def test_sections_that_need_no_data(tmp_path: Path) -> None:
    content = bench(WITHOUT_DATA, tmp_path)
    assert set(content) == {"machine", "sections", "dgcnn_step_over_plain", "search_overhead"}


@pytest.mark.data
def test_sections_on_real_data(tmp_path: Path) -> None:
    sections = [name for name in SECTIONS if name not in WITHOUT_DATA]
    content = bench(sections, tmp_path)
    assert set(content) == {"machine", "sections"}.union(*(HEADLINES[name] for name in sections))
    assert content["pointnet_step_over_plain"].keys() == {
        f"{search}, {when}" for search in ("50 draws", "24 anchors") for when in ("at initialisation", "after 1 steps")
    }
    assert content["soft_step_over_plain"].keys() == {"at initialisation", "after 1 steps"}
    assert content["anlsf_epoch_over_gin"].keys() == {"MUTAG"}


def test_a_section_without_its_data_is_skipped_and_said_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ADACANON_DATA", str(tmp_path))
    rotated_clouds.modelnet.cache_clear()
    assert main(["--quick", "--threads", "1", "--only", "pointnet_step", "--output", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert "pointnet_step: skipped" in said
    assert "modelnet40.npz is missing" in said


def test_only_a_run_of_all_sections_in_real_size_is_kept(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--threads", "1", "--full", "--quick"])
    assert "--full is a run of all sections" in capsys.readouterr().err


def test_every_headline_has_a_goal_in_the_plot() -> None:
    assert set(GOALS) == set().union(*HEADLINES.values())


def test_the_exponent_is_that_of_the_upper_half_of_the_range() -> None:
    seconds = {n: 5.0 if n < 10 else n**1.5 for n in (1, 3, 10, 30, 100)}
    assert slope(seconds) == pytest.approx(1.5)


def test_memory_that_grows_with_candidates_is_named() -> None:
    row = {"what": "random", "K": 10, "D": 5, "clouds": 2, "above, MB": 4.0, "set, MB": 0.0}
    assert grown([row, row | {"K": 1000, "above, MB": 11.0}]) == []
    assert grown([row, row | {"K": 1000, "above, MB": 50.0, "set, MB": 45.0}]) == []
    assert grown([row, row | {"K": 1000, "above, MB": 50.0}]) == ["random, D=5: 4 MB become 50 at K=1000"]


def test_what_json_does_not_know_becomes_null() -> None:
    assert finite({"a": [float("inf"), 1.0], "b": float("nan")}) == {"a": [None, 1.0], "b": None}


@pytest.mark.parametrize("name", ["searches.training_views", "clouds.batch_statistics"])
def test_why_rows_on_clouds_are_what_they_are_can_be_looked_into(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ADACANON_CACHE", str(tmp_path))
    monkeypatch.setattr(modelnet, "modelnet", lambda classes, points: small_modelnet(40))
    module = importlib.import_module(f"benchmarks.{name}")
    headline, rows = module.section(module.parser().parse_args(["--quick"]))
    assert headline == {}
    assert len(rows) == (2 if name == "searches.training_views" else 1)
    for row in rows:
        figures = [value for value in row.values() if isinstance(value, float)]
        assert len(figures) >= 2
        assert all(-1 <= value <= 100 for value in figures)
