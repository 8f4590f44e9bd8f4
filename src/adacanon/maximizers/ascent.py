"""Local refinement of transformations by gradient ascent (paper: Algorithm 1, ``GD_Step``)."""

from typing import Literal

import torch
from torch import Tensor

from adacanon.core.maximizer import Found, Landscape
from adacanon.core.pytree import Tree, add, batch_size, flatten_leading, scale, tensors, unflatten_leading
from adacanon.core.space import Space
from adacanon.maximizers.selection import better

Method = Literal["riemannian", "projected"]


def climb(landscape: Landscape, start: Tree, *, steps: int, step_size: float, method: Method) -> Found:
    r"""Ascend from points (count, batch, forms, *point) and keep the best point of each path, the start included.

    Step t of n has length :math:`\eta_t = \eta\,(1 - t/n)` along the normalised gradient:
    :math:`\mathrm{retract}_u(\eta_t\,w/|w|)` with w the tangent gradient (Riemannian), or
    :math:`\mathrm{project}(u + \eta_t\,v/|v|)` with v the ambient one (projected). The steps do not wait for an
    improvement: a path that may refuse steps is a discontinuous function of the input.

    Returns:
        the best points in the shape of ``start``, and their values.
    """
    owner, shape = _owners(landscape, start)
    space = landscape.space.select(owner)
    value, gradient = landscape.value_and_gradient(start)
    length = step_size * torch.as_tensor(space.diameter).to(value).expand(owner.shape[0]).reshape(shape)
    u, best = start, Found(start, value)
    for step in range(steps):
        u = _move(space, u, gradient, length * (1 - step / steps), method)
        value, gradient = landscape.value_and_gradient(u)
        best = better(best, Found(u, value))
    return best


def _owners(landscape: Landscape, start: Tree) -> tuple[Tensor, torch.Size]:
    count, (batch, forms) = batch_size(start), tensors(start)[0].shape[1:3]
    sample = torch.arange(batch, device=tensors(start)[0].device)
    return sample.repeat_interleave(forms).repeat(count), torch.Size((count, batch, forms))


def _move(space: Space, u: Tree, gradient: Tree, length: Tensor, method: Method) -> Tree:
    shape = tuple(length.shape)
    u, gradient = flatten_leading(u, 3), flatten_leading(gradient, 3)
    direction = gradient if method == "projected" else space.tangent(u, gradient)
    size = space.norm(direction)
    factor = torch.where(size > 0, length.flatten().to(size) / size.clamp(min=torch.finfo(size.dtype).tiny), 0.0)
    step = scale(factor, direction)
    moved = space.project(add(u, step)) if method == "projected" else space.retract(u, step)
    return unflatten_leading(moved, shape)
