"""Every space: all its verbs on points that were moved to the device."""

from collections.abc import Callable
from contextlib import suppress

import torch
from torch import Tensor

from adacanon.core import Space
from adacanon.core.pytree import Tree, cast_like, map_tensors, scale
from adacanon.errors import SpaceError
from adacanon.spaces import SO3, Box, Circle, Finite, Orthogonal, OrthogonalBlocks, Product, Rectangles
from cases.on_any_device.case import Case, Move

SIZES = (3, 1, 4)
BLOCKS = ((2, 3), (0, 4), (1, 1))


def _sizes(move: Move) -> Tensor:
    return move(torch.tensor(SIZES))


SPACES: dict[str, Callable[[Move], Space]] = {
    "SO3": lambda move: SO3(),
    "Box": lambda move: Box((-1.0, 0.0), (1.0, 2.0)),
    "Circle": lambda move: Circle(),
    "Finite": lambda move: Finite(5),
    "Orthogonal": lambda move: Orthogonal(4),
    "Orthogonal, frames": lambda move: Orthogonal(4, columns=2),
    "Orthogonal, proper": lambda move: Orthogonal(3, proper=True),
    "Orthogonal, a batch": lambda move: Orthogonal(_sizes(move)),
    "Orthogonal, a batch, proper": lambda move: Orthogonal(_sizes(move), proper=True),
    "Orthogonal, a batch of frames": lambda move: Orthogonal(_sizes(move), columns=2),
    "OrthogonalBlocks": lambda move: OrthogonalBlocks(move(torch.tensor(BLOCKS)), rows=(2, 3), columns=3),
    "OrthogonalBlocks, columns per block": lambda move: OrthogonalBlocks(
        move(torch.tensor(BLOCKS)), rows=(2, 3), columns=move(torch.tensor([[1, 2], [0, 3], [1, 1]])), width=3
    ),
    "Product": lambda move: Product(Circle(), SO3(), Finite(3)),
    "Product, a batch": lambda move: Product(Orthogonal(_sizes(move)), Circle()),
    "Rectangles": lambda move: Rectangles(0.4, 0.9),
}


def of_space(build: Callable[[Move], Space]) -> Case:
    def run(move: Move) -> dict[str, Tree]:
        space = build(move)
        generator = torch.Generator().manual_seed(0)
        device = move(torch.zeros(1))
        u, v = (cast_like(space.sample(3, generator=generator), device) for _ in range(2))
        direction = map_tensors(lambda leaf: leaf.cos() if leaf.is_floating_point() else leaf, v)
        tangent = space.tangent(u, direction)
        found = {
            "projection": space.project(map_tensors(lambda leaf: leaf if leaf.dtype == torch.int64 else 1.1 * leaf, u)),
            "tangent": tangent,
            "retraction": space.retract(u, scale(move(torch.full((3,), 0.1)), tangent)),
            "norm": space.norm(tangent),
            "distance": space.distance(u, v),
            "identity": cast_like(space.identity(), device),
            "diameter": torch.as_tensor(space.diameter).to(device),
        }
        if space.mask() is not None:
            found["mask"] = space.mask()
        if space.members is not None:
            some_of_them = move(torch.tensor([2, 0]))
            some = space.select(some_of_them)
            found["selected"] = some.project(map_tensors(lambda leaf: leaf[:, some_of_them], u))
            found["drawn for some"] = cast_like(some.sample(2, generator=generator), device)
        return found | _optional(space, u, v, device)

    return run


def _optional(space: Space, u: Tree, v: Tree, device: Tensor) -> dict[str, Tree]:
    """What not every space has."""
    found: dict[str, Tree] = {}
    with suppress(SpaceError):
        found["cover"] = cast_like(space.cover(None if isinstance(space, Finite) else 5), device)
    with suppress(SpaceError):
        found["composed"] = space.compose(u, v)
    return found


CASES: dict[str, Case] = {f"space {name}": of_space(build) for name, build in SPACES.items()}
