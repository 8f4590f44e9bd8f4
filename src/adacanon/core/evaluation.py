"""How values of transformations are computed: pair by pair, or fused with the network's first layer."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from adacanon.core.family import Family, Fused
from adacanon.core.prior import ClassScore, Prior
from adacanon.core.pytree import (
    Tree,
    flatten_leading,
    joined,
    map_tensors,
    owners,
    row_numel,
    slice_rows,
    tensors,
    unflatten_leading,
)
from adacanon.errors import ShapeError

PAIRS_PER_FUSED_CHUNK = 4096
"""What a fused evaluation handles at a time if no chunk_size is set."""

OUTPUTS_PER_GRADIENT_CHUNK = 1 << 22
"""Outputs whose gradients a fused evaluation computes at a time: with a thousand classes, every input has a million."""

Network = Callable[[Tree], Tensor]
Rank = Callable[[Tensor, Tensor], Tensor]
"""From outputs (pairs, ...) and the inputs that they belong to, (pairs,), to values (pairs, forms)."""


class Evaluation(ABC):
    """Values at transformations of a batch, without gradients to the network."""

    @abstractmethod
    def of_candidates(self, u: Tree) -> Tensor:
        """Values (count, batch, forms) of candidates (count, batch, *point)."""

    @abstractmethod
    def of_points(self, u: Tree, form: Tensor) -> Tensor:
        """One value for each of the points (count, batch, n, *point), that of its ``form``, (count, batch, n) both."""

    @abstractmethod
    def with_gradient(self, u: Tree, form: Tensor) -> tuple[Tensor, Tree]:
        """The same values, and their ambient gradients (count, batch, n, *point)."""


@dataclass
class PlainEvaluation(Evaluation):
    """Every pair is transformed and goes through the network, some at a time.

    Attributes:
        chunk_size: pairs at a time; None until it is known, from the family or from the size of a form.
        numbers: of the forms in a chunk_size that is chosen by their size.
    """

    network: Network
    family: Family
    g: Tree
    rank: Rank
    chunk_size: int | None
    numbers: int

    def of_candidates(self, u: Tree) -> Tensor:
        count, batch = tensors(u)[0].shape[:2]
        owner = owners(batch, 1, self._device, count=count)
        return self.of_pairs(flatten_leading(u, 2), owner).unflatten(0, (count, batch))

    def of_points(self, u: Tree, form: Tensor) -> Tensor:
        pairs, owner = self._as_pairs(u)
        return self.of_pairs(pairs, owner, form.reshape(-1)).reshape(form.shape)

    def with_gradient(self, u: Tree, form: Tensor) -> tuple[Tensor, Tree]:
        pairs, owner = self._as_pairs(u)
        flat = form.reshape(-1)
        parts = (self._slopes(slice_rows(pairs, a, b), owner[a:b], flat[a:b]) for a, b in self._chunks(pairs, owner))
        value, gradient = joined(parts, owner.shape[0])
        return value.reshape(form.shape), unflatten_leading(gradient, tuple(form.shape))

    def of_pairs(self, u: Tree, owner: Tensor, form: Tensor | None = None) -> Tensor:
        """Values (pairs, forms) of a list of pairs; (pairs, 1) if each is asked for one ``form``."""
        with torch.no_grad():
            parts = (
                self._of_chunk(slice_rows(u, a, b), owner[a:b], None if form is None else form[a:b])
                for a, b in self._chunks(u, owner)
            )
            return joined(parts, owner.shape[0])

    def outputs_of_pairs(self, u: Tree, owner: Tensor) -> Tensor:
        """The network's outputs (pairs, ...) of a list of pairs."""
        with torch.no_grad():
            parts = (
                evaluate(self.network, self.family, self.g, slice_rows(u, a, b), owner[a:b])
                for a, b in self._chunks(u, owner)
            )
            return joined(parts, owner.shape[0])

    @property
    def _device(self) -> torch.device:
        return tensors(self.g)[0].device

    def _as_pairs(self, u: Tree) -> tuple[Tree, Tensor]:
        count, batch, n = tensors(u)[0].shape[:3]
        return flatten_leading(u, 3), owners(batch, n, self._device, count=count)

    def _of_chunk(self, u: Tree, owner: Tensor, form: Tensor | None) -> Tensor:
        values = self.rank(evaluate(self.network, self.family, self.g, u, owner), owner)
        return values if form is None else values.gather(1, form.unsqueeze(1))

    def _slopes(self, u: Tree, owner: Tensor, form: Tensor) -> tuple[Tensor, Tree]:
        return slopes(u, lambda u: self._of_chunk(u, owner, form).squeeze(1))

    def _chunks(self, u: Tree, owner: Tensor) -> list[tuple[int, int]]:
        total = owner.shape[0]
        if self.chunk_size is None:
            self.chunk_size = self.family.chunk_size(self.g)
        if self.chunk_size is None:
            with torch.no_grad():
                form = self.family.transform(self.g, slice_rows(u, 0, 1), owner[:1])
            self.chunk_size = max(1, self.numbers // max(1, row_numel(form)))
        return [(a, min(a + self.chunk_size, total)) for a in range(0, total, self.chunk_size)]


@dataclass(frozen=True)
class FusedEvaluation(Evaluation):
    """All inputs of a batch at once, by a faster way that the family knows for this network."""

    fused: Fused
    prior: Prior
    rank: Rank
    chunk_size: int | None

    def of_candidates(self, u: Tree) -> Tensor:
        count, batch = tensors(u)[0].shape[:2]
        step = max(1, (self.chunk_size or PAIRS_PER_FUSED_CHUNK) // batch)
        with torch.no_grad():
            return torch.cat([self._values(slice_rows(u, a, a + step)) for a in range(0, count, step)])

    def of_points(self, u: Tree, form: Tensor) -> Tensor:
        values = self.of_candidates(flatten_leading(_forms_first(u), 2)).unflatten(0, form.shape[::2])
        return values.gather(3, form.transpose(1, 2).unsqueeze(3)).squeeze(3).transpose(1, 2)

    def with_gradient(self, u: Tree, form: Tensor) -> tuple[Tensor, Tree]:
        count, batch, n = form.shape
        grid, chosen = flatten_leading(_forms_first(u), 2), form.transpose(1, 2).reshape(count * n, batch, 1)
        step = max(1, OUTPUTS_PER_GRADIENT_CHUNK // (batch * n))  # n points of each input, with n outputs each
        parts = (self._slopes(slice_rows(grid, a, a + step), chosen[a : a + step]) for a in range(0, count * n, step))
        value, gradient = joined(parts, count * n)
        back = _forms_first(unflatten_leading(gradient, (count, n)))
        return value.unflatten(0, (count, n)).transpose(1, 2), back

    def _values(self, u: Tree) -> Tensor:
        return self._ranked(at_least_float32(self.fused(u)))

    def _ranked(self, outputs: Tensor) -> Tensor:
        count, batch = outputs.shape[:2]
        owner = owners(batch, 1, outputs.device, count=count)
        return self.rank(outputs.flatten(0, 1), owner).unflatten(0, (count, batch))

    def _slopes(self, grid: Tree, form: Tensor) -> tuple[Tensor, Tree]:
        """One of the values (count, batch, forms) for each point, and its gradient."""

        def chosen(values: Tensor) -> Tensor:
            return values.gather(2, form).squeeze(2)

        pulled = self.fused.pullback(grid)
        if pulled is None:
            return slopes(grid, lambda grid: chosen(self._values(grid)))
        outputs, back = pulled
        if isinstance(self.prior, ClassScore):
            value, cotangent = chosen(outputs), torch.zeros_like(outputs).scatter_(2, form, 1.0)
        else:
            value, cotangent = slopes(outputs, lambda outputs: chosen(self._ranked(outputs)))
        return value, map_tensors(Tensor.nan_to_num, back(cotangent))


def evaluate(network: Network, family: Family, g: Tree, u: Tree, owner: Tensor) -> Tensor:
    """Network outputs :math:`f(\\kappa_{u[p]}(g[owner[p]]))`, at least in float32; geometry is never autocast."""
    with torch.autocast(owner.device.type, enabled=False):
        forms = family.transform(g, u, owner)
    outputs = network(forms)
    if not isinstance(outputs, Tensor) or outputs.dim() < 1 or outputs.shape[0] != owner.shape[0]:
        came = tuple(outputs.shape) if isinstance(outputs, Tensor) else type(outputs).__name__
        raise ShapeError(
            f"The network must return a tensor with one row per form, {owner.shape[0]} rows, got {came}. "
            "Hint: return logits of shape (batch, classes)"
        )
    return at_least_float32(outputs)


def at_least_float32(outputs: Tensor) -> Tensor:
    """Half precision is enough for a network, not for comparing its scores."""
    return outputs.float() if outputs.dtype in (torch.float16, torch.bfloat16) else outputs


def slopes(u: Tree, function: Callable[[Tree], Tensor]) -> tuple[Tensor, Tree]:
    """Values of a function and their gradients by the floating leaves."""
    with torch.enable_grad():
        u = map_tensors(lambda leaf: leaf.detach().clone().requires_grad_(leaf.is_floating_point()), u)
        inputs = [leaf for leaf in tensors(u) if leaf.requires_grad]
        value = function(u)
        found = iter(
            torch.autograd.grad(value.sum(), inputs, allow_unused=True) if inputs and value.requires_grad else []
        )
    gradient = map_tensors(
        lambda leaf: _or_zeros(next(found, None), leaf) if leaf.requires_grad else torch.zeros_like(leaf), u
    )
    return value.detach(), gradient


def _forms_first(u: Tree) -> Tree:
    """Exchange the second and third axis, batch and forms."""
    return map_tensors(lambda leaf: leaf.transpose(1, 2), u)


def _or_zeros(gradient: Tensor | None, leaf: Tensor) -> Tensor:
    return torch.zeros_like(leaf) if gradient is None else gradient.nan_to_num()
