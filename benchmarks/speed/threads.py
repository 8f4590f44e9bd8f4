"""Do many threads get the answers of one? ``python -m benchmarks.speed.threads --calls 200 --threads 8 --runs 10``

The default model of every family is asked by all threads at the same time, each for batches of its own, in evaluation
mode, while one more thread makes training passes with the same network in training mode. Every answer is compared with
that of a single thread, to the last bit, and so are the gradients of the training. Networks that draw numbers or learn
statistics in training are trained as copies: their answers could not stay the same. Tables of draws that threads share
are forgotten before every run. A wrong answer or another gradient ends in exit 1.
"""

import copy
import json
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import torch
import tyro
from torch import Tensor

from adacanon import cross_entropy
from adacanon.spaces.orthogonal_blocks import forget_draws
from benchmarks.frame.measure import Row, table
from benchmarks.fuzz.draw import Draw
from benchmarks.fuzz.models import CASES, CLASSES, model_of

NOT_TRAINED = ("answers", "nodes, labels")
"""Models whose answers are no class scores of inputs; they are asked, not trained."""


@dataclass(frozen=True)
class Options:
    """How much is asked."""

    calls: int = 200
    """Of every thread, in every run."""
    threads: int = 8
    runs: int = 10
    steps: int = 50
    """Passes of the training beside the calls."""
    seed: int = 0
    models: tuple[str, ...] = tuple(CASES)
    json: Path | None = None


def main() -> None:
    options = tyro.cli(Options, description=__doc__)
    torch.set_num_threads(1)
    rows: list[Row] = []
    for name in options.models:
        rows.append(measured(name, options))
        print(table(rows[-1:]), flush=True)
        keep(rows, options)
    sys.exit(wrong_in(rows) > 0)


def wrong_in(rows: Sequence[Row]) -> int:
    return sum(row["wrong answers"] + row["other trainings"] for row in rows)


def keep(rows: list[Row], options: Options) -> None:
    """Write what is known so far."""
    title = (
        f"{options.threads} threads x {options.calls} calls of every family's default model, beside a training of the "
        f"same network, {options.runs} runs in a row: {wrong_in(rows)} wrong"
    )
    if options.json is not None:
        options.json.write_text(json.dumps({"title": title, "rows": rows}, indent=2) + "\n")


def measured(name: str, options: Options) -> Row:
    """All runs of one model."""
    start = perf_counter()
    model = model_of(name)
    draws = (Draw(f"{options.seed}/{name}/{i}") for i in range(options.threads))
    batches = [prepared(model, CASES[name].inputs(draw)) for draw in draws]
    expected = []
    for batch in batches:
        forget_draws()
        expected.append(answer(model, batch))
    trained = None if name.startswith(NOT_TRAINED) else training(name, options.steps)
    alone = trained() if trained else []
    wrong = other = 0
    for _ in range(options.runs):
        forget_draws()
        found = one_run(model, batches, expected, options.calls, trained)
        wrong += found[0]
        other += trained is not None and not same(found[1], alone)
    calls = options.runs * options.threads * options.calls
    seconds = round(perf_counter() - start, 1)
    what = "none" if trained is None else "the same network" if trains_itself(name) else "a copy"
    counts = {"answers": calls, "wrong answers": wrong, "trains": what, "other trainings": other}
    return {"model": name, **counts, "seconds": seconds}


def prepared(model: Any, g: Any) -> Any:
    """Graphs decomposed beforehand, as in a training; everything else as it is."""
    if isinstance(g, Tensor):
        return g
    return model.framed(g) if hasattr(model, "framed") else model.prepare(g)


def one_run(
    model: Any,
    batches: Sequence[Any],
    expected: Sequence[Tensor],
    calls: int,
    train: Callable[[], list[Tensor]] | None,
) -> tuple[int, list[Tensor]]:
    """How many answers are wrong, and what the training beside them has learnt."""
    begin = threading.Barrier(len(batches) + (train is not None))
    right, learnt = [0] * len(batches), list[Tensor]()

    def ask(number: int) -> None:
        begin.wait()
        for _ in range(calls):
            right[number] += torch.equal(answer(model, batches[number]), expected[number])

    def learn() -> None:
        begin.wait()
        assert train is not None
        learnt.extend(train())

    workers = [threading.Thread(target=ask, args=(number,)) for number in range(len(batches))]
    workers += [threading.Thread(target=learn)] if train is not None else []
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return len(batches) * calls - sum(right), learnt


def training(name: str, steps: int) -> Callable[[], list[Tensor]]:
    """Some passes in training mode, with the same draws every time; the gradients of all of them come out."""
    batch, targets = CASES[name].inputs(Draw(f"training/{name}")), torch.arange(3) % CLASSES
    model = copy.copy(model_of(name)) if trains_itself(name) else copy.deepcopy(model_of(name))
    model.training = True
    for child in model.children():
        child.train()
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout) and not trains_itself(name):
            module.p = 0.0  # it draws from the random state of the process, which no two threads can share
    return lambda: [gradient for step in range(steps) for gradient in gradients(model, batch, targets, step)]


def gradients(model: Any, batch: Any, targets: Tensor, step: int) -> list[Tensor]:
    """Of one pass, without leaving anything at the parameters."""
    logits = model(batch, generator=torch.Generator().manual_seed(step))
    used = [parameter for parameter in model.parameters() if parameter.requires_grad]
    found = torch.autograd.grad(cross_entropy(logits, targets), used, allow_unused=True)
    return [gradient for gradient in found if gradient is not None]


def trains_itself(name: str) -> bool:
    """Whether training passes change nothing that answers depend on."""
    modules = list(model_of(name).modules())
    learns = any(isinstance(module, torch.nn.modules.batchnorm._BatchNorm) for module in modules)
    return not learns and not any(isinstance(module, torch.nn.Dropout) and module.p > 0 for module in modules)


def same(a: Sequence[Tensor], b: Sequence[Tensor]) -> bool:
    return len(a) == len(b) and all(torch.equal(x, y) for x, y in zip(a, b, strict=True))


def answer(model: Any, batch: Any) -> Tensor:
    """In evaluation mode, whatever mode the network is in."""
    return model.canonicalize(batch).logits


if __name__ == "__main__":
    main()
