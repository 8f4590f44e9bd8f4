"""The loss over some forms: that of a search over them, of the size asked for, and exact when it takes all."""

from collections.abc import Callable
from functools import lru_cache

import pytest
import torch
from torch import Tensor

from adacanon import AnchoredSearch, Canonicalized, GridSearch, Monotone, Objective, cross_entropy, one_vs_rest
from adacanon.core.hardest import hardest
from adacanon.errors import InputError
from adacanon.points import Rotations
from adacanon.spaces import SO3
from cases.networks import Spy, cloud_network, clouds

CLASSES, BATCH = 5, 4
LABELS = torch.tensor([0, 2, 1, 4])


def model(network: torch.nn.Module | None = None) -> Canonicalized:
    return Canonicalized(network or cloud_network(CLASSES), Rotations(), GridSearch(30))


def softmax(scores: Tensor) -> Tensor:
    return scores.softmax(1)


def loss_and_gradient(objective: Objective, targets: Tensor) -> Tensor:
    objective.zero_grad()
    loss = objective(clouds(BATCH), targets).loss
    loss.backward()
    return torch.cat([loss.detach().reshape(1), *(p.grad.flatten() for p in objective.parameters())])


class TestHardest:
    SIZE = torch.tensor([[0.9, 0.6, 0.2, 0.3], [0.1, 0.8, 0.7, 0.5], [0.4, 0.3, 0.2, 0.1]])
    TRUE = torch.tensor([[1, 0, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1]]).bool()

    def chosen(self, count: int, always: Tensor | None = None) -> list[list[int]]:
        return hardest(self.SIZE, always=self.TRUE if always is None else always, count=count).int().tolist()

    def test_true_classes_come_first_whatever_the_count(self) -> None:
        assert self.chosen(0) == self.chosen(3) == self.TRUE.int().tolist()

    def test_then_the_hardest_of_every_input_beginning_with_the_largest(self) -> None:
        assert self.chosen(4) == [[1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 0, 1]]
        assert self.chosen(6) == [[1, 1, 0, 0], [1, 1, 0, 0], [1, 0, 0, 1]]
        assert self.chosen(7) == [[1, 1, 0, 0], [1, 1, 1, 0], [1, 0, 0, 1]]

    def test_more_than_there_are_takes_all(self) -> None:
        assert self.chosen(99) == [[1] * 4] * 3

    def test_an_input_without_a_true_class_still_takes_part(self) -> None:
        always = self.TRUE.clone()
        always[2] = False
        assert self.chosen(0, always)[2] == [1, 0, 0, 0]
        assert self.chosen(5, always) == [[1, 1, 0, 0], [1, 1, 0, 0], [1, 0, 0, 0]]


