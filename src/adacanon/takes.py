"""Arguments of constructors, told once above them: :func:`takes` checks what is given and hands on what it means."""

import functools
import inspect
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from adacanon.arguments import MOST, real_number, whole_number
from adacanon.errors import InputError

P = ParamSpec("P")
R = TypeVar("R")

Check = Callable[[str, str, Any], Any]
"""From the owner and the name of an argument, for the message, and what was given, to the argument as it is used."""


def takes(**checks: Check) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A function or constructor whose arguments of these names are checked before it runs.

    Example:
        >>> @takes(width=whole(1), dropout=share)
        ... def layer(width, dropout=0.5):
        ...     return width, dropout
        >>> layer(4)
        (4, 0.5)
        >>> layer(4, dropout=1.5)
        Traceback (most recent call last):
            ...
        adacanon.errors.InputError: layer expects dropout to be a share between 0 and 1, got 1.5
    """

    def checked(function: Callable[P, R]) -> Callable[P, R]:
        signature = inspect.signature(function)
        owner = function.__qualname__.removesuffix(".__init__").rpartition(".")[2]

        @functools.wraps(function)
        def called(*args: P.args, **kwargs: P.kwargs) -> R:
            try:
                given = signature.bind(*args, **kwargs)
            except TypeError:  # missing or unknown arguments, of which Python itself tells best
                return function(*args, **kwargs)
            for name, check in checks.items():
                if name in given.arguments:
                    given.arguments[name] = check(owner, name, given.arguments[name])
            return function(*given.args, **given.kwargs)  # type: ignore[arg-type]

        return called

    return checked


def whole(least: int | None = None) -> Check:
    """A whole number, of Python, numpy or torch; more than a thousand million cannot be meant."""
    return lambda owner, name, value: whole_number(owner, name, value, least=least, most=MOST)


def several(least: int = 1) -> Check:
    """Whole numbers in a list, a tuple or anything else that has an order; a tuple comes out.

    Example:
        >>> several()("PointNet", "widths", "64")
        Traceback (most recent call last):
            ...
        adacanon.errors.InputError: PointNet expects widths to be whole numbers in a sequence, got '64'
    """

    def check(owner: str, name: str, value: Any) -> tuple[int, ...]:
        return tuple(whole(least)(owner, name, one) for one in in_order(owner, name, value, what="whole numbers"))

    return check


def number(least: float) -> Check:
    """A number, which may be infinite."""
    return lambda owner, name, value: real_number(owner, name, value, least=least)


def share(owner: str, name: str, value: Any) -> float:
    """A number between 0 and 1, such as a dropout."""
    try:
        return _between(owner, name, value)
    except InputError as error:
        raise InputError(f"{owner} expects {name} to be a share between 0 and 1, got {value!r}") from error


def text(owner: str, name: str, value: Any) -> str:
    """A name, which is looked up by whoever asks."""
    if not isinstance(value, str):
        raise InputError(f"{owner} expects {name} to be a text, got {value!r}")
    return value


def instance(kind: type, example: str, *, optional: bool = False) -> Check:
    """An object of a class; None too where it may be left out."""

    def check(owner: str, name: str, value: Any) -> Any:
        if isinstance(value, kind) or (optional and value is None):
            return value
        raise InputError(f"{owner} expects {name} to be a {kind.__name__}, got {value!r}. Hint: {example}")

    return check


def in_order(owner: str, name: str, value: Any, *, what: str) -> tuple[Any, ...]:
    """The parts of a sequence, an array or a tensor; a text, a set or a dictionary is none."""
    one_by_one = hasattr(value, "__getitem__") and hasattr(value, "__len__") and not isinstance(value, type)
    if not one_by_one or isinstance(value, str | bytes | dict) or getattr(value, "ndim", 1) != 1:
        raise InputError(f"{owner} expects {name} to be {what} in a sequence, got {value!r}")
    return tuple(value)


def _between(owner: str, name: str, value: Any) -> float:
    number = real_number(owner, name, value, least=0.0)
    if number > 1:
        raise InputError(f"{owner} expects {name} to be at most 1, got {value!r}")
    return number
