"""Do many threads get the answers of one? ``python -m benchmarks.speed.threads --repetitions 1000 --threads 8``

Every repetition forgets the shared draws, then lets all threads ask one A-NLSF for batches of graphs of their own, at
the same time, and compares each answer with that of a single thread, to the last bit. A wrong answer ends in exit 1.
"""

import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass

import torch
import tyro
from torch import Tensor
from torch_geometric.data import Batch, Data
from torch_geometric.utils import erdos_renyi_graph

from adacanon.graphs import BandRotations, anlsf, dyadic
from adacanon.spaces.orthogonal_blocks import forget_draws


@dataclass(frozen=True)
class Options:
    """How much is asked."""

    repetitions: int = 100
    threads: int = 8
    seed: int = 0


def main() -> None:
    options = tyro.cli(Options, description=__doc__)
    torch.set_num_threads(1)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(options.seed)
        model = anlsf(BandRotations(dyadic(4), rows=4), 3, classes=4, hidden=16).eval()
        batches = [model.prepare(some_graphs()) for _ in range(options.threads)]
    expected = []
    for batch in batches:
        forget_draws()
        expected.append(answer(model, batch))
    wrong = sum(wrong_answers(model, batches, expected) for _ in range(options.repetitions))
    print(f"{wrong} wrong answers of {options.repetitions * options.threads}")
    sys.exit(wrong > 0)


def some_graphs(count: int = 4) -> Batch:
    """Random graphs of 5 to 24 nodes."""
    sizes = torch.randint(5, 25, (count,)).tolist()
    return Batch.from_data_list(
        [Data(x=torch.randn(n, 3), edge_index=erdos_renyi_graph(n, 0.3), num_nodes=n) for n in sizes]
    )


def answer(model: torch.nn.Module, batch: object) -> Tensor:
    with torch.no_grad():
        return model(batch)


def wrong_answers(model: torch.nn.Module, batches: Sequence[object], expected: Sequence[Tensor]) -> int:
    """Of one repetition on fresh tables."""
    forget_draws()
    start = threading.Barrier(len(batches))
    right = [False] * len(batches)

    def work(number: int) -> None:
        start.wait()
        right[number] = torch.equal(answer(model, batches[number]), expected[number])

    threads = [threading.Thread(target=work, args=(number,)) for number in range(len(batches))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return right.count(False)


if __name__ == "__main__":
    main()
