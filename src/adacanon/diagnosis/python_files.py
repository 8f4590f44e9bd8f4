"""Functions of a user's own Python, from a file or a module, with errors that name the line in it."""

import importlib
import importlib.util
import inspect
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from adacanon.errors import AdacanonError, DataError, InputError, UnknownNameError


def imported_file(file: Path) -> ModuleType:
    """A file as a module; what lies beside it can be imported in it, as in a script."""
    if not file.is_file():
        raise DataError(f"{file} is missing. Hint: a Python file and a function in it, models.py:network")
    _look_in(file.resolve().parent)
    name = f"_brought_{file.stem}"
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look themselves up there
    with own_errors(f"{file}"):
        spec.loader.exec_module(module)
    return module


def imported_module(name: str) -> ModuleType:
    """A module by its dotted name, also from the folder in which the command runs."""
    _look_in(Path.cwd())
    with own_errors(name):
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{name}.".startswith(f"{error.name}."):
                raise  # the module is there, and lacks something itself
            raise UnknownNameError(
                f"There is no module {name}. Hint: install it, or name the file, path/to/file.py:function"
            ) from error


def called(factory: Callable[[], Any], name: str) -> Any:
    """What a function without arguments returns."""
    needed = _arguments(factory)
    if needed:
        raise InputError(
            f"{name} needs arguments ({', '.join(needed)}), expected a function without any. Hint: write one in a "
            "file, def network(): return ..., and name it, file.py:network"
        )
    with own_errors(name):
        return factory()


def _arguments(factory: Callable[..., Any]) -> list[str]:
    """Those without a default."""
    try:
        parameters = inspect.signature(factory).parameters.values()
    except (ValueError, TypeError):  # some builtin functions do not say
        return []
    optional = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [p.name for p in parameters if p.default is p.empty and p.kind not in optional]


@contextmanager
def own_errors(name: str) -> Iterator[None]:
    """An error of the user's code becomes one that says where in that code it came from."""
    try:
        yield
    except AdacanonError:
        raise
    except Exception as error:  # the code is not ours and may raise anything
        raise InputError(f"{name} failed: {type(error).__name__}: {error}{_place(error)}") from error


def _place(error: Exception) -> str:
    """The line nearest to the error outside of libraries."""
    if isinstance(error, SyntaxError):
        return f" ({error.filename}, line {error.lineno})"
    frames = traceback.extract_tb(error.__traceback__)
    here = str(Path(__file__).parent)
    own = [f for f in frames if not (f.filename.startswith(("<", here)) or "site-packages" in f.filename)]
    own = [f for f in own if not f.filename.startswith(str(Path(importlib.__file__).parent))]
    return f" ({own[-1].filename}, line {own[-1].lineno}: {own[-1].line})" if own else ""


def _look_in(folder: Path) -> None:
    if str(folder) not in sys.path:  # as python -m does
        sys.path.insert(0, str(folder))
