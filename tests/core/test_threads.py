"""What several threads may do at the same time: docs/searches.md says it, these tests hold it."""

import threading
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from adacanon import Canonicalized, Objective, RandomSearch
from adacanon.points import Rotations
from adacanon.spaces import orthogonal_blocks
from adacanon.spaces.orthogonal_blocks import OrthogonalBlocks


def together(*works: Callable[[], None]) -> None:
    """Do all works at the same time, each in a thread of its own; raise what one of them raised."""
    failures: list[BaseException] = []
    start = threading.Barrier(len(works))

    def run(work: Callable[[], None]) -> None:
        try:
            start.wait()
            work()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def draws(sizes: Tensor, seed: int) -> Tensor:
    space = OrthogonalBlocks(sizes, rows=(3, 3), columns=2)
    return space.sample(8, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("seed", range(5))
def test_draws_are_the_same_from_any_number_of_threads(seed: int) -> None:
    batches = [torch.arange(1, 9).roll(shift).reshape(4, 2) + 3 * shift for shift in range(8)]
    expected = []
    for sizes in batches:
        orthogonal_blocks.forget_draws()
        expected.append(draws(sizes, seed))
    orthogonal_blocks.forget_draws()
    wrong: list[int] = []

    def check(number: int) -> Callable[[], None]:
        def work() -> None:
            for turn in range(24):
                which = (number + turn) % len(batches)
                if not torch.equal(draws(batches[which], seed), expected[which]):
                    wrong.append(which)

        return work

    together(*(check(number) for number in range(8)))
    assert wrong == []
    assert all(torch.equal(draws(sizes, seed), value) for sizes, value in zip(batches, expected, strict=True))


def searching(network: nn.Module, *, times: int = 12) -> Callable[[], None]:
    """Searches of a network that stays in training mode."""
    model = Canonicalized(network, Rotations(), RandomSearch(8))
    clouds = torch.randn(4, 5, 3, generator=torch.Generator().manual_seed(0))

    def work() -> None:
        for _ in range(times):
            model.canonicalize(clouds)

    return work


class Plain(nn.Module):
    """Layers that answer otherwise in training than in evaluation, found by name, in a list and by a bound method."""

    def __init__(self) -> None:
        super().__init__()
        self.flatten, self.linear, self.dropout = nn.Flatten(), nn.Linear(15, 3), nn.Dropout(0.5)
        self.normalization = nn.BatchNorm1d(3)
        self.after = [self.dropout, self.normalization]
        self.last = self.noisy

    def forward(self, x: Tensor) -> Tensor:
        x = self.linear(self.flatten(x))
        for layer in self.after:
            x = layer(x)
        return self.last(x)

    def noisy(self, x: Tensor) -> Tensor:
        return x + torch.randn_like(x) if self.training else x


class Closed(Plain):
    """Refers to itself where no twin can follow."""

    def __init__(self) -> None:
        super().__init__()
        self.last = lambda x: self.noisy(x)


@pytest.fixture(params=[Plain, Closed])
def network(request: pytest.FixtureRequest) -> nn.Module:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return request.param()


def test_a_search_leaves_the_random_numbers_of_other_threads_alone(network: nn.Module) -> None:
    drawn: list[Tensor] = []

    def draw() -> None:
        for _ in range(20000):
            drawn.append(torch.rand(()))

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        expected = [torch.rand(()) for _ in range(20000)]
        torch.manual_seed(1)
        together(draw, searching(network, times=60), searching(network, times=60))
    assert torch.equal(torch.stack(drawn), torch.stack(expected))


def test_searches_leave_a_network_in_training_mode(network: nn.Module) -> None:
    for _ in range(5):
        together(*(searching(network) for _ in range(4)))
        assert all(module.training for module in network.modules())


def test_a_network_that_trains_does_not_see_the_searches_of_other_threads() -> None:
    network, seen = Plain(), set()

    def train() -> None:
        for _ in range(20000):
            seen.add(tuple(module.training for module in network.modules()))

    together(train, searching(network, times=60), searching(network, times=60))
    assert seen == {(True,) * len(list(network.modules()))}


def test_a_pass_in_training_takes_turns_with_searches_that_lower_flags() -> None:
    network, seen = Closed(), set()
    network.linear.register_forward_hook(lambda *_: seen.add((torch.is_grad_enabled(), network.dropout.training)))
    objective = Objective(Canonicalized(network, Rotations(), RandomSearch(8)))
    clouds, labels = torch.randn(4, 5, 3), torch.tensor([0, 1, 2, 0])

    def train() -> None:
        for _ in range(60):
            objective(clouds, labels).loss.backward()

    together(train, searching(network, times=60))
    assert seen == {(True, True), (False, False)}


def test_a_search_in_training_mode_changes_nothing_and_answers_as_in_evaluation_mode(network: nn.Module) -> None:
    before = {name: value.clone() for name, value in network.state_dict().items()}
    clouds = torch.randn(4, 5, 3, generator=torch.Generator().manual_seed(0))
    model = Canonicalized(network, Rotations(), RandomSearch(8))
    model.training = False  # the same candidates
    state = torch.get_rng_state()
    found = model.canonicalize(clouds)
    assert torch.equal(state, torch.get_rng_state())
    assert all(torch.equal(value, before[name]) for name, value in network.state_dict().items())
    torch.testing.assert_close(found.logits, model.eval().canonicalize(clouds).logits, rtol=0, atol=0)


def test_a_network_whose_layers_are_lazy_is_searched_in_training_mode() -> None:
    with torch.random.fork_rng(devices=[]):
        network = nn.Sequential(nn.Flatten(), nn.LazyLinear(3), nn.Dropout(0.5))
    objective = Objective(Canonicalized(network, Rotations(), RandomSearch(4))).train()
    objective(torch.randn(4, 5, 3), torch.tensor([0, 1, 2, 0])).loss.backward()
    assert network[1].weight.grad is not None
    assert all(module.training for module in network.modules())
