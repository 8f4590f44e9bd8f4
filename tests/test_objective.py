"""The loss over some forms: unbiased at the same winners, of the size asked for, and exact when it takes all."""

import pytest
import torch
from torch import Tensor

from adacanon import Canonicalized, GridSearch, Monotone, Objective, one_vs_rest
from adacanon.core.objective import inclusion, systematic_draw
from adacanon.errors import InputError
from adacanon.points import Rotations
from networks import Spy, cloud_network, clouds

CLASSES, BATCH = 5, 4
LABELS = torch.tensor([0, 2, 1, 4])


def model(network: torch.nn.Module | None = None) -> Canonicalized:
    return Canonicalized(network or cloud_network(CLASSES), Rotations(), GridSearch(30))


def loss_and_gradient(objective: Objective, targets: Tensor) -> Tensor:
    objective.zero_grad()
    loss = objective(clouds(BATCH), targets)
    loss.backward()
    return torch.cat([loss.detach().reshape(1), *(p.grad.flatten() for p in objective.parameters())])


class TestInclusion:
    def probabilities(self, count: float) -> tuple[Tensor, Tensor]:
        size = torch.rand(6, 7, generator=torch.Generator().manual_seed(0)) ** 8
        always = torch.eye(6, 7, dtype=torch.bool)
        return inclusion(size, torch.ones_like(always), always=always, count=count), size

    @pytest.mark.parametrize("count", [6.5, 9.0, 20.0, 41.0])
    def test_probabilities_sum_to_the_count(self, count: float) -> None:
        probability, _ = self.probabilities(count)
        assert float(probability.sum()) == pytest.approx(count, abs=1e-4)
        assert bool((probability <= 1).all())
        assert bool((probability > 0).all())
        assert bool((probability.diagonal() == 1).all())

    def test_larger_gradients_are_drawn_more_often(self) -> None:
        probability, size = self.probabilities(9.0)
        rest = ~torch.eye(6, 7, dtype=torch.bool)
        in_order = probability[rest][size[rest].argsort()]
        assert bool((in_order.diff() >= 0).all())
        assert float(in_order[-1]) > 10 * float(in_order[0])

    def test_more_than_there_are_takes_all(self) -> None:
        assert bool((self.probabilities(1e3)[0] == 1).all())

    def test_without_room_only_the_true_classes_stay(self) -> None:
        assert float(self.probabilities(6.0)[0].sum()) == 6

    def test_unknown_labels_are_never_drawn(self) -> None:
        known = torch.tensor([[True, False, True]])
        probability = inclusion(torch.ones(1, 3), known, always=torch.zeros_like(known), count=1.5)
        assert probability.tolist() == [[0.75, 0.0, 0.75]]

    def test_where_no_gradient_is_left_draws_are_even(self) -> None:
        known = torch.ones(1, 4, dtype=torch.bool)
        probability = inclusion(torch.zeros(1, 4), known, always=torch.zeros_like(known), count=2)
        assert probability.tolist() == [[0.5] * 4]


class TestDraw:
    def test_every_entry_comes_as_often_as_it_should(self) -> None:
        probability = torch.tensor([[1.0, 0.5, 0.25], [0.05, 1.0, 0.7]], dtype=torch.float64)
        generator, counts, rounds = torch.Generator().manual_seed(0), torch.zeros(2, 3), 4000
        for _ in range(rounds):
            drawn = systematic_draw(probability, generator)
            assert len(drawn) in (3, 4)
            counts[drawn[:, 0], drawn[:, 1]] += 1
        assert (counts / rounds - probability).abs().max() < 0.03
        assert bool((counts[probability == 1] == rounds).all())


class TestLoss:
    def test_all_forms_are_the_exact_loss(self) -> None:
        torch.testing.assert_close(
            loss_and_gradient(Objective(model(), forms=float(CLASSES)), LABELS),
            loss_and_gradient(Objective(model()), LABELS),
        )

    @pytest.mark.parametrize("labels", ["indices", "incomplete"])
    def test_the_mean_over_draws_is_the_exact_loss_and_gradient(self, labels: str) -> None:
        targets = LABELS
        if labels == "incomplete":
            targets = torch.tensor([[1, 0, -1, 0, 0], [0, 0, 0, -1, 1], [1, 1, 0, 0, 0], [-1, 0, 0, 0, 1]])
        torch.manual_seed(0)
        objective = Objective(model(), forms=2.0)
        draws = torch.stack([loss_and_gradient(objective, targets) for _ in range(600)])
        exact = loss_and_gradient(Objective(model()), targets)
        error = draws.std(0) / len(draws) ** 0.5
        assert float(error[0]) > 0
        assert bool(((draws.mean(0) - exact).abs() < 4.5 * error + 1e-9).all())

    @pytest.mark.parametrize("forms", [1.0, 1.5, 3.0])
    def test_it_evaluates_no_more_forms_than_asked_for(self, forms: float) -> None:
        spy = Spy(cloud_network(CLASSES))
        Objective(model(spy), forms=forms)(clouds(BATCH), LABELS).backward()
        assert 1 <= sum(spy.rows(gradients=True)) <= forms * BATCH

    def test_settings_that_mean_nothing_are_refused(self) -> None:
        with pytest.raises(InputError, match="at least 1"):
            Objective(model(), forms=0.5)
        with pytest.raises(InputError, match="one_vs_rest"):
            Objective(model(), loss=lambda s, y: one_vs_rest(s, y), forms=2)
        shifted = Canonicalized(cloud_network(CLASSES), Rotations(), GridSearch(5), Monotone(torch.neg))
        with pytest.raises(InputError, match="ClassScore"):
            Objective(shifted, forms=2)
