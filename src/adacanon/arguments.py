"""Arguments of constructors: whole numbers and numbers, of Python, numpy or torch; anything else is refused."""

import math
import operator
from typing import Any, get_args

from adacanon.errors import InputError

MOST = 10**9
"""More candidates, steps or repetitions than this cannot be meant: a search over them would not end."""


def whole_number(
    owner: str, name: str, value: Any, *, least: int | None = None, most: int | None = None, hint: str = ""
) -> int:
    """An argument as an int.

    Args:
        owner: the class or function that was called, for the message.
        name: of the argument.
        value: what was given. 2.0 is refused too: who computes a number of things by a division rounds it on purpose.
        least: the smallest value that means something; None for any.
        most: the largest one.
        hint: what to give instead.

    Example:
        >>> whole_number("RandomSearch", "candidates", 2.5, least=1)
        Traceback (most recent call last):
            ...
        adacanon.errors.InputError: RandomSearch expects candidates to be a whole number, at least 1, got 2.5
    """
    number = None if isinstance(value, bool) or not hasattr(value, "__index__") else _index(value)
    if number is None or (least is not None and number < least):
        bound = "" if least is None else f", at least {least}"
        raise InputError(f"{owner} expects {name} to be a whole number{bound}, got {value!r}{_hinted(hint)}")
    if most is not None and number > most:
        raise InputError(f"{owner} expects {name} to be at most {most:,}, got {number:,}{_hinted(hint)}")
    return number


def real_number(owner: str, name: str, value: Any, *, least: float = -math.inf, hint: str = "") -> float:
    """An argument as a float; NaN is refused, infinity is not.

    Example:
        >>> real_number("SampleAndRefine", "step_size", "0.1")
        Traceback (most recent call last):
            ...
        adacanon.errors.InputError: SampleAndRefine expects step_size to be a number, got '0.1'
    """
    number = math.nan if isinstance(value, bool | str) else _float(value)
    if not number >= least:
        bound = "" if least == -math.inf else f", at least {least:g}"
        raise InputError(f"{owner} expects {name} to be a number{bound}, got {value!r}{_hinted(hint)}")
    return number


def set_whole_numbers(
    record: Any, *names: str, least: int | None = None, most: int | None = None, optional: bool = False, hint: str = ""
) -> None:
    """Check fields of a dataclass, frozen or not, and keep them as ints; None is left alone where they are optional.

    Example:
        >>> import numpy
        >>> from adacanon import RandomSearch
        >>> RandomSearch(numpy.int64(8))
        RandomSearch(candidates=8)
    """
    for name in names:
        value = getattr(record, name)
        if not (optional and value is None):
            number = whole_number(type(record).__name__, name, value, least=least, most=most, hint=hint)
            object.__setattr__(record, name, number)


def set_real_numbers(record: Any, *names: str, least: float = -math.inf) -> None:
    """The same for numbers, which stay what they are if they are Python's own."""
    for name in names:
        value = getattr(record, name)
        number = real_number(type(record).__name__, name, value, least=least)
        object.__setattr__(record, name, value if type(value) is int else number)


def set_flags(record: Any, *names: str) -> None:
    """Check fields of a dataclass that are yes or no, and keep them as bools.

    Example:
        >>> from adacanon import SampleAndRefine
        >>> SampleAndRefine(every="no")
        Traceback (most recent call last):
            ...
        adacanon.errors.InputError: SampleAndRefine expects every to be True or False, got 'no'
    """
    for name in names:
        object.__setattr__(record, name, flag(type(record).__name__, name, getattr(record, name)))


def flag(owner: str, name: str, value: Any) -> bool:
    """An argument that is yes or no, of Python or numpy."""
    if isinstance(value, bool) or type(value).__name__ in ("bool", "bool_"):
        return bool(value)
    raise InputError(f"{owner} expects {name} to be True or False, got {value!r}")


def is_name(value: Any, names: Any) -> bool:
    """Whether a value is one of the names of a ``Literal``; arrays, which compare one by one, are none.

    Example:
        >>> from typing import Literal
        >>> is_name("b", Literal["a", "b"]), is_name(["a"], Literal["a", "b"])
        (True, False)
    """
    return isinstance(value, str) and value in get_args(names)


def _index(value: Any) -> int | None:
    try:
        return operator.index(value)
    except TypeError:  # arrays of several numbers, or of floats
        return None


def _float(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, RuntimeError):
        return math.nan


def _hinted(hint: str) -> str:
    return f". Hint: {hint}" if hint else ""
