"""Library, inputs: wrong shapes, types, numbers and containers for every family's default model."""

import copy
import math
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Batch, Data

from adacanon.core.pytree import tensors
from benchmarks.fuzz import models
from benchmarks.fuzz.draw import Draw
from benchmarks.fuzz.hostile import hostile
from benchmarks.fuzz.judging import RefusedError, SilentlyWrongError, StateChangedError
from benchmarks.fuzz.models import CASES, graph, model_of

ON_TENSORS = sorted(name for name, case in CASES.items() if not name.startswith(("graphs", "nodes")))
ON_GRAPHS = sorted(name for name in CASES if name.startswith(("graphs", "nodes")))
DTYPES = (torch.float16, torch.bfloat16, torch.float64, torch.int64, torch.uint8, torch.bool, torch.complex64)
NUMBERS = (math.nan, math.inf, -math.inf, 1e30, -1e38, 1e-40, 0.0)


def some_numbers(draw: Draw, x: Tensor) -> Tensor:
    """One number, a row or everything is replaced."""
    x, value = x.clone(), draw.pick(NUMBERS)
    flat = x.view(-1)
    first = draw.whole(0, flat.numel() - 1)
    flat[first : first + draw.pick([1, 3, flat.numel()])] = value
    return x


def other_shape(draw: Draw, x: Tensor) -> Tensor:
    axis = draw.whole(0, x.dim() - 1)
    ways: tuple[Callable[[], Tensor], ...] = (
        lambda: x.unsqueeze(axis),
        lambda: x.select(axis, 0),
        lambda: x.narrow(axis, 0, 0),
        lambda: x.narrow(axis, 0, 1),
        lambda: x.transpose(axis, -1),
        lambda: x.flatten(),
        lambda: x.repeat_interleave(2, axis),
        lambda: x.sum(),
    )
    return draw.pick(ways)()


def other_layout(draw: Draw, x: Tensor) -> Any:
    ways: tuple[Callable[[], Any], ...] = (
        lambda: x.to_sparse(),
        lambda: x.to("meta"),
        lambda: x.mT.contiguous().mT,
        lambda: x[:1].expand_as(x),
        lambda: x.clone().requires_grad_(),
        lambda: torch.nn.Parameter(x.clone()),
        lambda: x.flip(0),
        lambda: x.conj(),
    )
    return draw.pick(ways)()


def other_container(draw: Draw, x: Tensor) -> Any:
    ways: tuple[Callable[[], Any], ...] = (
        lambda: x.numpy(),
        lambda: x.tolist(),
        lambda: [x],
        lambda: (x,),
        lambda: (x, x),
        lambda: (x, torch.ones(x.shape[:2], dtype=torch.bool)),
        lambda: (x, torch.zeros(x.shape[:2], dtype=torch.bool)),
        lambda: (x, None),
        lambda: {"x": x},
        lambda: np.asfortranarray(x.numpy()),
        lambda: hostile(draw),
    )
    return draw.pick(ways)()


CHANGES = (
    some_numbers,
    some_numbers,
    other_shape,
    other_layout,
    other_container,
    lambda draw, x: x.to(draw.pick(DTYPES)),
)


def wrong_tensors(draw: Draw) -> None:
    """Refused, or answered with numbers that every single input gets too; the caller's tensors stay."""
    name = draw.pick(ON_TENSORS)
    x = CASES[name].inputs(draw)
    answered(name, draw.pick(CHANGES)(draw, x), draw)


def wrong_graphs(draw: Draw) -> None:
    """The same for graphs."""
    name = draw.pick(ON_GRAPHS)
    data = [graph(draw) for _ in range(2)]
    changed = draw.pick(data)
    change = draw.pick(GRAPH_CHANGES)
    change(draw, changed)
    ways: tuple[Callable[[], Any], ...] = (lambda: data, lambda: changed, lambda: _batch(data), lambda: hostile(draw))
    answered(name, draw.pick((*ways[:2], *ways))(), draw)


def _batch(data: list[Data]) -> Batch:
    try:
        return Batch.from_data_list(data)
    except Exception as error:  # torch-geometric itself refuses to join them, before anything of ours is called
        raise RefusedError(str(error)) from error


def _set(name: str, value: Callable[[Draw, Data], Any]) -> Callable[[Draw, Data], None]:
    return lambda draw, data: data.__setattr__(name, value(draw, data))


