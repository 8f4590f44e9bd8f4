"""ROC-AUC and average precision against loops over pairs and thresholds."""

import math

import pytest
import torch

from adacanon.errors import InputError, ShapeError
from adacanon.training.ranking import average_precision, class_accuracy, roc_auc
from oracles.ranking import average_precision_by_thresholds, roc_auc_by_pairs

METRICS = [(roc_auc, roc_auc_by_pairs), (average_precision, average_precision_by_thresholds)]


def random_case(seed: int, *, ties: bool, missing: float) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    scores = torch.randn(40, 5, generator=generator)
    scores = scores.round() if ties else scores
    labels = (torch.rand(40, 5, generator=generator) < 0.3).float()
    labels[torch.rand(40, 5, generator=generator) < missing] = torch.nan
    return scores, labels


@pytest.mark.parametrize(("fast", "slow"), METRICS)
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("missing", [0.0, 0.6])
def test_it_is_the_definition(fast, slow, ties: bool, missing: float) -> None:
    for seed in range(10):
        scores, labels = random_case(seed, ties=ties, missing=missing)
        assert fast(scores, labels) == pytest.approx(slow(scores, labels), abs=1e-12)


@pytest.mark.parametrize(("fast", "slow"), METRICS)
def test_a_task_of_one_class_does_not_count(fast, slow) -> None:
    scores, labels = random_case(0, ties=False, missing=0.2)
    with_others = torch.cat([labels, torch.ones(40, 1), torch.zeros(40, 1), torch.full((40, 1), torch.nan)], dim=1)
    more = torch.cat([scores, torch.randn(40, 3)], dim=1)
    assert fast(more, with_others) == pytest.approx(slow(scores, labels), abs=1e-12)


@pytest.mark.parametrize("metric", [roc_auc, average_precision])
def test_any_increasing_map_of_the_scores_leaves_it(metric) -> None:
    scores, labels = random_case(3, ties=True, missing=0.3)
    assert metric(scores.double().exp() * 7, labels) == pytest.approx(metric(scores, labels), abs=1e-12)


def test_known_ends() -> None:
    labels = torch.tensor([[0.0], [0.0], [1.0]])
    assert roc_auc(torch.tensor([[0.0], [1.0], [2.0]]), labels) == 1
    assert roc_auc(torch.tensor([[2.0], [1.0], [0.0]]), labels) == 0
    assert roc_auc(torch.zeros(3, 1), labels) == 0.5
    assert average_precision(torch.zeros(3, 1), labels) == pytest.approx(1 / 3)
    assert class_accuracy(torch.eye(3), torch.tensor([0, 1, 0])) == pytest.approx(2 / 3)


@pytest.mark.parametrize("metric", [roc_auc, average_precision])
def test_what_cannot_be_ranked_is_refused(metric) -> None:
    labels = torch.tensor([[0.0], [1.0]])
    with pytest.raises(ShapeError, match=r"unsqueeze"):
        metric(torch.zeros(2), labels)
    with pytest.raises(InputError, match="NaN"):
        metric(torch.tensor([[math.nan], [1.0]]), labels)
    with pytest.raises(InputError, match="0, 1 or NaN"):
        metric(torch.zeros(2, 1), torch.tensor([[-1.0], [1.0]]))
    with pytest.raises(InputError, match="No task"):
        metric(torch.zeros(2, 1), torch.zeros(2, 1))
