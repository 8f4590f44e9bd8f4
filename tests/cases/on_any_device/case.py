"""What a case is: a computation from inputs that are moved to a device, with named outcomes."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from adacanon import Canonicalized, Objective
from adacanon.core.pytree import Tree, tensors

Move = Callable[[Any], Any]
"""To the device under test; to the CPU it is the identity."""

Case = Callable[[Move], dict[str, Tree]]
"""Everything that a case computes, by name. All tensors are expected on the device, but for names that say so."""

ON_CPU = "on the CPU: "
"""How the names of outcomes begin that belong on the CPU."""

CLASSES = 3


def labels(count: int = 3) -> Tensor:
    return torch.arange(count) % CLASSES


def of_network(
    build: Callable[[], nn.Module], inputs: Callable[[], tuple[Any, ...]], *, checkpoint: bool = True
) -> Case:
    """A module: answers in evaluation, a training step, and a checkpoint, which takes its time with large networks."""

    def run(move: Move) -> dict[str, Tree]:
        model, given = move(seeded(build)), move(inputs())
        found = {"evaluation": model.eval()(*given)}
        torch.manual_seed(0)  # of the dropout
        model.train()
        loss = smooth(model(*given))
        found |= _trained(model, loss)
        return found | _reloaded(build, model, inputs, move) if checkpoint else found

    return run


def of_model(
    build: Callable[[], Canonicalized],
    inputs: Callable[[], Any],
    targets: Callable[[], Tensor] | None = labels,
    *,
    ids: bool = False,
    budget: float | None = None,
    **options: Any,
) -> Case:
    """A canonicalized network: answers, the record, the loss with gradients, and a checkpoint.

    Args:
        targets: class labels, or None for answers of other kinds, whose squares are the loss.
        ids: whether samples are named, for searches that remember them; then there are two training steps.
        budget: evaluations for one more answer, of searches that can keep one.
        options: of the objective.
    """

    def run(move: Move) -> dict[str, Tree]:
        model, g = move(seeded(build)), move(inputs())
        found = {"evaluation": model.eval()(g), "record": _record(model, g)}
        torch.manual_seed(0)
        model.train()
        given = () if not ids else (move(torch.arange(len(g))),)
        for _ in range(1 + ids):
            model.zero_grad()
            loss = smooth(model(g)) if targets is None else _loss(model, g, move(targets()), given, options)
            found |= _trained(model, loss)
        if budget is not None:
            found["with a budget"] = model.eval()(g, budget=budget)
        return found | _reloaded(build, model, lambda: (inputs(),), move)

    return run


def seeded(build: Callable[[], Any]) -> Any:
    torch.manual_seed(0)
    return build()


def _loss(model: Canonicalized, g: Any, targets: Tensor, ids: tuple[Tensor, ...], options: dict[str, Any]) -> Tensor:
    return Objective(model, **options)(g, targets, *ids).loss


def _record(model: Canonicalized, g: Any) -> Tree:
    record = model.canonicalize(g)
    found = {"parameters": record.parameters, "scores": record.scores, "answers": record.logits}
    others = {name: getattr(record, name) for name in ("mask", "determined", "known", "weights")}
    return found | {name: value for name, value in others.items() if value is not None} | {"forms": record.forms()}


def smooth(outputs: Tree) -> Tensor:
    """A scalar with other gradients everywhere."""
    return torch.stack([(leaf * leaf.detach().cos()).square().mean() for leaf in tensors(outputs)]).sum()


def _trained(model: nn.Module, loss: Tensor) -> dict[str, Tree]:
    loss.backward()
    gradients = {name: parameter.grad for name, parameter in model.named_parameters() if parameter.grad is not None}
    assert gradients or not list(model.parameters()), "no parameter has a gradient"
    return {"loss": loss.detach(), "gradients": gradients, "buffers": dict(model.named_buffers())}


def _reloaded(
    build: Callable[[], nn.Module], model: nn.Module, inputs: Callable[[], tuple[Any, ...]], move: Move
) -> dict[str, Tree]:
    """The checkpoint in a new model on the device, and in one on the CPU."""
    state = model.state_dict()
    answers = []
    for own in (move, lambda given: given):
        other = own(build())
        for parameter in other.parameters():
            nn.init.zeros_(parameter)
        other.load_state_dict(state)
        answers.append(other.eval()(*own(inputs())))
    return {"reloaded": answers[0], f"{ON_CPU}reloaded": answers[1]}