GRAPH_CHANGES: tuple[Callable[[Draw, Data], None], ...] = (
    _set("x", lambda draw, data: some_numbers(draw, data.x)),
    _set("x", lambda draw, data: other_shape(draw, data.x)),
    _set("x", lambda draw, data: data.x.to(draw.pick(DTYPES))),
    _set("x", lambda draw, data: None),
    _set("x", lambda draw, data: hostile(draw)),
    _set("edge_index", lambda draw, data: data.edge_index.to(draw.pick(DTYPES))),
    _set("edge_index", lambda draw, data: data.edge_index + draw.pick([-1, 1, 10**12])),
    _set("edge_index", lambda draw, data: data.edge_index.float() + 0.4),
    _set("edge_index", lambda draw, data: other_shape(draw, data.edge_index)),
    _set("edge_index", lambda draw, data: data.edge_index[:, :0]),
    _set("edge_index", lambda draw, data: torch.cat([data.edge_index] * 2, 1)),
    _set("edge_index", lambda draw, data: hostile(draw)),
    _set("num_nodes", lambda draw, data: draw.pick([0, 1, 50, -1, None])),
    _set("edge_weight", lambda draw, data: draw.normal(data.edge_index.shape[1])),
    _set("edge_attr", lambda draw, data: draw.normal(data.edge_index.shape[1], 1)),
)


def wrong_options(draw: Draw) -> None:
    """Arguments of a call: ids, budget, generator."""
    name = draw.pick(sorted(CASES))
    model, g = model_of(name), CASES[name].inputs(draw)
    options = {draw.pick(["ids", "budget", "generator"]): hostile(draw)}
    with torch.no_grad():
        draw.pick([model, model.canonicalize])(g, **options)


def other_precision(draw: Draw) -> None:
    """A model in another precision works, near to the answer in float32, or is refused."""
    name, dtype = draw.pick(sorted(CASES)), draw.pick([torch.float16, torch.bfloat16, torch.float64])
    model, g = model_of(name), CASES[name].inputs(draw)
    with torch.random.fork_rng(devices=[]):
        other = copy.deepcopy(model).to(dtype)
    with torch.no_grad():
        answer = other(g.to(dtype) if isinstance(g, Tensor) else g)
        if draw.chance(0.5):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                model(g)
    if not bool(answer.isfinite().all()):
        raise SilentlyWrongError(f"{name} in {dtype} answers with numbers that are not finite")


def answered(name: str, g: Any, draw: Draw) -> None:
    """Ask the model, and hold the answer against what it must be."""
    model, before = model_of(name), copy.deepcopy(g) if not _is_leafless(g) else None
    with torch.no_grad():
        try:
            answer = model(g)
        except (RuntimeError, TypeError) as error:
            if _of_the_network(error):
                raise RefusedError("the network that the user brought") from error
            raise
        if before is not None and not _same(before, g):
            raise StateChangedError(f"{name} changed the caller's input")
        if not bool(answer.isfinite().all()):
            raise SilentlyWrongError(f"{name} answers with numbers that are not finite")
        if isinstance(g, Tensor) and len(g) > 1 and answer.shape[0] == len(g):
            alone = torch.cat([model(g[i : i + 1]) for i in range(len(g))])
            if not torch.allclose(alone, answer, atol=1e-3, rtol=1e-3):
                raise SilentlyWrongError(f"{name}: a single input is answered otherwise than in a batch")


def _of_the_network(error: BaseException) -> bool:
    """Raised by the network on a form that the family could not know to be wrong, such as other channels; or with the
    documented note that input and network are of different types, or that a network takes no tuples.
    """
    notes = " ".join(getattr(error, "__notes__", ()))
    frames = traceback.extract_tb(error.__traceback__)
    own = any(frame.filename == models.__file__ for frame in frames)
    plain = any(frame.name == "evaluate" for frame in frames) and frames[-1].name == "_conv_forward"
    return "The input is of" in notes or "was called with one argument" in notes or own or plain


def _is_leafless(g: Any) -> bool:
    return not tensors(g) and not isinstance(g, np.ndarray)


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, np.ndarray):
        return np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
    pairs = zip(tensors(a), tensors(b), strict=True)
    return all(
        x.is_meta or (torch.equal(_dense(x), _dense(y)) and x.requires_grad == y.requires_grad) for x, y in pairs
    )


def _dense(x: Tensor) -> Tensor:
    x = x.detach().to_dense() if x.layout != torch.strided else x.detach()
    return x.nan_to_num(nan=1.5e-7) if x.is_floating_point() else x


KINDS = {
    "inputs, tensors": (wrong_tensors, 8),
    "inputs, graphs": (wrong_graphs, 5),
    "inputs, options": (wrong_options, 3),
    "inputs, precision": (other_precision, 1),
}