class TestLoss:
    def test_all_forms_are_the_best_of_all_winners(self) -> None:
        """The winner of a class is its best candidate, so that the forms of other classes change nothing."""
        torch.testing.assert_close(
            loss_and_gradient(Objective(model(), forms=float(CLASSES)), LABELS),
            loss_and_gradient(Objective(model(), forms=None), LABELS),
        )

    @pytest.mark.parametrize(("loss", "probabilities"), [(one_vs_rest, torch.sigmoid), (cross_entropy, softmax)])
    @pytest.mark.parametrize("forms", [1.0, 1.5, 2.0, 3.0])
    def test_it_is_the_loss_of_a_search_over_the_chosen_forms(
        self, forms: float, loss: Callable[..., Tensor], probabilities: Callable[[Tensor], Tensor]
    ) -> None:
        """Written down plainly."""
        canonicalized = model()
        value, logits = Objective(canonicalized, loss=loss, forms=forms)(clouds(BATCH), LABELS)
        canonicalized.draws.zero_()
        found, _ = canonicalized.maximize(clouds(BATCH))
        labels = torch.nn.functional.one_hot(LABELS, CLASSES)
        size = (probabilities(found.values) - labels).abs()
        chosen = hardest(size, always=labels > 0, count=round(forms * BATCH))
        scores = []
        for i, cloud in enumerate(clouds(BATCH)):
            own = torch.stack([cloud @ found.parameters[i, d].T for d in chosen[i].nonzero().flatten()])
            scores.append(canonicalized.network(own).amax(0))
        torch.testing.assert_close(logits, torch.stack(scores))
        torch.testing.assert_close(value, loss(torch.stack(scores), LABELS))
        assert not logits.requires_grad

    def test_scores_are_lower_bounds_and_those_of_true_classes_exact(self) -> None:
        canonicalized = model()
        seen: list[Tensor] = []
        Objective(canonicalized, loss=lambda s, y: seen.append(s) or s.sum(), forms=1.5)(clouds(BATCH), LABELS)
        canonicalized.draws.zero_()
        exact, _ = canonicalized.maximize(clouds(BATCH))
        assert bool((seen[0] <= exact.values + 1e-9).all())
        row = torch.arange(BATCH)
        torch.testing.assert_close(seen[0][row, LABELS].detach(), exact.values[row, LABELS])

    def test_incomplete_labels_are_taken(self) -> None:
        targets = torch.tensor([[1, 0, -1, 0, 0], [0, 0, 0, -1, 1], [1, 1, 0, 0, 0], [-1, 0, 0, 0, 0]])
        objective = Objective(model(), loss=one_vs_rest, forms=2.0)
        assert loss_and_gradient(objective, targets).isfinite().all()

    @pytest.mark.parametrize("forms", [1.0, 1.5, 3.0])
    def test_it_evaluates_no_more_forms_than_asked_for(self, forms: float) -> None:
        spy = Spy(cloud_network(CLASSES))
        Objective(model(spy), forms=forms)(clouds(BATCH), LABELS).loss.backward()
        assert 1 <= sum(spy.rows(gradients=True)) <= forms * BATCH

    def test_in_evaluation_the_loss_is_exact(self) -> None:
        objective = Objective(model(), forms=1.0).eval()
        with torch.no_grad():
            expected = cross_entropy(objective.model(clouds(BATCH)), LABELS)
            assert torch.equal(objective(clouds(BATCH), LABELS).loss, expected)

    def test_settings_that_mean_nothing_are_refused(self) -> None:
        with pytest.raises(InputError, match="at least 1"):
            Objective(model(), forms=0.5)
        with pytest.raises(InputError, match="got 'few'"):
            Objective(model(), forms="few")  # type: ignore[arg-type]
        shifted = Canonicalized(cloud_network(CLASSES), Rotations(), GridSearch(5), prior=Monotone(torch.neg))
        with pytest.raises(InputError, match="ClassScore"):
            Objective(shifted, forms=2)


@lru_cache(maxsize=1)
def trained_upright() -> torch.nn.Module:
    """A network that was trained with cross-entropy on upright clouds."""
    clouds, labels = upright(256)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        layers = (torch.nn.Linear(24, 32), torch.nn.ReLU(), torch.nn.Linear(32, 2))
        network = torch.nn.Sequential(torch.nn.Flatten(), *layers)
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-2)
    for _ in range(200):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(network(clouds), labels).backward()
        optimizer.step()
    return network


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_fine_tuning_does_not_begin_worse_than_the_network_is(temperature: float) -> None:
    network, (clouds, labels) = trained_upright(), upright(64, seed=1)
    turned = clouds @ SO3().sample(len(clouds), generator=torch.Generator().manual_seed(2)).float().mT
    model = Canonicalized(network, Rotations(), AnchoredSearch(24), temperature=temperature)
    with torch.no_grad():
        own = torch.nn.functional.cross_entropy(network(turned), labels)
        first = Objective(model)(turned, labels).loss
        paper = Objective(model, loss=one_vs_rest)(turned, labels).loss
    assert float(first) < float(own)
    assert float(first) < float(paper)


def upright(count: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Rods along the first axis with a heavy or a light end."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.arange(count) % 2
    points = torch.randn(count, 8, 3, generator=generator) * torch.tensor([1.0, 0.4, 0.1])
    points[:, :, 0] = points[:, :, 0].abs() ** (1 + labels.unsqueeze(1))
    return points - points.mean(1, keepdim=True), labels
