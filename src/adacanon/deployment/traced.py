"""Programs out of modules, for batches of any size."""

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.export import Dim, ExportedProgram
from torch.utils._pytree import tree_map

from adacanon.core.pytree import Tree, map_tensors
from adacanon.errors import ExportError

LOGGERS = ("torch.onnx", "torch.export", "torch._export", "torch.fx", "onnxscript")
BATCH = Dim("batch", min=1)

HINT = (
    "Hint: a program knows the shapes of its inputs but not their values, and not the size of the batch. Look for "
    "branches and loops that depend on them, such as if x.sum() > 0, x[mask], len(x) (write x.shape[0]) or .item()"
)


@contextmanager
def quietly() -> Iterator[None]:
    """Without the notes that torch writes about its own inner workings while it traces."""
    levels = {name: logging.getLogger(name).level for name in LOGGERS}
    try:
        for name in LOGGERS:
            logging.getLogger(name).setLevel(logging.ERROR)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)


def traced(module: nn.Module, *arguments: tuple[Tree, int], what: str) -> ExportedProgram:
    """The program of a module.

    Args:
        arguments: pairs of an example and the axis of the batch in its tensors.
        what: is traced, the beginning of a sentence.
    """
    shapes = tuple(map_tensors(lambda leaf, axis=axis: {axis: BATCH}, example) for example, axis in arguments)
    examples = tuple(example for example, _ in arguments)
    try:
        return torch.export.export(module, examples, dynamic_shapes=shapes)
    except Exception as error:  # torch raises errors of many kinds, of its own and of the code that it follows
        raise ExportError(f"{what} cannot be turned into a program: {_reason(error)}. {HINT}") from error


def as_module(program: ExportedProgram) -> nn.Module:
    """A program that other programs can call, also inside their loops."""
    module = program.module()
    for part in module.modules():
        if isinstance(part, torch.fx.GraphModule):
            part.graph.eliminate_dead_code()
            part.recompile()
        for name, value in [(name, value) for name, value in vars(part).items() if isinstance(value, Tensor)]:
            delattr(part, name)  # a constant: a loop takes tensors that belong to the program only
            part.register_buffer(name, value)
    return module


def two_or_more(g: Any) -> Any:
    """A batch of at least two rows: tracing takes the size 1 for a constant."""
    return tree_map(lambda leaf: torch.cat([leaf, leaf]) if isinstance(leaf, Tensor) and len(leaf) == 1 else leaf, g)


def _reason(error: Exception) -> str:
    """The first line of what torch says."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0].rstrip(".") if lines else type(error).__name__
