"""Local refinement of transformations by gradient ascent (paper: Algorithm 1, ``GD_Step``)."""

import math
from typing import Literal, Protocol, get_args

import torch
from torch import Tensor

from adacanon.arguments import MOST, is_name, set_real_numbers, set_whole_numbers
from adacanon.core.landscape import Landscape
from adacanon.core.maximizer import SearchResult
from adacanon.core.pytree import Tree, add, flatten_leading, map_tensors, owners, scale, tensors, unflatten_leading
from adacanon.core.space import Space
from adacanon.errors import InputError
from adacanon.maximizers.selection import better

Method = Literal["riemannian", "projected"]


class Climbing(Protocol):
    """The settings of what climbs, a search or a stage of one."""

    @property
    def steps(self) -> int: ...

    @property
    def step_size(self) -> float: ...


def check_ascent(climbing: Climbing, method: str = "riemannian") -> None:
    """Refuse settings that mean nothing."""
    set_whole_numbers(climbing, "steps", least=0, most=MOST)
    set_real_numbers(climbing, "step_size")
    if not 0 < climbing.step_size < math.inf or not is_name(method, Method):
        raise InputError(
            f"{type(climbing).__name__} needs step_size > 0 and a method of {', '.join(get_args(Method))}, "
            f"got step_size={climbing.step_size}, method={method!r}"
        )


def climb(
    landscape: Landscape,
    start: Tree,
    *,
    steps: int,
    step_size: float,
    method: Method = "riemannian",
    form: Tensor | None = None,
) -> SearchResult:
    r"""Ascend from points (count, batch, n, *point) and keep the best point of each path, the start included.

    Point j of an input is one of its form j, or of ``form[input, j]``.

    Step t of n has length :math:`\eta_t = \eta\,(1 - t/n)`. With v the ambient gradient and w its tangent part,
    it goes to :math:`\mathrm{retract}_u(\eta_t\,w/|w|)` (Riemannian), or to :math:`\mathrm{project}(u + \alpha v)` with
    :math:`\alpha = \min(\eta_t/|w|, \eta/|v|)` (projected). The steps do not wait for an improvement: a path that may
    refuse steps is a discontinuous function of the input.

    Returns:
        the best points in the shape of ``start``, and their values.
    """
    count, batch, chosen = shape = tensors(start)[0].shape[:3]
    owner = owners(batch, chosen, tensors(start)[0].device, count=count)
    space = landscape.space.select(owner)
    value, gradient = landscape.value_and_gradient(start, form)
    diameter = torch.as_tensor(space.diameter, device=value.device).to(value.dtype)
    length = step_size * diameter.expand(owner.shape[0]).reshape(shape)
    u, best = start, SearchResult(start, value, exact=True)
    for step in range(steps):
        u = _move(space, u, gradient, length, share=1 - step / steps, method=method)
        if step + 1 < steps:
            value, gradient = landscape.value_and_gradient(u, form)
        else:
            value = landscape.values(u, form)
        best = better(best, SearchResult(u, value, exact=True))
    return best


NARROW = (torch.float16, torch.bfloat16)


def _move(space: Space, u: Tree, gradient: Tree, length: Tensor, *, share: float, method: Method) -> Tree:
    """One step of ``share`` times the given lengths (count, batch, forms)."""
    dtypes = [leaf.dtype for leaf in tensors(u)]
    if any(dtype in NARROW for dtype in dtypes):  # a short gradient times a long step has no place in their range
        wide = [map_tensors(lambda leaf: leaf.float(), tree) for tree in (u, gradient)]
        moved = _move(space, wide[0], wide[1], length.float(), share=share, method=method)
        return map_tensors(lambda leaf, old: leaf.to(old.dtype), moved, u)
    u, v = flatten_leading(u, 3), flatten_leading(gradient, 3)
    w = space.tangent(u, v)
    factor = share * _ratio(length.flatten(), space.norm(w))
    if method == "riemannian":
        moved = space.retract(u, scale(factor, w))
    else:
        factor = torch.minimum(factor, _ratio(length.flatten(), space.norm(v)))
        moved = space.project(add(u, scale(factor, v)))
    return unflatten_leading(moved, tuple(length.shape))


def _ratio(length: Tensor, norm: Tensor) -> Tensor:
    """length / norm, and zero where there is no direction to go."""
    return torch.where(norm > 0, length.to(norm) / norm.clamp(min=torch.finfo(norm.dtype).tiny), 0.0)
