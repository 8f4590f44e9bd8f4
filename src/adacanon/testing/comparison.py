"""Comparing trees of tensors, and saying which law was broken."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_structure

from adacanon.core.pytree import Tree, map_tensors, tensors


def require(condition: bool, law: str) -> None:
    """Raise AssertionError with ``law`` unless it holds."""
    if not condition:
        raise AssertionError(law)


def require_close(a: Tree, b: Tree, law: str, tolerance: float = 1e-9) -> None:
    """Raise AssertionError unless all leaves of two trees agree within ``tolerance``."""
    error = largest_difference(a, b)
    require(error <= tolerance, f"{law}: off by {error:.3g}, more than {tolerance:.3g}")


def largest_difference(a: Tree, b: Tree) -> float:
    r""":math:`\max |a - b|` over all entries of all leaves; infinite for trees of different structure or shape."""
    if not same_layout(a, b):
        return float("inf")
    return max((_difference(x, y) for x, y in zip(tensors(a), tensors(b), strict=True)), default=0.0)


def same_layout(a: Tree, b: Tree) -> bool:
    """Whether two trees have the same structure and the same shapes."""
    shapes = [[leaf.shape for leaf in tensors(tree)] for tree in (a, b)]
    return tree_structure(a) == tree_structure(b) and shapes[0] == shapes[1]


def copy_of(tree: Tree) -> Tree:
    """A tree whose tensors share no memory with the original."""
    return map_tensors(torch.clone, tree)


def noise_like(tree: Tree, generator: torch.Generator) -> Tree:
    """Standard normal numbers in the floating leaves, zeros in the others."""
    return map_tensors(lambda leaf: _noise(leaf, generator), tree)


def rounding(tree: Tree) -> float:
    """How far apart results may be that differ by rounding alone, in the precision of a tree."""
    floating = [leaf for leaf in tensors(tree) if leaf.is_floating_point() and leaf.numel()]
    size = max((float(leaf.abs().max()) for leaf in floating), default=1.0)
    epsilon = max((torch.finfo(leaf.dtype).eps for leaf in floating), default=0.0)
    return 1e4 * epsilon * max(1.0, size)


def require_own_randomness(draw: Callable[[torch.Generator], Any], law: str) -> None:
    """A draw follows from its generator: the global random state neither changes it nor is changed by it."""
    results = []
    with torch.random.fork_rng(devices=[]):
        for seed in (1, 2):
            state = torch.manual_seed(seed).get_state()
            results.append(draw(torch.Generator().manual_seed(0)))
            require(torch.equal(state, torch.get_rng_state()), f"{law} must leave the global random state alone")
    require_close(results[0], results[1], f"{law} must be the same for equal generators", 0.0)


def _difference(x: Tensor, y: Tensor) -> float:
    """Infinite entries agree with themselves, NaN with nothing."""
    if x.numel() == 0:
        return 0.0
    x, y = x.detach().double(), y.detach().double()
    gap = torch.where(x == y, 0.0, (x - y).abs()).max().item()
    return float("inf") if gap != gap else gap


def _noise(leaf: Tensor, generator: torch.Generator) -> Tensor:
    if not leaf.is_floating_point():
        return torch.zeros_like(leaf)
    return torch.randn(leaf.shape, generator=generator, dtype=torch.float64).to(leaf)
