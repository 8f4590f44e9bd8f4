"""The benchmarks of images run; the differences that they report are those of rounding."""

import json
import sys
import time
from pathlib import Path

import pytest
import torch
from benchmarks.images import image_warps, warp_errors


def test_every_family_is_timed() -> None:
    generator = torch.Generator().manual_seed(0)
    images = torch.rand(4, 3, 8, 8, generator=generator)
    rows = image_warps.rows(images, repetitions=1, clock=time.process_time, generator=generator)
    assert [row["transformation"] for row in rows[1:]] == list(image_warps.FAMILIES)
    assert all(row.keys() == rows[0].keys() for row in rows)


def test_differences_to_independent_implementations_are_those_of_rounding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "errors.json"
    monkeypatch.setattr(sys, "argv", ["warp_errors", "--batch", "16", "--threads", "1", "--json", str(file)])
    warp_errors.main()
    errors = {row["transformation"]: row["largest difference"] for row in json.loads(file.read_text())["rows"]}
    assert len(errors) == 8
    assert all(errors[name] == 0 for name in ("identity", "quarter turns", "whole-pixel shift", "reflection"))
    assert max(errors.values()) < 5e-5
