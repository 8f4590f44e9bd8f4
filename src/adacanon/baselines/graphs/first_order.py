"""Hand-written derivatives that cannot be differentiated again say so."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import torch

from adacanon.errors import InputError


def first_order(backward: Callable[..., Any]) -> Callable[..., Any]:
    """The ``backward`` of an ``autograd.Function`` that computes with its saved tensors in ways that autograd does not
    follow; it refuses ``create_graph=True``.

    Torch's ``once_differentiable`` only refuses where the incoming gradient has a graph itself. Where it has none, as
    that of a sum, second derivatives would lack what goes through the saved tensors, without a word.
    """

    @wraps(backward)
    def refusing(ctx: Any, *gradients: Any) -> Any:
        if torch.is_grad_enabled():
            raise InputError(
                "This network has first derivatives only, and its gradient was to be differentiated again. "
                "Hint: leave out create_graph=True, or take finite differences of gradients"
            )
        return backward(ctx, *gradients)

    return refusing
