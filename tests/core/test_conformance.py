"""One table: every way to run a model, with the same answer as the plain one."""

import copy
import math
import pickle
import socket
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from adacanon import (
    AnchoredSearch,
    Canonicalized,
    Cascade,
    Objective,
    RandomSearch,
    SampleAndRefine,
    Temperature,
    one_vs_rest,
)
from adacanon.core import Maximizer
from adacanon.errors import InputError
from adacanon.points import Rotations
from adacanon.spaces import SO3
from cases.conformance import ANSWERS, SINGLE, TEMPERATURES, answering, inputs_of
from cases.distributed_training import exact_objective, train_on_half
from cases.networks import cloud_network, clouds
from cases.rankers import small_ranker

SEARCH = SampleAndRefine(6, 2)
# torch.compile itself looks at .grad of the forms while it traces
TRACING = pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf:UserWarning")


def canonicalized(search: Maximizer = SEARCH, *, classes: int = 3, dtype: torch.dtype = SINGLE) -> Canonicalized:
    return Canonicalized(cloud_network(classes, dtype=dtype), Rotations(), search)


def like(model: Canonicalized, network: Any, **options: Any) -> Canonicalized:
    """The same model around another network."""
    temperature = copy.deepcopy(model.temperature) or 0.0
    options |= {"prior": model.prior, "answers": model.answers, "temperature": temperature}
    return Canonicalized(network, model.family, model.search, **options)


def eager(model: Canonicalized, g: Tensor) -> Tensor:
    return model(g)


def no_grad(model: Canonicalized, g: Tensor) -> Tensor:
    with torch.no_grad():
        return model(g)


def inference(model: Canonicalized, g: Tensor) -> Tensor:
    with torch.inference_mode():
        return model(g)


def inference_on_inference_tensors(model: Canonicalized, g: Tensor) -> Tensor:
    with torch.inference_mode():
        inside = g.clone()
        assert inside.is_inference()
        return model(inside)


def record_in_inference(model: Canonicalized, g: Tensor) -> Tensor:
    with torch.inference_mode():
        found = model.canonicalize(g.clone())
        assert found.forms().shape == (3, 3 if not model.prior.shared else 1, *g.shape[1:])
        return found.logits


def record(model: Canonicalized, g: Tensor) -> Tensor:
    return model.canonicalize(g).logits


def input_with_gradient(model: Canonicalized, g: Tensor) -> Tensor:
    logits = model(g.clone().requires_grad_())
    assert logits.requires_grad
    return logits


def pickled(model: Canonicalized, g: Tensor) -> Tensor:
    return pickle.loads(pickle.dumps(model))(g)


def copied(model: Canonicalized, g: Tensor) -> Tensor:
    return copy.deepcopy(model)(g)


def reloaded(model: Canonicalized, g: Tensor) -> Tensor:
    network = copy.deepcopy(model.network)
    for parameter in network.parameters():
        torch.nn.init.zeros_(parameter)
    other = like(model, network, seed=9).eval()
    other.load_state_dict(model.state_dict())
    return other(g)


def one_by_one(model: Canonicalized, g: Tensor) -> Tensor:
    return torch.cat([model(g[i : i + 1]) for i in range(len(g))])


def not_contiguous(model: Canonicalized, g: Tensor) -> Tensor:
    return model(g.mT.contiguous().mT)


def lightning_validation(model: Canonicalized, g: Tensor) -> Tensor:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Lightning and what it imports warn about loaders, workers and deprecations
        return _validate(model, g)


def compiled(model: Canonicalized, g: Tensor) -> Tensor:
    torch._dynamo.reset()
    network = torch.compile(model.network, backend="aot_eager")
    return like(model, network).eval()(g)


