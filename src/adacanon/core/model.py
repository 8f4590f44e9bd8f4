"""What objectives and pages need of a model."""

from contextlib import AbstractContextManager
from typing import Any, Protocol

import torch
from torch import Tensor

from adacanon.core.answers import Kind
from adacanon.core.canonical import Canonical
from adacanon.core.landscape import Landscape
from adacanon.core.maximizer import Maximizer, SearchResult
from adacanon.core.prior import Prior
from adacanon.core.pytree import Tree
from adacanon.core.soft import Temperature


class CanonicalizedModel(Protocol):
    """What an objective or a page needs of a model: that of :class:`Canonicalized`, and of what wraps one."""

    training: bool

    @property
    def answers(self) -> Kind: ...

    @property
    def prior(self) -> Prior: ...

    @property
    def temperature(self) -> Temperature | None: ...

    def __call__(self, g: Any, *, ids: Tensor | None = None, generator: torch.Generator | None = None) -> Tensor: ...

    def prepare(self, g: Any) -> Tree: ...

    def canonicalize(
        self, g: Any, *, ids: Tensor | None = None, generator: torch.Generator | None = None
    ) -> Canonical: ...

    def maximize(
        self, g: Tree, *, ids: Tensor | None = None, generator: torch.Generator | None = None
    ) -> tuple[SearchResult, Landscape]: ...

    def searching(
        self, g: Tree, ids: Tensor | None, budget: float | None
    ) -> AbstractContextManager[tuple[Maximizer, Landscape]]: ...

    def next_generator(self) -> torch.Generator: ...

    def outputs_at(self, g: Tree, u: Tree, owner: Tensor, landscape: Landscape) -> Tensor: ...
