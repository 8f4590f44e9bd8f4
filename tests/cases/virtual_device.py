"""A second device on the CPU: its tensors hold CPU tensors and refuse every operation with one that is not theirs.

The device is torch's place for a backend that somebody adds, named ``virtual``. A tensor subclass stands for its
tensors, and a dispatch mode for ``torch.zeros(..., device="virtual")`` and the like. The arithmetic is that of the CPU.

What accelerators forbid is forbidden: an operation of tensors on two devices, a generator of another device, and
``.numpy()``. CPU numbers of zero dimensions may enter arithmetic, as everywhere in torch. CPU indices of a virtual
tensor are refused too: torch allows them on a GPU, and copies them at every call.

What accelerators allow but pay for is written down: every copy from one device to the other, with the function of the
library that made it (:class:`Move`).

Registering the device changes torch for the whole process: call :func:`register` in a process of its own, before
autograd has run for the first time.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map
from torch.utils.backend_registration import _DummyBackendModule, _setup_privateuseone_for_python_backend

NAME = "virtual"
PARTS = ("adacanon.", "cases.on_any_device.wrong_models")
"""Modules whose copies between devices are written down by the name of the function."""
TO_CPU, FROM_CPU = "to the CPU", "from the CPU"
_ATEN = torch.ops.aten
_COPIES = (_ATEN._to_copy.default, _ATEN.copy_.default)
"""What may see two devices."""
_LISTS = (_ATEN.cat.default, _ATEN.stack.default)
"""What takes no CPU numbers among tensors of another device."""


class MixedDevicesError(RuntimeError):
    """Tensors of two devices met."""


class Move(NamedTuple):
    """A copy from one device to the other, and the innermost function of the library around it."""

    direction: str
    place: str


moves: list[Move] = []
"""All copies so far; a caller may clear it."""


class _Module(_DummyBackendModule):
    """What torch asks of a device's module before it allows autocast and forks of random states."""

    def get_amp_supported_dtype(self) -> list[torch.dtype]:
        return [torch.bfloat16, torch.float16]

    def current_device(self) -> int:
        return 0


class VirtualTensor(Tensor):
    """Has the shape and type of a CPU tensor, which it holds, and another device."""

    held: Tensor

    @staticmethod
    def __new__(cls, held: Tensor) -> "VirtualTensor":
        dense = held.layout is torch.strided  # a sparse tensor passes for a dense one; operations see what it holds
        places = {"strides": held.stride(), "storage_offset": held.storage_offset()} if dense else {}
        device = torch.device(NAME, 0)
        wrapper = Tensor._make_wrapper_subclass(cls, held.size(), dtype=held.dtype, device=device, **places)  # type: ignore[attr-defined]
        wrapper.held = held
        return wrapper

    def __repr__(self, **_: Any) -> str:  # type: ignore[override]
        return f"Virtual({self.held!r})"

    def tolist(self) -> Any:
        """Numbers for Python: a copy to the CPU, as on every device."""
        _note(TO_CPU)
        return self.detach().held.tolist()

    def __deepcopy__(self, memo: dict[int, Any]) -> "VirtualTensor":
        copied = VirtualTensor(self.detach().held.clone()).requires_grad_(self.requires_grad)
        memo[id(self)] = copied
        return copied

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _computed(func, args, kwargs or {})


class _Factories(TorchDispatchMode):
    """Tensors that are made on the device by name."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if _is_virtual(kwargs.get("device")):
            return _computed(func, args, kwargs)
        return func(*args, **kwargs)


class _Literals(TorchFunctionMode):
    """Tensors that are made of Python numbers on the device, which torch makes on the CPU and copies by itself."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func in (Tensor.__getitem__, Tensor.__setitem__) and isinstance(args[0], VirtualTensor):
            _check_index(args[1])
        likeness = args[0] if func is Tensor.new_tensor else None
        if func not in (torch.tensor, torch.as_tensor, Tensor.new_tensor):
            return func(*args, **kwargs)
        device = kwargs.get("device", None if likeness is None else likeness.device)
        if not _is_virtual(device) or any(isinstance(leaf, VirtualTensor) for leaf in tree_leaves(args[-1])):
            return func(*args, **kwargs)
        if isinstance(args[-1], Tensor):
            return args[-1].to(device, kwargs.get("dtype"))
        dtype = kwargs.get("dtype", None if likeness is None else likeness.dtype)
        return VirtualTensor(torch.tensor(args[-1], dtype=dtype)).requires_grad_(kwargs.get("requires_grad", False))


