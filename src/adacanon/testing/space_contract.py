r"""The laws of a space :math:`\mathcal U`."""

from contextlib import suppress

import torch
from torch import Tensor

from adacanon.core.pytree import Tree, add, batch_size, map_tensors, scale, slice_rows, tensors
from adacanon.core.space import Space
from adacanon.errors import InputError, SpaceError
from adacanon.testing.comparison import (
    largest_difference,
    noise_like,
    require,
    require_close,
    require_own_randomness,
    same_layout,
)
from adacanon.testing.returns import described, require_like, require_shape

STEP = 1e-5


def check_space(
    space: Space, *, count: int = 8, generator: torch.Generator | None = None, first_order: bool = True
) -> tuple[str, ...]:
    r"""With :math:`u, v, w` draws of the space, P its projection, T its tangents and R its retraction:

    - draws: :math:`Pu = u`, in float64 or integers on the CPU, a function of the generator alone;
    - projection: :math:`PPx = Px`;
    - tangents: :math:`T_uT_ux = T_ux`, and :math:`T_u` is linear;
    - retraction: :math:`R_u(0) = u`, :math:`PR_u(x) = R_u(x)`, and :math:`d(u, R_u(tx)) = t|x| + o(t)`;
    - distance: :math:`d(u,v) = d(v,u) \ge 0`, zero for equal points only, :math:`d(u,w) \le d(u,v) + d(v,w)`;
    - identity: :math:`Pe = e`;
    - composition, for groups: :math:`eu = u = ue`, :math:`(uv)w = u(vw)`;
    - cover, for spaces that have one: distinct points, the same at every call;
    - members, for batches of spaces: no member's draws depend on the others, and padding is the identity's.

    Args:
        space: the space under test.
        count: points per draw.
        generator: source of the points.
        first_order: whether a tangent step of length t moves a distance of t.

    Returns:
        the names of the groups of laws that were checked; a space without compose(), cover() or members has fewer.

    Example:
        >>> from adacanon.spaces import Circle
        >>> check_space(Circle())
        ('draws', 'projection', 'tangents', 'retraction', 'distance', 'identity', 'composition', 'cover')
    """
    require(count >= 2, f"check_space needs at least two points per draw, got {count}")
    generator = generator or torch.Generator().manual_seed(0)
    require(isinstance(space, Space), f"check_space expects a Space, got {space!r}. Hint: an instance, Circle()")
    u, v, w = (space.sample(count, generator=generator) for _ in range(3))
    _shapes(space, u, count)
    _returns(space, u, noise_like(u, generator))
    _draws(space, u, count)
    _projection(space, u, generator)
    _tangents(space, u, generator)
    _retraction(space, u, generator, first_order)
    _distance(space, u, v, w)
    _identity(space)
    checked = ["draws", "projection", "tangents", "retraction", "distance", "identity"]
    optional = {
        "composition": _composition(space, u, v, w),
        "cover": _cover(space, count),
        "members": _members(space, count, generator),
    }
    return tuple(checked + [name for name, present in optional.items() if present])


def _shapes(space: Space, u: Tree, count: int) -> None:
    leading = _leading(space, count)
    require(bool(tensors(u)), f"{space!r}: sample must return at least one tensor, got {described(u)}")
    for leaf in tensors(u):
        kind = f"{space!r}: draws must be float64 or int64 on the CPU, got {leaf.dtype} on {leaf.device}"
        require(leaf.dtype in (torch.float64, torch.int64) and leaf.device.type == "cpu", kind)
        shape = f"{space!r}: draws must have leading axes {leading}, got shape {tuple(leaf.shape)}"
        require(tuple(leaf.shape[: len(leading)]) == leading, shape)


