"""Intersection over union, by counting point by point."""

import torch
from torch import Tensor

from adacanon.training.part_metrics import category_mean, predicted_parts, shape_ious

SHAPES, POINTS, PARTS = 9, 20, 7


def cases(generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
    own = torch.rand(SHAPES, PARTS, generator=generator) < 0.6
    own[:, 0] = True
    scores = torch.randn(SHAPES, POINTS, PARTS, generator=generator)
    labels = predicted_parts(torch.randn(SHAPES, POINTS, PARTS, generator=generator), own)
    labels[0] = 0  # its other parts are not there
    return scores, labels, own


def test_ious_are_those_of_sets_of_points(generator: torch.Generator) -> None:
    scores, labels, own = cases(generator)
    scores[0, :, 0] = 100.0
    predicted = predicted_parts(scores, own)
    for found, true, parts, iou in zip(predicted, labels, own, shape_ious(predicted, labels, own), strict=True):
        values = []
        for part in parts.nonzero().flatten().tolist():
            p = {i for i, q in enumerate(found.tolist()) if q == part}
            t = {i for i, q in enumerate(true.tolist()) if q == part}
            values.append(len(p & t) / len(p | t) if p | t else 1.0)
        assert abs(float(iou) - sum(values) / len(values)) < 1e-12
    assert float(shape_ious(predicted, labels, own)[0]) == 1.0


def test_only_parts_of_the_category_are_predicted(generator: torch.Generator) -> None:
    scores, _, own = cases(generator)
    predicted = predicted_parts(scores, own)
    assert own.gather(1, predicted).all()
    assert not own.gather(1, scores.argmax(-1)).all()
    for shape in range(SHAPES):
        best = scores[shape][:, own[shape]].max(1).values
        assert torch.equal(scores[shape].gather(1, predicted[shape][:, None])[:, 0], best)


def test_rare_categories_count_as_much_as_others() -> None:
    values, categories = torch.tensor([1.0, 1.0, 1.0, 0.0]), torch.tensor([5, 5, 5, 2])
    assert category_mean(values, categories) == 0.5
