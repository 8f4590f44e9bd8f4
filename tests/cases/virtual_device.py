"""A second device on the CPU: its tensors hold CPU tensors and refuse every operation with one that is not theirs.

The device is torch's place for a backend that somebody adds, named ``virtual``. A tensor subclass stands for its
tensors, and a dispatch mode for ``torch.zeros(..., device="virtual")`` and the like. What real accelerators forbid is
forbidden: an operation of tensors on two devices (a CPU scalar of zero dimensions is allowed in arithmetic, as
everywhere), a generator of another device, and ``.numpy()``. CPU indices of a virtual tensor are refused too: torch
allows them on a GPU and copies them silently at every call.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_flatten, tree_map
from torch.utils.backend_registration import (
    _DummyBackendModule,
    _setup_privateuseone_for_python_backend,
)

NAME = "virtual"
_ATEN = torch.ops.aten
_MOVES = (_ATEN._to_copy.default, _ATEN.copy_.default)
"""What may see two devices."""


class _Module(_DummyBackendModule):
    """What torch asks of a device's module before it allows autocast."""

    def get_amp_supported_dtype(self) -> list[torch.dtype]:
        return [torch.bfloat16, torch.float16]

    def current_device(self) -> int:
        return 0


class MixedDevicesError(RuntimeError):
    """Tensors of two devices met."""


class VirtualTensor(Tensor):
    """Has the shape and type of a CPU tensor, which it holds, and another device."""

    held: Tensor

    @staticmethod
    def __new__(cls, held: Tensor) -> "VirtualTensor":
        wrapper = Tensor._make_wrapper_subclass(  # type: ignore[attr-defined]
            cls,
            held.size(),
            strides=held.stride(),
            storage_offset=held.storage_offset(),
            dtype=held.dtype,
            device=torch.device(NAME, 0),
        )
        wrapper.held = held
        return wrapper

    def __repr__(self, **_: Any) -> str:  # type: ignore[override]
        return f"Virtual({self.held!r})"

    def tolist(self) -> Any:
        """Numbers for Python, as on every device."""
        return self.detach().held.tolist()

    def __reduce_ex__(self, protocol: Any) -> Any:
        return VirtualTensor, (self.held,)

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


def _is_virtual(device: Any) -> bool:
    return device is not None and torch.device(device).type == NAME


def _computed(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """The operation on what the tensors hold, if they are all of one device."""
    leaves = tree_flatten((args, kwargs))[0]
    ours = any(isinstance(leaf, VirtualTensor) for leaf in leaves)
    asked = kwargs.get("device")
    target = _is_virtual(asked) if asked is not None else ours
    if func not in _MOVES:
        _check(func, leaves, target)
    elif func is _ATEN.copy_.default:
        target = isinstance(args[0], VirtualTensor)
    inner = {**kwargs, "device": torch.device("cpu")} if _is_virtual(asked) else kwargs
    plain_args, plain_kwargs = tree_map(_held, (args, inner))
    if inner.get("layout") is torch.jagged:
        raise NotImplementedError("Virtual tensors are dense")
    found = func(*plain_args, **plain_kwargs)
    if not target:
        if func is _ATEN._to_copy.default and any(found is leaf for leaf in tree_flatten(plain_args)[0]):
            return found.clone()
        return found
    known = {id(leaf.held): leaf for leaf in leaves if isinstance(leaf, VirtualTensor)}
    return tree_map(lambda leaf: known.get(id(leaf)) if id(leaf) in known else _wrapped(leaf), found)


def _check(func: Any, leaves: list[Any], target: bool) -> None:
    tensors = [leaf for leaf in leaves if isinstance(leaf, Tensor)]
    strangers = [leaf for leaf in tensors if isinstance(leaf, VirtualTensor) != target]
    if any(leaf.dim() > 0 for leaf in strangers):
        devices = ", ".join(f"{tuple(leaf.shape)} on {leaf.device}" for leaf in tensors)
        raise MixedDevicesError(f"{func} expected all tensors on one device, got {devices}")
    if target and any(isinstance(leaf, torch.Generator) for leaf in leaves):
        raise MixedDevicesError(f"{func} expected a generator of the virtual device, got one of the CPU")


def _held(leaf: Any) -> Any:
    return leaf.held if isinstance(leaf, VirtualTensor) else leaf


def _wrapped(leaf: Any) -> Any:
    return VirtualTensor(leaf) if isinstance(leaf, Tensor) else leaf


_registered = False


def _register() -> None:
    global _registered
    if not _registered:
        _setup_privateuseone_for_python_backend(NAME, _Module())
        _registered = True


@contextmanager
def virtual_device() -> Iterator[torch.device]:
    """Within this block, ``device`` is a second device, and tensors can be made on it and moved to it."""
    _register()
    with _Factories():
        yield torch.device(NAME, 0)


def moved(module: nn.Module) -> nn.Module:
    """The module with all its parameters and buffers on the virtual device, in place."""
    for part in module.modules():
        for name, parameter in part._parameters.items():
            if parameter is not None:
                held = VirtualTensor(parameter.detach().clone())
                part._parameters[name] = nn.Parameter(held, requires_grad=parameter.requires_grad)
        for name, buffer in part._buffers.items():
            if buffer is not None:
                part._buffers[name] = VirtualTensor(buffer.detach().clone())
    return module
