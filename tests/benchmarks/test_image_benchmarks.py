"""The benchmarks of images run; the differences that they report are those of rounding."""

import json
import sys
import time
from pathlib import Path

import pytest
import torch
from benchmarks.images import empty_answers, image_warps, warp_errors
from torch import Tensor

from adacanon.data.scenes import random_scenes
from adacanon.experiments.images.segmentation import canonicalized
from adacanon.experiments.images.turned_scenes import Pictures, TurnedScenes


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


def found_on_top(images: Tensor) -> Tensor:
    """Surely a body everywhere if there is a white pixel on top; otherwise background, but not surely."""
    on_top = images[:, 0, 3:6, 18:23].flatten(1).amax(1) > 0.9
    scores = torch.zeros(len(images), 6, 40, 40)
    scores[on_top, 4], scores[~on_top, 0] = 50.0, 0.1
    return scores


def test_empty_answers_and_forms_far_from_upright_are_counted() -> None:
    """All images have their white pixel on top and are chosen as they are, but two of them are said to be turned."""
    data = TurnedScenes(random_scenes(4, generator=torch.Generator()), torch.tensor([0.0, 0.1, 3.0, -3.0]))
    model = canonicalized(found_on_top, {"angles": 4, "temperature": 0.0})
    images = torch.zeros(4, 1, 40, 40)
    images[:, :, 4, 20] = 1.0
    for seen, expected in ((images, (50.0, 0.0)), (0 * images, (50.0, 100.0))):
        data.__dict__["turned"] = Pictures(seen, data.upright.labels)
        assert empty_answers.shares(model, data) == expected
