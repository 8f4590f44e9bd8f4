"""What several threads may do at the same time: docs/searches.md says it, these tests hold it."""

import threading
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

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
