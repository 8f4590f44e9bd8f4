"""Batches as pytrees: every tensor leaf carries the batch on its leading axes.

Transformations, network inputs and structured inputs are tensors or nested tuples, lists, dicts and
registered dataclasses of tensors. These few functions act on all of them alike.
"""

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves, tree_map

from adacanon.errors import ShapeError

Tree = Any
"""A tensor, or a pytree whose leaves are tensors."""


def tensors(tree: Tree) -> list[Tensor]:
    """The tensor leaves of a tree, in order."""
    if isinstance(tree, Tensor):  # the common case; a traversal takes longer than many an operation on the leaf
        return [tree]
    return [leaf for leaf in tree_leaves(tree) if isinstance(leaf, Tensor)]


def map_tensors(function: Callable[..., Any], tree: Tree, *others: Tree) -> Tree:
    """Apply ``function`` to the tensor leaves; other leaves stay as they are in ``tree``."""
    if isinstance(tree, Tensor):
        return function(tree, *others)
    return tree_map(lambda leaf, *rest: function(leaf, *rest) if isinstance(leaf, Tensor) else leaf, tree, *others)


def batch_size(tree: Tree) -> int:
    """The common leading size of the tensor leaves."""
    sizes = {int(leaf.shape[0]) if leaf.dim() else None for leaf in tensors(tree)}
    if len(sizes) != 1 or None in sizes:
        shapes = [tuple(leaf.shape) for leaf in tensors(tree)]
        raise ShapeError(
            f"A batch needs tensors with one common leading size, got shapes {shapes}. "
            "Hint: give every tensor the batch as its first axis, x.unsqueeze(0) for a single sample"
        )
    return next(iter(sizes))  # type: ignore[return-value]


def take(tree: Tree, *index: Tensor) -> Tree:
    """Index the leading axes of every leaf, ``leaf[index]``."""
    return map_tensors(lambda leaf: leaf[index], tree)


def slice_rows(tree: Tree, start: int, stop: int) -> Tree:
    """Rows ``start:stop`` of every leaf."""
    return map_tensors(lambda leaf: leaf[start:stop], tree)


def flatten_leading(tree: Tree, axes: int) -> Tree:
    """Merge the first ``axes`` axes of every leaf into one."""
    return map_tensors(lambda leaf: leaf.reshape(-1, *leaf.shape[axes:]), tree)


def unflatten_leading(tree: Tree, shape: tuple[int, ...]) -> Tree:
    """Split the leading axis of every leaf into ``shape``."""
    return map_tensors(lambda leaf: leaf.reshape(*shape, *leaf.shape[1:]), tree)


def owners(batch: int, forms: int, device: torch.device, *, count: int = 1) -> Tensor:
    """The input that each pair of a flattened (count, batch, forms) belongs to."""
    return torch.arange(batch, device=device).unsqueeze(1).expand(count, batch, forms).reshape(-1)


def joined(parts: Iterable[Tree], rows: int) -> Tree:
    """Parts of the same structure, ``rows`` rows in all, one after the other.

    Each is written to its place as it comes: small parts that stay, between large tensors that pass, would leave
    holes in the memory, many times what is kept.

    Example:
        >>> joined((torch.tensor(part) for part in ([1, 2], [3])), 3)
        tensor([1, 2, 3])
    """
    whole: Tree = None
    start = 0
    for part in parts:
        if whole is None:
            whole = map_tensors(lambda leaf: leaf.new_empty(rows, *leaf.shape[1:]), part)
        stop = start + batch_size(part)
        for place, leaf in zip(tensors(whole), tensors(part), strict=True):
            place[start:stop] = leaf
        start = stop
    return whole


def expand_over(condition: Tensor, leaf: Tensor) -> Tensor:
    """Append axes of size one to ``condition`` until it broadcasts over ``leaf``."""
    return condition.reshape(condition.shape + (1,) * (leaf.dim() - condition.dim()))


def where(condition: Tensor, yes: Tree, no: Tree) -> Tree:
    """Per-row choice between two trees; ``condition`` covers the leading axes."""
    return map_tensors(lambda a, b: torch.where(expand_over(condition, a), a, b), yes, no)


def scale(factor: Tensor, tree: Tree) -> Tree:
    """Multiply the floating leaves of each row by its own factor."""
    return map_tensors(
        lambda leaf: leaf * expand_over(factor, leaf).to(leaf.dtype) if leaf.is_floating_point() else leaf, tree
    )


def add(a: Tree, b: Tree) -> Tree:
    """Add floating leaves; leave the others as they are in ``a``."""
    return map_tensors(lambda x, y: x + y if x.is_floating_point() else x, a, b)


def cast_like(tree: Tree, reference: Tree) -> Tree:
    """Move a tree to the device of ``reference`` and its floating leaves to the floating type found there."""
    leaves = tensors(reference)
    floating = [leaf for leaf in leaves if leaf.is_floating_point()]
    dtype = floating[0].dtype if floating else torch.get_default_dtype()
    device = leaves[0].device if leaves else torch.device("cpu")
    return map_tensors(lambda leaf: leaf.to(device, dtype if leaf.is_floating_point() else leaf.dtype), tree)


def row_numel(tree: Tree) -> int:
    """Numbers per row, over all leaves."""
    return sum(leaf[0].numel() for leaf in tensors(tree) if leaf.shape[0])


def distinct_rows(owner: Tensor, tree: Tree) -> tuple[Tensor, Tensor]:
    """Indices of the distinct rows ``(owner[p], tree[p])``, and for every row its place among them.

    ``rows[first][inverse] == rows`` for the returned ``first, inverse``.

    Rows are grouped by a 64-bit hash of their bits and the grouping is then verified, so it is exact;
    should two different rows ever collide, nothing is merged.
    """
    rows = [leaf.reshape(owner.shape[0], -1) for leaf in tensors(tree)]
    key = owner.to(torch.int64) * 0x9E3779B97F4A7C1
    for leaf in rows:
        key = key * 0x2545F4914F6CDD1D + (_bits(leaf) * _odd_multipliers(leaf.shape[1], leaf.device)).sum(-1)
    values, inverse = torch.unique(key, return_inverse=True)
    positions = torch.arange(owner.shape[0], device=owner.device)
    first = torch.full_like(values, owner.shape[0]).scatter_reduce(0, inverse, positions, "amin")
    same = bool((owner[first][inverse] == owner).all()) and all(
        bool((leaf[first][inverse] == leaf).all()) for leaf in rows
    )
    return (first, inverse) if same else (positions, positions)


def _bits(leaf: Tensor) -> Tensor:
    """The bits of every number, mixed: those of round numbers such as 1.0 differ in their first few places only."""
    integer = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[leaf.element_size()]
    bits = leaf.contiguous().view(integer).to(torch.int64)
    mixed = (bits ^ (bits >> 32)) * 0x1E3779B97F4A7C15
    return mixed ^ (mixed >> 29)


def _odd_multipliers(count: int, device: torch.device) -> Tensor:
    position = torch.arange(1, count + 1, device=device) * 0x1E3779B97F4A7C15
    return ((position ^ (position >> 29)) * 0x3F58476D1CE4E5B9) | 1
