"""A network in evaluation mode, while other threads may train it.

A search runs in evaluation mode inside a training step, so the flags of the network have to differ for a while. Another
thread that runs the same network must not see that. Therefore the search gets a twin: other module objects around the
same parameters, buffers and everything else, whose flags are down. The flags of the network itself are not touched.
"""

import types
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from enum import Enum
from functools import partial
from numbers import Number
from threading import RLock
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.lazy import LazyModuleMixin

Network = Callable[..., Tensor]

_ATOMS = (type(None), str, bytes, Number, Enum, Tensor, type, types.ModuleType, types.BuiltinFunctionType)
_COMMON = frozenset((type(None), bool, int, float, str, Tensor, nn.Parameter))
"""The same, where no look at base classes is needed."""

_CONTAINERS = frozenset((dict, OrderedDict, list, tuple, set, frozenset))
"""Most attributes of a module are such ones, and empty."""

_OWN = ("_parameters", "_buffers")
"""Attributes of a module that hold no modules and that a twin shares with it as they are."""

_locks: "weakref.WeakKeyDictionary[nn.Module, Any]" = weakref.WeakKeyDictionary()


@contextmanager
def in_evaluation_mode(network: Network) -> Iterator[Network]:
    """The network as it is in evaluation mode; what has no modules is called as it is.

    A network that is in evaluation mode already is used itself, and one in training mode by a twin. A network of which
    no twin can be made, because something in it refers to its modules in a way that cannot be followed (a compiled or
    scripted network, a closure), has its flags lowered instead, under its lock.
    """
    modules = _modules(network)
    if not modules:
        yield network
        return
    with _lock_of(network):  # nobody has lowered the flags just now
        twins = _twins(modules) if any(module.training for module in modules) else {id(network): network}
        if not twins:
            with _flags_down(modules):
                yield network
    if twins:
        yield twins[id(network)]


@contextmanager
def in_its_own_mode(network: Network) -> Iterator[None]:
    """Keep searches by other threads, and their lowered flags, out while a network runs that may be in training."""
    modules = _modules(network)
    with _lock_of(network) if modules else nullcontext():
        training = any(module.training for module in modules)
        if training:
            yield
    if not training:
        yield


def _modules(network: Network) -> list[nn.Module]:
    return list(network.modules()) if isinstance(network, nn.Module) else []


def _lock_of(network: Any) -> Any:
    return _locks.setdefault(network, RLock())


@contextmanager
def _flags_down(modules: list[nn.Module]) -> Iterator[None]:
    flags = [module.training for module in modules]
    for module in modules:
        module.training = False  # the flag alone: train() may do more, such as merging adapters
    try:
        yield
    finally:
        for module, flag in zip(modules, flags, strict=True):
            module.training = flag


class _OutOfReachError(Exception):
    """Something refers to a module of the network and cannot be made to refer to its twin."""


def _twins(modules: list[nn.Module]) -> dict[int, nn.Module] | None:
    """The twin of every module by the id of the module, or None if there are none."""
    if not all(_is_plain(module) for module in modules):
        return None
    twins = {id(module): type(module).__new__(type(module)) for module in modules}
    try:
        for module in modules:
            state = {
                name: value if name in _OWN else _twinned(value, twins, {}) for name, value in vars(module).items()
            }
            vars(twins[id(module)]).update(state, training=False)
    except _OutOfReachError:
        return None
    return twins


def _is_plain(module: nn.Module) -> bool:
    """Whether all that a module is stands in its dictionary."""
    slots = any(getattr(kind, "__slots__", ()) for kind in type(module).__mro__)
    other = isinstance(module, torch.jit.ScriptModule | LazyModuleMixin)  # a lazy module becomes another class
    return "training" in vars(module) and not slots and not other


def _twinned(value: Any, twins: dict[int, nn.Module], seen: dict[int, Any]) -> Any:
    """The same with twins in the place of modules; the same object if there are none in it."""
    if type(value) in _COMMON or (type(value) in _CONTAINERS and not value) or isinstance(value, _ATOMS):
        return value
    if id(value) in twins:
        return twins[id(value)]
    if id(value) in seen:
        return seen[id(value)]
    seen[id(value)] = value
    parts = _parts(value)
    if not parts:
        return value
    twinned = [_twinned(part, twins, seen) for part in parts]
    if all(new is old for new, old in zip(twinned, parts, strict=True)):
        return value
    return _rebuilt(value, twinned)


def _parts(value: Any) -> list[Any]:
    """What an object refers to."""
    if isinstance(value, dict):
        return list(value.values())
    if isinstance(value, list | tuple | set | frozenset):
        return list(value)
    if isinstance(value, types.MethodType):
        return [value.__self__]
    if isinstance(value, partial):
        return [value.func, *value.args, *value.keywords.values()]
    if isinstance(value, weakref.ref):
        return [value()]
    if isinstance(value, types.FunctionType):
        cells = [cell.cell_contents for cell in value.__closure__ or () if cell != types.CellType()]
        return [*cells, *(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values()]
    return list(getattr(value, "__dict__", {}).values())


def _rebuilt(value: Any, parts: list[Any]) -> Any:
    """Containers and methods can be made anew around twins."""
    if type(value) in (list, tuple, set, frozenset):
        return type(value)(parts)
    if isinstance(value, dict):
        return type(value)(zip(value, parts, strict=True))
    if isinstance(value, types.MethodType):
        return types.MethodType(value.__func__, parts[0])
    raise _OutOfReachError
