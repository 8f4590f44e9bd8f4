"""Labels that are missing, negative or out of range: what is learnt from them, and what an error says to do."""

import warnings
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from adacanon import Canonicalized, Objective, RandomSearch, cross_entropy, one_vs_rest
from adacanon.errors import InputError
from adacanon.points import Rotations

LOGITS = torch.tensor([[0.5, -1.0, 2.0], [1.0, 0.0, 0.0], [-0.5, 0.3, 0.1]])

Loss = Callable[[Tensor, Tensor], Tensor]


def by_an_objective(logits: Tensor, targets: Tensor, forms: float | None = None) -> Tensor:
    network = nn.Sequential(nn.Flatten(), nn.Linear(12, logits.shape[1]))
    model = Canonicalized(network, Rotations(), RandomSearch(2))
    return Objective(model, forms=forms)(torch.randn(len(logits), 4, 3), targets).loss


LOSSES: dict[str, Loss] = {
    "one_vs_rest": one_vs_rest,
    "cross_entropy": cross_entropy,
    "Objective": by_an_objective,
    "Objective with few forms": lambda logits, targets: by_an_objective(logits, targets, forms=2),
}


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
class TestClassIndices:
    @pytest.mark.parametrize("value", [-1, -100])
    def test_negative_ones_are_refused_with_what_to_do(self, loss: Loss, value: int) -> None:
        with pytest.raises(InputError, match=rf"must lie in 0\.\.2, got {value}\.\.2") as caught:
            loss(LOGITS, torch.tensor([0, value, 2]))
        message = str(caught.value)
        assert "Hint: leave out samples without a label, keep = targets >= 0" in message
        assert f"where {value} is the name of a class" in message
        assert "torch.unique(targets, return_inverse=True)[1]" in message

    def test_nan_is_not_made_a_whole_number(self, loss: Loss) -> None:
        """NaN as an integer would be some number."""
        with pytest.raises(
            InputError, match=r"must be integers, .*Hint: for NaN, .*keep = ~targets.isnan\(\)"
        ) as caught:
            loss(LOGITS, torch.tensor([0.0, torch.nan, 2.0]))
        assert "long()" not in str(caught.value)

    @pytest.mark.parametrize("targets", [torch.tensor([0, 1j, 2]), torch.tensor([0, 1, 2]).to_sparse()])
    def test_complex_and_sparse_ones_are_refused(self, loss: Loss, targets: Tensor) -> None:
        with pytest.raises(InputError, match=r"expects dense targets of real numbers, got torch\.\w+ with layout"):
            loss(LOGITS, targets)

    def test_those_from_one_are_recognised(self, loss: Loss) -> None:
        with pytest.raises(InputError, match=r"got 1\.\.3\. Hint: classes are numbered from 0, targets - 1"):
            loss(LOGITS, torch.tensor([1, 2, 3]))

    def test_too_many_classes_are_counted(self, loss: Loss) -> None:
        with pytest.raises(InputError, match=r"got 0\.\.7\. Hint: the network's number of classes .* need 8"):
            loss(LOGITS, torch.tensor([0, 1, 7]))


def test_what_the_hint_says_works() -> None:
    names = torch.tensor([-1, 1, -1])
    assert float(cross_entropy(LOGITS, torch.unique(names, return_inverse=True)[1])) > 0
    targets = torch.tensor([0, -1, 2])
    keep = targets >= 0
    expected = nn.functional.cross_entropy(LOGITS, targets, ignore_index=-1)
    torch.testing.assert_close(cross_entropy(LOGITS[keep], targets[keep]), expected)


class TestLabelsPerClass:
    def test_missing_ones_cost_nothing_as_nan_or_negative(self) -> None:
        labels = torch.tensor([[1, 0, -1], [-1, 0, 1], [0, -1, -1]])
        as_nan = labels.float().masked_fill(labels < 0, torch.nan)
        known = labels >= 0
        slow = nn.functional.binary_cross_entropy_with_logits(LOGITS[known], labels[known].float(), reduction="sum") / 3
        torch.testing.assert_close(one_vs_rest(LOGITS, labels), slow)
        torch.testing.assert_close(one_vs_rest(LOGITS, as_nan), slow)

    @pytest.mark.parametrize("logits", [LOGITS, LOGITS[:, :1]], ids=["several", "one"])
    def test_minus_one_and_one_get_a_warning(self, logits: Tensor) -> None:
        """Two classes by these names would lose the negative one without a word."""
        labels = torch.ones_like(logits, dtype=torch.int64)
        labels[0, 0] = -1
        with pytest.warns(UserWarning, match=r"negative ones count as missing.*Hint: \(labels \+ 1\) // 2") as caught:
            one_vs_rest(logits, labels)
        assert caught[0].filename == __file__
        one_vs_rest(logits, (labels + 1) // 2)

    def test_a_batch_without_any_label_is_not_suspicious(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert float(one_vs_rest(LOGITS, torch.full((3, 3), -1))) == 0

    def test_minus_one_as_a_number_is_refused(self) -> None:
        with pytest.raises(
            InputError, match=r"in \[0, 1\], got .* down to -1.*\(labels \+ 1\) / 2; for missing labels NaN"
        ):
            one_vs_rest(LOGITS, torch.tensor([[-1.0, 1.0, 1.0]] * 3))
