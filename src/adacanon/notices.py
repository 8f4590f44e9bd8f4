"""Warnings that belong to a line of the caller, however deep in the library their reason is found."""

import sys
import warnings
from types import FrameType


def warn_caller(message: str, *, repeated: bool = False) -> None:
    """Warn at the line outside adacanon and torch that led here.

    Args:
        message: what is so, what that means, and what to do.
        repeated: leave out Python's memory of warnings, which shows equal ones from one line only once.
    """
    frame = _calling_frame()
    memory = {} if repeated else frame.f_globals.setdefault("__warningregistry__", {})
    name = frame.f_globals.get("__name__")
    warnings.warn_explicit(message, UserWarning, frame.f_code.co_filename, frame.f_lineno, name, memory)


def _calling_frame() -> FrameType:
    frame = sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in ("adacanon", "torch"):
        frame = frame.f_back
    return frame
