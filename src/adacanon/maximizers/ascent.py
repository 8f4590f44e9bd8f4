"""Local refinement of transformations by gradient ascent (paper: Algorithm 1, ``GD_Step``)."""

from typing import Literal

import torch
from torch import Tensor

from adacanon.core.maximizer import Found, Landscape
from adacanon.core.pytree import Tree, add, batch_size, flatten_leading, scale, tensors, unflatten_leading, where
from adacanon.core.space import Space

Method = Literal["riemannian", "projected"]

GROW, SHRINK = 1.5, 0.4


def climb(landscape: Landscape, start: Tree, *, steps: int, step_size: float, method: Method) -> Found:
    r"""Ascend from points (count, batch, forms, *point), each with its own step length.

    A step of length :math:`\eta` goes along the normalised gradient: :math:`\mathrm{retract}_u(\eta\,t/|t|)` with t the
    tangent gradient (Riemannian), or :math:`\mathrm{project}(u + \eta\,v/|v|)` with v the ambient one (projected). It
    is taken if the value rises, and the length then grows; otherwise the point stays and the length shrinks. So the
    value never falls.

    Returns:
        the refined points in the shape of ``start``, (count, batch, forms, *point), and their values.
    """
    owner, shape = _owners(landscape, start)
    space = landscape.space.select(owner)
    u = start
    value, gradient = landscape.value_and_gradient(u)
    length = step_size * torch.as_tensor(space.diameter).to(value).expand(owner.shape[0]).reshape(shape)
    for _ in range(steps):
        trial = _move(space, u, gradient, length, method)
        trial_value, trial_gradient = landscape.value_and_gradient(trial)
        rises = trial_value > value
        u, gradient = where(rises, trial, u), where(rises, trial_gradient, gradient)
        value = torch.where(rises, trial_value, value)
        length = length * torch.where(rises, GROW, SHRINK)
    return Found(u, value)


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