def _returns(space: Space, u: Tree, x: Tree) -> None:
    """Every method returns tensors of the right shapes: what is wrong is said before any law is checked."""
    leading, point = _leading(space, batch_size(u)), slice_rows(u, 0, 1)
    tangent = space.tangent(u, x)
    require_like(space.project(u), u, f"{space!r}: project(u)")
    require_like(tangent, u, f"{space!r}: tangent(u, v)")
    require_like(space.retract(u, tangent), u, f"{space!r}: retract(u, v)")
    require_shape(space.norm(tangent), leading, f"{space!r}: norm(v)")
    require_shape(space.distance(u, u), leading, f"{space!r}: distance(u, v)")
    require_like(space.identity(), map_tensors(lambda leaf: leaf[0], point), f"{space!r}: identity()")
    with suppress(SpaceError):
        require_like(space.compose(u, u), u, f"{space!r}: compose(u, v)")
    with suppress(SpaceError):
        cover = _covering_set(space, batch_size(u))
        require(bool(tensors(cover)), f"{space!r}: cover(count) must return points, got {described(cover)}")
        require_like(slice_rows(cover, 0, 1), point, f"{space!r}: the first point of cover(count)")
    diameter = space.diameter
    if space.members is not None and isinstance(diameter, Tensor):
        require_shape(diameter, (space.members,), f"{space!r}: diameter")
    else:
        number = isinstance(diameter, int | float) or (isinstance(diameter, Tensor) and diameter.numel() == 1)
        require(number, f"{space!r}: diameter must return a number, got {described(diameter)}")


def _leading(space: Space, count: int) -> tuple[int, ...]:
    return (count,) if space.members is None else (count, space.members)


def _draws(space: Space, u: Tree, count: int) -> None:
    require_close(space.project(u), u, f"{space!r}: draws must lie on the space, project(u) = u")
    require_own_randomness(lambda g: space.sample(count, generator=g), f"{space!r}: a draw")
    again = space.sample(count, generator=torch.Generator().manual_seed(1))
    other = space.sample(count, generator=torch.Generator().manual_seed(2))
    fixed = largest_difference(u, _spread(space.identity(), count)) == 0
    require(fixed or largest_difference(again, other) > 0, f"{space!r}: other generators must give other draws")


def _projection(space: Space, u: Tree, generator: torch.Generator) -> None:
    for size in (1e-3, 0.5, 3.0):
        x = space.project(add(u, _times(size, noise_like(u, generator))))
        require(same_layout(x, u), f"{space!r}: project(x) must have the shape of x")
        require_close(space.project(x), x, f"{space!r}: projection must be idempotent, PPx = Px")


def _tangents(space: Space, u: Tree, generator: torch.Generator) -> None:
    x, y = noise_like(u, generator), noise_like(u, generator)
    tx, ty = space.tangent(u, x), space.tangent(u, y)
    require_close(space.tangent(u, tx), tx, f"{space!r}: tangent must be idempotent, TTx = Tx")
    combined = space.tangent(u, add(_times(2.0, x), _times(-3.0, y)))
    linear = f"{space!r}: tangent must be linear, T(2x - 3y) = 2Tx - 3Ty"
    require_close(combined, add(_times(2.0, tx), _times(-3.0, ty)), linear)


def _retraction(space: Space, u: Tree, generator: torch.Generator, first_order: bool) -> None:
    direction = space.tangent(u, noise_like(u, generator))
    stay = space.retract(u, _times(0.0, direction))
    require_close(stay, u, f"{space!r}: retract(u, 0) = u")
    moved = space.retract(u, direction)
    require_close(space.project(moved), moved, f"{space!r}: a retraction must stay on the space")
    if first_order:
        expected = STEP * space.norm(direction).double()
        went = space.distance(u, space.retract(u, _times(STEP, direction))).double()
        off = (went - expected).abs() > 0.01 * expected + 1e-3 * STEP
        worst = f"{space!r}: a tangent step of length t must move a distance of t"
        require(not bool(off.any()), f"{worst}; steps of {expected[off].tolist()} moved {went[off].tolist()}")


def _distance(space: Space, u: Tree, v: Tree, w: Tree) -> None:
    uv, vu, vw, uw = (space.distance(a, b) for a, b in ((u, v), (v, u), (v, w), (u, w)))
    leading = _leading(space, batch_size(u))
    require(bool((uv >= 0).all()), f"{space!r}: distance must not be negative")
    require_close(space.distance(u, u), torch.zeros(leading), f"{space!r}: d(u, u) = 0", 1e-6)
    require_close(uv, vu, f"{space!r}: distance must be symmetric", 1e-6)
    require(bool((uw <= uv + vw + 1e-6).all()), f"{space!r}: triangle inequality, d(u, w) <= d(u, v) + d(v, w)")
    apart = _apart(u, v, len(leading))
    require(bool((uv[apart] > 0).all()), f"{space!r}: different points must have a positive distance")