WAYS = [
    eager,
    no_grad,
    inference,
    inference_on_inference_tensors,
    record,
    record_in_inference,
    input_with_gradient,
    pickled,
    copied,
    reloaded,
    one_by_one,
    not_contiguous,
    lightning_validation,
    pytest.param(compiled, marks=TRACING),
]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_every_way_to_run_gives_the_answer_of_the_plain_model(way: Callable[[Canonicalized, Tensor], Tensor]) -> None:
    model, g = canonicalized().eval(), clouds(dtype=SINGLE)
    expected = model(g).detach()
    torch.testing.assert_close(way(model, g).detach(), expected, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("temperature", [0.5, math.inf, [0.0, 1.0, math.inf], Temperature(1.0, learned=True)], ids=str)
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_every_way_to_run_gives_the_answer_of_the_plain_model_with_a_temperature(
    way: Callable[[Canonicalized, Tensor], Tensor], temperature: Any
) -> None:
    network, g = cloud_network(dtype=SINGLE), clouds(dtype=SINGLE)
    model = Canonicalized(network, Rotations(), RandomSearch(6), temperature=temperature).eval()
    expected = model(g).detach()
    torch.testing.assert_close(way(model, g).detach(), expected, atol=1e-4, rtol=1e-4)


def with_cascade(temperature: float = 0.0) -> Canonicalized:
    """Two finalists of 24 anchors, on whose order rounding has no influence."""
    search = Cascade(AnchoredSearch(24), small_ranker(3, dtype=SINGLE), finalists=2)
    return Canonicalized(cloud_network(dtype=SINGLE), Rotations(), search, temperature=temperature)


@pytest.mark.parametrize("temperature", [0.0, 0.5, math.inf])
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_every_way_to_run_gives_the_answer_of_the_plain_model_with_a_cascade(
    way: Callable[[Canonicalized, Tensor], Tensor], temperature: float
) -> None:
    model, g = with_cascade(temperature).eval(), clouds(dtype=SINGLE)
    expected = model(g).detach()
    torch.testing.assert_close(way(model, g).detach(), expected, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("temperature", [0.0, 0.5])
def test_a_cascade_under_autocast_has_the_same_finalists_and_trains(temperature: float) -> None:
    """The ranker is never autocast, so that reduced precision does not choose."""
    model, g = with_cascade(temperature).eval(), clouds(dtype=SINGLE)
    expected = model(g)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        torch.testing.assert_close(model(g), expected, atol=0.03, rtol=0.03)
        for forms in (None, 1.0):
            loss = Objective(model.train(), forms=forms)(g, torch.tensor([0, 1, 2])).loss
            model.zero_grad()
            loss.backward()
            assert all(parameter.grad.isfinite().all() for parameter in model.network.parameters())


@pytest.mark.parametrize(("name", "temperature"), TEMPERATURES, ids=str)
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_every_way_to_run_gives_the_answer_of_the_plain_model_for_answers_of_any_kind(
    way: Callable[[Canonicalized, Tensor], Tensor], name: str, temperature: float
) -> None:
    model, g = answering(name, temperature), inputs_of(name)
    expected = model(g).detach()
    torch.testing.assert_close(way(model, g).detach(), expected, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("name", ANSWERS)
def test_answers_of_any_kind_under_autocast_are_in_single_precision_near_the_plain_ones(name: str) -> None:
    """The mean over candidates, where no choice between near candidates can turn over."""
    model, g = answering(name, math.inf, candidates=6), inputs_of(name)
    expected = model(g)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        answers = model(g)
    assert answers.dtype == torch.float32
    torch.testing.assert_close(answers, expected, atol=0.03, rtol=0.03)


@pytest.mark.parametrize(
    "search",
    [RandomSearch(1), SampleAndRefine(1, 2), SampleAndRefine(2, 2, method="projected"), AnchoredSearch(4, steps=1)],
    ids=repr,
)
@pytest.mark.parametrize("classes", [1, 3])
@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])
def test_small_cases_run_and_train(search: Maximizer, classes: int, batch: int, dtype: torch.dtype) -> None:
    model = canonicalized(search, classes=classes, dtype=dtype)
    logits = model(clouds(batch, dtype=dtype))
    assert logits.shape == (batch, classes)
    assert logits.dtype == dtype
    objective = Objective(model, loss=one_vs_rest)
    objective(clouds(batch, dtype=dtype), torch.zeros(batch, dtype=torch.int64)).loss.backward()
    assert all(parameter.grad is not None and parameter.grad.isfinite().all() for parameter in model.parameters())


@pytest.mark.parametrize("context", [torch.enable_grad, torch.no_grad, torch.inference_mode])
def test_an_empty_batch_is_refused_everywhere(context: Callable) -> None:
    with context(), pytest.raises(InputError, match="empty"):
        canonicalized()(clouds(dtype=SINGLE)[:0])


# Autocast


def test_autocast_gives_scores_in_single_precision_near_the_plain_ones() -> None:
    """K fixed candidates: bfloat16 moves each score, and so the maximum, by about one percent."""
    model, g = canonicalized(RandomSearch(6)).eval(), clouds(dtype=SINGLE)
    expected = model(g)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        logits = model(g)
    assert logits.dtype == torch.float32
    torch.testing.assert_close(logits, expected, atol=0.03, rtol=0.03)


@pytest.mark.parametrize(
    "search", [SEARCH, SampleAndRefine(6, 2, method="projected"), AnchoredSearch(8), AnchoredSearch(8, 2)], ids=repr
)
def test_transformations_found_under_autocast_lie_on_the_space(search: Maximizer) -> None:
    """Geometry is never autocast: rotations stay rotations to single precision."""
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = canonicalized(search).eval().canonicalize(clouds(dtype=SINGLE))
    assert found.parameters.dtype == torch.float32
    torch.testing.assert_close(SO3().project(found.parameters), found.parameters, atol=1e-5, rtol=0)


def test_training_under_autocast_reaches_the_parameters() -> None:
    model = canonicalized()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = Objective(model)(clouds(dtype=SINGLE), torch.tensor([0, 1, 2])).loss
    loss.backward()
    assert all(parameter.grad.dtype == torch.float32 for parameter in model.parameters())


# Compilation, Lightning, several processes


@TRACING
def test_a_compiled_network_trains_like_the_plain_one() -> None:
    torch._dynamo.reset()
    plain, g, labels = canonicalized(), clouds(dtype=SINGLE), torch.tensor([0, 1, 2])
    network = cloud_network(dtype=SINGLE)
    fast = Canonicalized(torch.compile(network, backend="aot_eager"), Rotations(), SEARCH)
    for model in (plain, fast):
        Objective(model)(g, labels).loss.backward()
    for a, b in zip(plain.network.parameters(), network.parameters(), strict=True):
        torch.testing.assert_close(a.grad, b.grad, atol=1e-4, rtol=1e-4)


def _validate(model: Canonicalized, g: Tensor) -> Tensor:
    import lightning

    class Validation(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.model = model
            self.answers: list[Tensor] = []

        def validation_step(self, batch: Tensor, index: int) -> None:
            assert torch.is_inference_mode_enabled()
            self.answers.append(self.model(batch).clone())

    module = Validation()
    options = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False, "barebones": False}
    trainer = lightning.Trainer(accelerator="cpu", devices=1, enable_model_summary=False, **options)
    trainer.validate(module, torch.utils.data.DataLoader(g, batch_size=2), verbose=False)
    return torch.cat(module.answers)


def test_two_processes_have_the_gradients_of_one_on_the_joined_batch(tmp_path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    torch.multiprocessing.spawn(train_on_half, (port, str(tmp_path)), nprocs=2)
    objective = exact_objective()
    for _ in range(2):
        objective.zero_grad()
        objective(clouds(8), torch.arange(8) % 3).loss.backward()
    for rank in range(2):
        gradients, draws = torch.load(tmp_path / f"{rank}.pt")
        assert int(draws) == int(objective.model.draws) == 2
        for theirs, ours in zip(gradients, objective.parameters(), strict=True):
            torch.testing.assert_close(theirs, ours.grad)
