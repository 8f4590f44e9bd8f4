"""A model as a program: the same operations whatever the input, so that it can be written to a file."""

from typing import Any

import torch
from torch import Tensor, nn
from torch._higher_order_ops.scan import scan
from torch.utils._pytree import tree_flatten, tree_unflatten

from adacanon.core.answers import Carried, Kind, settled
from adacanon.core.canonicalized import Canonicalized
from adacanon.core.evaluation import at_least_float32
from adacanon.core.pytree import Tree, expand_over, flatten_leading, tensors
from adacanon.core.soft import soft_maximum, soft_weights


class SomeForms(nn.Module):
    """What a model needs to know of some candidates (count, batch, *point) of every input: their ranks
    (count, batch, forms), and with a shared prior the answers, carried back, with the share of them that is known.
    """

    def __init__(self, model: Canonicalized) -> None:
        super().__init__()
        self.network, self.family, self.prior, self.answers = model.network, model.family, model.prior, model.answers
        self.soft = model.temperature is not None

    def forward(self, g: Tree, u: Tree) -> tuple[Tensor, ...]:
        count, batch = tensors(u)[0].shape[:2]
        owner = torch.arange(batch, device=tensors(g)[0].device).repeat(count)
        pairs = flatten_leading(u, 2)
        outputs = at_least_float32(self.network(self.family.transform(g, pairs, owner)))
        found = [self._ranks(g, outputs, owner)]
        if self.prior.shared:
            found += [part for part in self._carried(pairs, outputs) if part is not None]
        return tuple(part.reshape(count, batch, *part.shape[1:]) for part in found)

    def _ranks(self, g: Tree, outputs: Tensor, owner: Tensor) -> Tensor:
        real = self.family.real_points(g) if self.prior.shared else None
        rank = self.prior.confidence if self.soft else self.prior.rank_among
        return rank(outputs, None if real is None else real[owner])

    def _carried(self, u: Tree, outputs: Tensor) -> Carried:
        answers = self.prior.answers_of(outputs)
        if self.answers == "invariant":
            return Carried(answers)
        if self.answers == "rotations" and answers.shape[-2:] != (3, 3):
            answers = answers.reshape(*answers.shape[:-1], 3, 3)
        return self.family.act(u, answers, self.answers)


class Program(nn.Module):
    r"""A model in evaluation mode as a function of a batch alone.

    Candidates come first; then the network goes over them, ``at_a_time`` of every input at once, in a loop of the
    program; then the maximum, the soft maximum :math:`S_\tau` or the blend is taken. Whether values are finite, and
    whether inputs have anchors of their own, is not checked any more.

    Args:
        forms: a :class:`SomeForms`, or what was traced of one.
        candidates: from a prepared batch to (count, batch, *point).
        at_a_time: candidates of an input that go through the network together; it divides their number.
    """

    def __init__(self, model: Canonicalized, forms: nn.Module, candidates: nn.Module, *, at_a_time: int) -> None:
        super().__init__()
        self.forms, self.candidates = forms, candidates
        self.at_a_time = at_a_time
        self.family, self.prior, self.temperature = model.family, model.prior, model.temperature
        self.kind: Kind = model.answers

    def forward(self, g: Any) -> Tensor:
        g = self.family.prepare(g)
        ranks, *answers = self._over_candidates(g, self.candidates(g))
        if not self.prior.shared:
            return self.prior.scores_of(ranks.amax(0) if self.temperature is None else self._soft(ranks))
        weights = self._weights(ranks).squeeze(2)
        blended = [(expand_over(weights, part) * part).sum(0) for part in answers]
        return settled(Carried(*blended), self.kind).answers

    def _soft(self, ranks: Tensor) -> Tensor:
        assert self.temperature is not None
        return soft_maximum(ranks, self.temperature())

    def _weights(self, ranks: Tensor) -> Tensor:
        return soft_weights(ranks, 0.0 if self.temperature is None else self.temperature())

    def _over_candidates(self, g: Tree, u: Tree) -> tuple[Tensor, ...]:
        if self.at_a_time == tensors(u)[0].shape[0]:
            return self.forms(g, u)
        leaves, structure = tree_flatten(u)
        blocks = [leaf.reshape(-1, self.at_a_time, *leaf.shape[1:]) for leaf in leaves]

        def step(nothing: Tensor, block: list[Tensor]) -> tuple[Tensor, tuple[Tensor, ...]]:
            found = self.forms(g, tree_unflatten(block, structure))
            return nothing.clone(), tuple(part.clone() for part in found)  # parts of one tensor are not allowed

        _, found = scan(step, blocks[0].new_zeros(1), blocks)
        return tuple(part.flatten(0, 1) for part in found)
