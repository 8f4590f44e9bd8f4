"""Library, calls: every family with every search, temperature and prior, judged by laws and a slow oracle."""

import copy
import math
import pickle
import threading
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from adacanon import (
    AnchoredSearch,
    Canonicalized,
    ClassScore,
    CoarseToFine,
    GridSearch,
    LargestScore,
    LogSumExp,
    NegativeEntropy,
    Objective,
    RandomSearch,
    Restarts,
    SampleAndRefine,
    SubsetSearch,
    cross_entropy,
    one_vs_rest,
)
from adacanon.core import Maximizer
from adacanon.errors import AdacanonError
from adacanon.points import AxisRotations, Isometries, Rotations
from adacanon.spaces import SO3
from benchmarks.fuzz.draw import Draw
from benchmarks.fuzz.judging import SilentlyWrongError, StateChangedError
from benchmarks.fuzz.models import CASES, CLASSES, CLOUDS, IMAGES, CloudScores, ImageScores, clouds, model_of, pictures

SEARCHES: tuple[Callable[[int], Maximizer], ...] = (
    lambda n: RandomSearch(n),
    lambda n: GridSearch(n),
    lambda n: SampleAndRefine(n, 1),
    lambda n: SampleAndRefine(n, 2, method="projected"),
    lambda n: AnchoredSearch(n),
    lambda n: CoarseToFine(RandomSearch(n), 4, keep=1, contenders=2),
    lambda n: SubsetSearch(RandomSearch(n), max(1, n // 2)),
    lambda n: Restarts(RandomSearch(n), 2),
)
TEMPERATURES: tuple[Any, ...] = (0.0, 0.0, 0.3, 1.0, math.inf, [0.0, 1.0, math.inf])
PRIORS = (ClassScore(), ClassScore(), LargestScore(), LogSumExp(), NegativeEntropy())


def any_combination(draw: Draw) -> None:
    """What a combination answers, it answers in every way to call it; what does not go together is refused."""
    on_clouds = draw.chance(0.5)
    families, network, inputs = (CLOUDS, CloudScores, clouds) if on_clouds else (IMAGES, ImageScores, pictures)
    family, search = families[draw.pick(sorted(families))], draw.pick(SEARCHES)(draw.whole(1, 9))
    options = {"prior": draw.pick(PRIORS), "temperature": draw.pick(TEMPERATURES), "seed": draw.whole(-3, 3)}
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(draw.whole(0, 99))
        model = Canonicalized(network(), family, search, **options).double().eval()
    g = inputs(draw, draw.whole(1, 3)).double()
    with torch.no_grad():
        expected = model(g)
        check_answer(expected, g)
        near(model(g), expected, "a second call")
        near(torch.cat([model(g[i : i + 1]) for i in range(len(g))]), expected, "one input at a time")
        model.chunk_size = draw.whole(1, 7)
        near(model(g), expected, f"chunks of {model.chunk_size}")
        near(model.canonicalize(g).logits, expected, "the record")
        near(copy.deepcopy(model)(g), expected, "a copy")


def slow_oracle(draw: Draw) -> None:
    """The best of a list of points, one input and one class at a time."""
    family, points = Rotations(), SO3().sample(draw.whole(1, 6), generator=draw.generator)
    network, g = _network(draw), clouds(draw, draw.whole(1, 3)).double()
    with torch.no_grad():
        found = Canonicalized(network, family, GridSearch(points=points)).eval()(g)
        outputs = torch.stack([torch.cat([network((x @ u.mT)[None]) for x in g]) for u in points])
        near(found, outputs.amax(0), "the oracle")
        tau = draw.pick([0.2, 1.0, 5.0])
        soft = Canonicalized(network, family, GridSearch(points=points), temperature=tau).eval()(g)
        near(soft, tau * (outputs / tau).exp().mean(0).log(), "the oracle with a temperature")


def same_in_any_pose(draw: Draw) -> None:
    """Anchored searches do not see the pose of a cloud; windows, bands and mirrors have symmetries of their own."""
    family, space = draw.pick(((Rotations(), SO3()), (Isometries(), Isometries().space(None)), (None, None)))
    g = clouds(draw).double()
    if family is None:
        family, angle = AxisRotations((0.0, 0.0, 1.0)), torch.tensor(draw.random.uniform(-3, 3), dtype=torch.float64)
        turn = family.matrices(angle[None])[0]
    else:
        turn = space.sample(1, generator=draw.generator)[0]
    temperature = draw.pick([0.0, 0.5, math.inf])
    model = Canonicalized(_network(draw), family, temperature=temperature).eval()
    with torch.no_grad():
        found = model.canonicalize(g)
        if found.determined is not None and bool(found.determined.all()):
            near(model(g @ turn.mT), found.logits, "the turned cloud", tolerance=1e-6)


def same_in_any_order_of_nodes(draw: Draw) -> None:
    """Graph models do not see how nodes are numbered."""
    name = draw.pick([name for name in CASES if name.startswith(("graphs", "nodes, A-NLSF"))])
    model, data = _double(name), _one_graph(draw)
    order = torch.randperm(data.num_nodes, generator=draw.generator)
    place = torch.empty_like(order)
    place[order] = torch.arange(len(order))
    moved = data.clone()
    moved.x, moved.edge_index = data.x[order], place[data.edge_index]
    with torch.no_grad():
        near(model(moved), model(data), "another order of nodes", tolerance=1e-4)


def within_its_budget(draw: Draw) -> None:
    """A budget is kept by every default search, and a larger one never finds less for a class of fixed candidates."""
    name = draw.pick(sorted(CASES))
    model, budget = model_of(name), draw.whole(1, 60)
    if not hasattr(model, "canonicalize"):
        return
    with torch.no_grad():
        try:
            found = model.canonicalize(CASES[name].inputs(draw), budget=budget)
        except AdacanonError as error:
            raise SilentlyWrongError(f"{name}: a budget was refused: {error}") from error
    if found.evaluations > budget:
        raise SilentlyWrongError(f"{name}: {found.evaluations} evaluations for a budget of {budget}")


def threads_agree(draw: Draw) -> None:
    """Two threads that ask one model at the same time get the answers of one."""
    name = draw.pick(sorted(CASES))
    model, batches = model_of(name), [CASES[name].inputs(draw) for _ in range(2)]
    with torch.no_grad():
        expected = [model(batch) for batch in batches]
    answers: list[Any] = [None, None]

    def work(number: int) -> None:
        with torch.no_grad():
            answers[number] = model(batches[number])

    workers = [threading.Thread(target=work, args=(number,)) for number in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for answer, wanted in zip(answers, expected, strict=True):
        if answer is None or not torch.equal(answer, wanted):
            raise SilentlyWrongError(f"{name}: another answer in a thread")


def training_step(draw: Draw) -> None:
    """A step gives finite gradients and leaves flags, and everything but ``draws`` and statistics, as it was."""
    name = draw.pick([name for name in CASES if not name.startswith(("answers", "nodes, labels"))])
    with torch.random.fork_rng(devices=[]):
        model = copy.deepcopy(model_of(name)).train()
        g = CASES[name].inputs(draw)
        targets = torch.randint(CLASSES, (3,), generator=draw.generator)
        before = {key: value.clone() for key, value in model.state_dict().items()}
        loss = Objective(model, loss=draw.pick([cross_entropy, one_vs_rest]), forms=draw.pick([None, 1, 2.5]))
        loss(g, targets).loss.backward()
    if not all(module.training for module in model.modules()):
        raise StateChangedError(f"{name}: a flag is down after a step")
    for key, value in model.state_dict().items():
        known = key.endswith(("draws", "running_mean", "running_var", "num_batches_tracked"))
        if not known and not torch.equal(value, before[key]):
            raise StateChangedError(f"{name}: {key} changed by a step")
    if not all(p.grad is None or bool(p.grad.isfinite().all()) for p in model.parameters()):
        raise SilentlyWrongError(f"{name}: a gradient that is not finite")


def pickled(draw: Draw) -> None:
    """A pickle in memory gives the same answers, in training after the same number of draws."""
    name = draw.pick(sorted(CASES))
    model, g = model_of(name), CASES[name].inputs(draw)
    with torch.no_grad():
        if not torch.equal(pickle.loads(pickle.dumps(model))(g), model(g)):
            raise SilentlyWrongError(f"{name}: another answer after pickling")


def near(answer: Tensor, expected: Tensor, what: str, *, tolerance: float = 1e-8) -> None:
    if answer.shape != expected.shape:
        raise SilentlyWrongError(f"{what}: shape {tuple(answer.shape)}, expected {tuple(expected.shape)}")
    error = float((answer - expected).abs().max())
    if not error <= tolerance * max(1.0, float(expected.abs().max())):
        raise SilentlyWrongError(f"{what} differs by {error:g}")


def check_answer(answer: Tensor, g: Tensor) -> None:
    if answer.shape != (len(g), CLASSES) or not bool(answer.isfinite().all()):
        raise SilentlyWrongError(f"an answer of shape {tuple(answer.shape)} that is not finite or does not fit")


def _network(draw: Draw) -> CloudScores:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(draw.whole(0, 99))
        return CloudScores().double().eval()


def _double(name: str) -> Any:
    with torch.random.fork_rng(devices=[]):
        return copy.deepcopy(model_of(name)).double()


def _one_graph(draw: Draw) -> Any:
    data = CASES["graphs, A-NLSF"].inputs(draw)[0]
    data.x = data.x.double()
    return data


KINDS = {
    "calls, any combination": (any_combination, 3),
    "calls, slow oracle": (slow_oracle, 3),
    "calls, any pose": (same_in_any_pose, 3),
    "calls, any order of nodes": (same_in_any_order_of_nodes, 1),
    "calls, budgets": (within_its_budget, 1),
    "calls, threads": (threads_agree, 1),
    "calls, training": (training_step, 1),
    "calls, pickles": (pickled, 1),
}
