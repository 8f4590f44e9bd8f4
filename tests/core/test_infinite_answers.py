"""Infinite answers and confidences of a network: what has no weight adds nothing, and a mean that does not exist is
refused.
"""

import pytest
import torch
from torch import Tensor, nn

from adacanon import Canonicalized, Confidence, GridSearch, LargestScore, LogSumExp, NegativeEntropy
from adacanon.core import Prior
from adacanon.errors import ScoreError
from adacanon.points import Rotations
from adacanon.spaces import rotation_group
from cases.networks import clouds


class InfiniteSomewhere(nn.Module):
    """Scores of clouds by a first coordinate; those on one side have an infinite number in some columns."""

    def __init__(self, value: float, columns: slice) -> None:
        super().__init__()
        self.value, self.columns = value, columns
        self.layer = nn.Linear(3, 3, dtype=torch.float64)

    def forward(self, x: Tensor) -> Tensor:
        scores = self.layer(x[:, 0]).clone()
        scores[x[:, 0, 0] > 0, self.columns] = self.value
        return scores


EVERY = slice(None)


CUBE = rotation_group("cube")


@pytest.mark.parametrize("learns", [False, True])
@pytest.mark.parametrize("prior", [LargestScore(), LogSumExp(), Confidence()])
def test_a_form_without_weight_adds_nothing_even_if_its_answer_is_infinite(prior: Prior, learns: bool) -> None:
    """A confidence of minus infinity has weight zero: the blend is that of the other forms."""
    network, x = InfiniteSomewhere(-torch.inf, EVERY), clouds(3)
    model = Canonicalized(network, Rotations(), GridSearch(points=CUBE), prior=prior, temperature=0.5).eval()
    with torch.set_grad_enabled(learns):
        blend = model(x)
    for sample, answer in zip(x, blend, strict=True):
        forms = torch.cat([network((sample @ turn.mT)[None]) for turn in CUBE.to(x)])
        forms = forms[forms.isfinite().all(1)]
        confidence = {"LargestScore": forms.amax(1), "LogSumExp": forms.logsumexp(1), "Confidence": forms[:, -1]}
        weights = (confidence[type(prior).__name__] / 0.5).softmax(0)
        expected = (weights[:, None] * prior.answers_of(forms)).sum(0)
        assert 0 < len(forms) < len(CUBE)
        torch.testing.assert_close(answer, expected)
    torch.testing.assert_close(model.canonicalize(x).logits, blend)


@pytest.mark.parametrize("learns", [False, True])
@pytest.mark.parametrize("prior", [LargestScore(), LogSumExp(), Confidence()])
def test_a_weighted_mean_of_infinite_confidences_is_refused(prior: Prior, learns: bool) -> None:
    model = Canonicalized(InfiniteSomewhere(torch.inf, EVERY), Rotations(), prior=prior, temperature=0.5).eval()
    with torch.set_grad_enabled(learns), pytest.raises(ScoreError, match="weighted mean of the answers is NaN"):
        model(clouds(3))


def test_a_class_that_is_ruled_out_everywhere_stays_ruled_out() -> None:
    """Minus infinity in every form is a mask, not an error; with entropies, its class has probability zero."""

    class Masked(InfiniteSomewhere):
        def forward(self, x: Tensor) -> Tensor:
            scores = 40 * self.layer(x[:, 0]).clone()
            scores[:, 0] = -torch.inf
            return scores

    network = Masked(0.0, EVERY)
    model = Canonicalized(network, Rotations(), prior=NegativeEntropy(), temperature=1e-4).eval()
    answer = model(clouds(3))
    assert bool((answer[:, 0] == -torch.inf).all())
    assert bool(answer[:, 1:].isfinite().all())