def _check_index(index: Any) -> None:
    if any(isinstance(part, list) for part in (index if isinstance(index, tuple) else (index,))):
        raise MixedDevicesError(
            f"A list is an index on the CPU, of which torch makes a copy at every call, in {_place()}"
        )


def _is_virtual(device: Any) -> bool:
    return device is not None and torch.device(device).type == NAME


def _computed(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """The operation on what the tensors hold, if they are all of one device."""
    leaves = _leaves((*args, *kwargs.values()))
    asked = kwargs.get("device")
    ours = any(isinstance(leaf, VirtualTensor) for leaf in leaves)
    target = _is_virtual(asked) if asked is not None else ours
    if func in _COPIES:
        target = isinstance(args[0], VirtualTensor) if func is _ATEN.copy_.default else target
        _note_copy(args[1] if func is _ATEN.copy_.default else args[0], target)
    else:
        _check(func, args, leaves, target, free=asked is not None)
    inner = {**kwargs, "device": torch.device("cpu")} if _is_virtual(asked) else kwargs
    found = func(*map(_held, args), **{name: _held(value) for name, value in inner.items()})
    if not target:
        return found
    known = {id(leaf.held): leaf for leaf in leaves if isinstance(leaf, VirtualTensor)}
    return _wrapped(found, known)


def _check(func: Any, args: Any, leaves: list[Any], target: bool, *, free: bool) -> None:
    """``free`` operations name the device of what they make, such as ``x.new_zeros(3, device=...)``."""
    tensors = [] if free else [leaf for leaf in leaves if isinstance(leaf, Tensor)]
    strangers = [leaf for leaf in tensors if isinstance(leaf, VirtualTensor) != target]
    written = _written(func, args) if strangers else []
    if any(leaf.dim() > 0 or func in _LISTS or any(leaf is one for one in written) for leaf in strangers):
        devices = ", ".join(f"{tuple(leaf.shape)} on {leaf.device}" for leaf in tensors)
        raise MixedDevicesError(f"{func} expected all tensors on one device, got {devices}, in {_place()}")
    if target and any(isinstance(leaf, torch.Generator) for leaf in leaves):
        raise MixedDevicesError(f"{func} expected a generator of the virtual device, got one of the CPU, in {_place()}")


def _written(func: Any, args: Any) -> list[Any]:
    """The arguments that an operation in place writes to."""
    told = [argument.alias_info for argument in func._schema.arguments]
    return [arg for arg, alias in zip(args, told, strict=False) if alias is not None and alias.is_write]


def _leaves(values: Any) -> list[Any]:
    """Arguments of operations are tensors, numbers, or lists of them."""
    found = []
    for value in values:
        found += value if isinstance(value, list | tuple) else [value]
    return found


def _held(value: Any) -> Any:
    if isinstance(value, VirtualTensor):
        return value.held
    return [_held(part) for part in value] if isinstance(value, list | tuple) else value


def _wrapped(value: Any, known: dict[int, VirtualTensor]) -> Any:
    if isinstance(value, Tensor):
        return known.get(id(value)) if id(value) in known else VirtualTensor(value)
    return tree_map(lambda leaf: _wrapped(leaf, known), value) if isinstance(value, list | tuple) else value


def _note_copy(source: Tensor, target: bool) -> None:
    if isinstance(source, VirtualTensor) != target:
        _note(FROM_CPU if target else TO_CPU)


def _note(direction: str) -> None:
    moves.append(Move(direction, _place()))


def _place() -> str:
    """The innermost function of the library on the stack."""
    frame: Any = sys._getframe()
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if module.startswith(PARTS):
            function = frame.f_code.co_qualname.split(".<locals>")[0]
            return f"{module.removeprefix('adacanon.')}.{function}"
        frame = frame.f_back
    return "outside the library"


def register() -> None:
    """Add the device to this process, for good."""
    _setup_privateuseone_for_python_backend(NAME, _Module())


@contextmanager
def virtual_device() -> Iterator[torch.device]:
    """Within this block, ``device`` is a second device, and tensors can be made on it and moved to it."""
    with _Factories(), _Literals():
        yield torch.device(NAME, 0)