def _identity(space: Space) -> None:
    e = space.identity()
    require_close(space.project(e), e, f"{space!r}: the identity must lie on the space")


def _composition(space: Space, u: Tree, v: Tree, w: Tree) -> bool:
    try:
        uv = space.compose(u, v)
    except SpaceError:
        return False
    e = _spread(space.identity(), tensors(u)[0].shape[0])
    require_close(space.project(uv), uv, f"{space!r}: a composition must lie on the space")
    require_close(space.compose(e, u), u, f"{space!r}: the identity must be neutral, eu = u")
    require_close(space.compose(u, e), u, f"{space!r}: the identity must be neutral, ue = u")
    associative = f"{space!r}: composition must be associative, (uv)w = u(vw)"
    left, right = space.compose(uv, w), space.compose(u, space.compose(v, w))
    require(float(space.distance(left, right).max()) <= 1e-6, associative)
    return True


def _cover(space: Space, count: int) -> bool:
    try:
        points = _covering_set(space, count)
    except SpaceError:
        return False
    require_close(points, _covering_set(space, count), f"{space!r}: a cover must be the same at every call", 0.0)
    require_close(space.project(points), points, f"{space!r}: a cover must lie on the space")
    total = tensors(points)[0].shape[0]
    require(total >= 1, f"{space!r}: a cover must not be empty")
    for shift in range(1, total):
        rolled = map_tensors(lambda leaf, n=shift: leaf.roll(n, 0), points)
        require(bool(_apart(points, rolled, 1).all()), f"{space!r}: the points of a cover must be distinct")
    return True


def _members(space: Space, count: int, generator: torch.Generator) -> bool:
    if space.members is None:
        require(space.mask() is None, f"{space!r}: a space shared by all inputs has no mask")
        return False
    whole = space.sample(count, generator=torch.Generator().manual_seed(3))
    for owner in ([0], [space.members - 1, 0, 0]):
        index = torch.tensor(owner)
        part = space.select(index).sample(count, generator=torch.Generator().manual_seed(3))
        alone = f"{space!r}: the draws of members {owner} must not depend on the other members"
        require_close(part, map_tensors(lambda leaf, i=index: leaf[:, i], whole), alone, 1e-12)
    if space.mask() is not None:
        _padding(space, whole, generator)
    return True


def _padding(space: Space, u: Tree, generator: torch.Generator) -> None:
    mask, x = space.mask(), noise_like(u, generator)
    require(same_layout(mask, space.identity()), f"{space!r}: the mask must have the shape of the identity")
    reached = {
        "sample": u,
        "project": space.project(add(u, x)),
        "retract": space.retract(u, space.tangent(u, x)),
    }
    padding = _outside(mask, _spread(space.identity(), tensors(u)[0].shape[0]))
    for name, points in reached.items():
        require_close(_outside(mask, points), padding, f"{space!r}: {name} must leave the padding as in the identity")
    moves = _outside(mask, space.tangent(u, x))
    require_close(moves, _times(0.0, moves), f"{space!r}: tangents must vanish outside the mask")


def _covering_set(space: Space, count: int) -> Tree:
    """Some spaces are covered by any number of points, a finite one by all its elements only."""
    try:
        return space.cover(count)
    except InputError:
        return space.cover()


def _spread(point: Tree, count: int) -> Tree:
    return map_tensors(lambda leaf: leaf.expand(count, *leaf.shape), point)


def _times(factor: float, tree: Tree) -> Tree:
    return scale(torch.tensor(factor, dtype=torch.float64), tree)


def _outside(mask: Tree, points: Tree) -> Tree:
    return map_tensors(lambda leaf, inside: torch.where(inside, 0, leaf), points, mask)


def _apart(u: Tree, v: Tree, axes: int) -> Tensor:
    """Which points differ by more than rounding, over the leading axes."""
    gaps = [(a - b).abs().double() for a, b in zip(tensors(u), tensors(v), strict=True)]
    return torch.cat([gap.reshape(*gap.shape[:axes], -1) for gap in gaps], dim=-1).amax(-1) > 1e-6
