"""What a method must return, and what came instead."""

from typing import Any

from torch import Tensor

from adacanon.core.pytree import Tree
from adacanon.testing.comparison import require, same_layout

SHOWN = 3
"""Parts of a tuple that are described, at most."""


def require_like(value: Any, like: Tree, call: str) -> None:
    """Raise AssertionError unless a call returned tensors in the structure and the shapes of ``like``."""
    require(same_layout(value, like), f"{call} must return {described(like)}, got {described(value)}")


def require_shape(value: Any, shape: tuple[int, ...], call: str) -> None:
    """Raise AssertionError unless a call returned a tensor of this shape."""
    fits = isinstance(value, Tensor) and tuple(value.shape) == shape
    require(fits, f"{call} must return a tensor of shape {shape}, got {described(value)}")


def described(value: Any) -> str:
    """A value in words.

    Example:
        >>> import torch
        >>> described((torch.zeros(2, 3), None))
        'a tuple of 2 (a tensor of shape (2, 3), None)'
    """
    if isinstance(value, Tensor):
        return f"a tensor of shape {tuple(value.shape)}"
    if isinstance(value, tuple | list):
        parts = [described(part) for part in value[:SHOWN]] + ["..."] * (len(value) > SHOWN)
        return f"a {type(value).__name__} of {len(value)} ({', '.join(parts)})"
    if isinstance(value, type):
        return f"the class {value.__name__}"
    return repr(value) if value is None or isinstance(value, int | float | str) else f"a {type(value).__name__}"
