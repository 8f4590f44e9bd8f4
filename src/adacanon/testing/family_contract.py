r"""The laws of a transformation family :math:`\kappa`."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from adacanon.core.family import Family
from adacanon.core.pytree import Tree, add, batch_size, cast_like, map_tensors, scale, slice_rows, take, tensors
from adacanon.core.space import Space
from adacanon.testing.comparison import (
    copy_of,
    largest_difference,
    noise_like,
    require,
    require_close,
    rounding,
    same_layout,
)
from adacanon.testing.returns import described

Perturb = Callable[[Tree, float], Tree]


def check_family(
    family: Family,
    g: Any,
    *,
    perturb: Perturb | None = None,
    pairs: int = 16,
    generator: torch.Generator | None = None,
) -> tuple[str, ...]:
    r"""For pairs :math:`(u_p, i_p)` of transformations and inputs of a batch:

    - pairs: row p is :math:`\kappa_{u_p}(g_{i_p})` whatever the other pairs and the other inputs are;
    - purity: neither g nor u is modified;
    - continuity: :math:`\kappa_v(g) \to \kappa_u(g)` as :math:`v \to u`;
    - equicontinuity: :math:`\sup_u |\kappa_u(g') - \kappa_u(g)| = O(|g' - g|)`;
    - identity, for families from inputs to inputs: :math:`\kappa_e(g) = g`;
    - gradients, for spaces that are not discrete: they reach u and are finite.

    The laws of limits are sharper in float64.

    Args:
        family: the family under test.
        g: a batch of inputs, of at least two.
        perturb: from a prepared batch and a length t to a batch about t away; by default its floating leaves move.
        pairs: number of pairs.
        generator: source of pairs and perturbations.

    Returns:
        the names of the groups of laws that were checked.

    Example:
        >>> from adacanon.points import Rotations
        >>> check_family(Rotations(), torch.randn(3, 10, 3, dtype=torch.float64))
        ('pairs', 'purity', 'continuity', 'equicontinuity', 'identity', 'gradients')
    """
    generator = generator or torch.Generator().manual_seed(0)
    g = _prepared(family, g)
    require(batch_size(g) >= 2 and pairs >= 2, "check_family needs a batch of at least two and at least two pairs")
    u, owner = _draw_pairs(family.space(g), g, pairs, generator)
    _pairs_are_independent(family, g, u, owner)
    _nothing_is_modified(family, g, u, owner)
    checked = ["pairs", "purity"]
    optional = {
        "continuity": _continuity(family, g, u, owner, generator),
        "equicontinuity": _equicontinuity(family, g, u, owner, perturb or _nudge(g, generator)),
        "identity": _identity(family, g),
        "gradients": _gradients(family, g, u, owner, generator),
    }
    return tuple(checked + [name for name, present in optional.items() if present])


def _prepared(family: Family, g: Any) -> Tree:
    """The batch as the family reads it, if the family returns what a family must."""
    require(isinstance(family, Family), f"check_family expects a Family, got {family!r}. Hint: an instance, Shifts()")
    g = family.prepare(g)
    require(bool(tensors(g)), f"{family!r}: prepare must return a tensor or a tree of tensors, got {described(g)}")
    space = family.space(g)
    require(isinstance(space, Space), f"{family!r}: space must return a Space, got {described(space)}")
    return g


def _draw_pairs(space: Space, g: Tree, pairs: int, generator: torch.Generator) -> tuple[Tree, Tensor]:
    """Every input takes part, some of them twice."""
    device, batch = tensors(g)[0].device, batch_size(g)
    owner = torch.randperm(max(pairs, batch + 1), generator=generator).remainder(batch).to(device)
    points = cast_like(space.sample(owner.shape[0], generator=generator), g)
    rows = torch.arange(owner.shape[0], device=device)
    return (points if space.members is None else take(points, rows, owner)), owner


def _pairs_are_independent(family: Family, g: Tree, u: Tree, owner: Tensor) -> None:
    forms = family.transform(g, u, owner)
    rows = f"{family!r}: transform must return tensors with one row per pair, {owner.shape[0]}, got {described(forms)}"
    leaves = tensors(forms)
    require(bool(leaves) and all(leaf.dim() and len(leaf) == owner.shape[0] for leaf in leaves), rows)
    tolerance = rounding(forms)
    for p in range(owner.shape[0]):
        pair, row, one = slice_rows(u, p, p + 1), slice_rows(forms, p, p + 1), owner[p : p + 1]
        single = family.transform(g, pair, one)
        require_close(single, row, f"{family!r}: pair {p} must not depend on the other pairs", tolerance)
        alone = family.transform(take(g, one), pair, torch.zeros_like(one))
        require_close(alone, row, f"{family!r}: pair {p} must not depend on the other inputs", tolerance)
    backwards = torch.arange(owner.shape[0], device=owner.device).flip(0)
    reordered = family.transform(g, take(u, backwards), owner[backwards])
    require_close(reordered, take(forms, backwards), f"{family!r}: the order of pairs must not matter", tolerance)


def _nothing_is_modified(family: Family, g: Tree, u: Tree, owner: Tensor) -> None:
    before = copy_of((g, u, owner))
    family.transform(g, u, owner)
    require_close((g, u, owner), before, f"{family!r}: transform must not modify its arguments", 0.0)


def _continuity(family: Family, g: Tree, u: Tree, owner: Tensor, generator: torch.Generator) -> bool:
    if not any(leaf.is_floating_point() for leaf in tensors(u)):
        return False
    space = family.space(g).select(owner)
    direction = space.tangent(u, noise_like(u, generator))
    forms = family.transform(g, u, owner)

    def change(t: float) -> float:
        return largest_difference(family.transform(g, space.retract(u, _times(t, direction)), owner), forms)

    _require_vanishing(change, rounding(forms), f"{family!r}: transform must be continuous in u", rate=0.5)
    return True


def _equicontinuity(family: Family, g: Tree, u: Tree, owner: Tensor, perturb: Perturb) -> bool:
    if largest_difference(perturb(g, 1e-2), g) == 0:
        return False
    every = torch.arange(batch_size(g), device=owner.device).repeat_interleave(owner.shape[0])
    spread = map_tensors(lambda leaf: leaf.repeat(batch_size(g), *(1,) * (leaf.dim() - 1)), u)
    if family.space(g).members is not None:
        every, spread = owner, u
    forms = family.transform(g, spread, every)

    def change(t: float) -> float:
        return largest_difference(family.transform(perturb(g, t), spread, every), forms)

    law = f"{family!r}: transform must be equicontinuous in g, the largest change over u is of the order of |g' - g|"
    _require_vanishing(change, rounding(forms), law, rate=1.0)
    return True


def _identity(family: Family, g: Tree) -> bool:
    space, batch = family.space(g), batch_size(g)
    e = cast_like(space.identity(), g)
    if space.members is None:
        e = map_tensors(lambda leaf: leaf.expand(batch, *leaf.shape), e)
    forms = family.transform(g, e, torch.arange(batch, device=tensors(g)[0].device))
    if not same_layout(forms, g):
        return False
    require_close(forms, g, f"{family!r}: the identity must change nothing", rounding(forms))
    return True


def _gradients(family: Family, g: Tree, u: Tree, owner: Tensor, generator: torch.Generator) -> bool:
    u = map_tensors(lambda leaf: leaf.clone().requires_grad_(leaf.is_floating_point()), u)
    inputs = [leaf for leaf in tensors(u) if leaf.requires_grad]
    if not inputs:
        return False
    forms = family.transform(g, u, owner)
    weighted = [(leaf * weight).sum() for leaf, weight in _floating_pairs(forms, noise_like(forms, generator))]
    law = f"{family!r}: gradients must flow from the forms to u"
    require(any(term.requires_grad for term in weighted), law)
    gradients = torch.autograd.grad(sum(weighted, torch.zeros(())), inputs, allow_unused=True)
    require(all(slope is None or bool(slope.isfinite().all()) for slope in gradients), law + " and be finite")
    require(any(slope is not None and bool(slope.any()) for slope in gradients), law)
    return True


def _require_vanishing(change: Callable[[float], float], floor: float, law: str, *, rate: float) -> None:
    """change(t) = O(t^rate) as t decreases by factors of 100, up to a factor of 5 and rounding."""
    steps = [10.0 ** -(2 * k) for k in (1, 2, 3)]
    changes = [change(t) for t in steps]
    falls = all(b <= 5 * a * 0.01**rate + floor for a, b in pairwise(changes))
    require(falls, f"{law}; steps of {steps} changed the forms by {changes}")


def _nudge(g: Tree, generator: torch.Generator) -> Perturb:
    direction = noise_like(g, generator)
    return lambda batch, t: add(batch, _times(t, direction))


def _floating_pairs(a: Tree, b: Tree) -> list[tuple[Tensor, Tensor]]:
    return [(x, y) for x, y in zip(tensors(a), tensors(b), strict=True) if x.is_floating_point()]


def _times(factor: float, tree: Tree) -> Tree:
    return scale(torch.tensor(factor, dtype=torch.float64, device=tensors(tree)[0].device), tree)
