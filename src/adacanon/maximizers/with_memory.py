"""A search that knows the last winners of every training sample."""

import warnings
from collections.abc import Iterator
from copy import copy
from typing import Any

import torch
from torch import Tensor, nn

from adacanon.arguments import MOST, whole_number
from adacanon.core.landscape import Landscape
from adacanon.core.maximizer import Maximizer, SearchResult, Support, as_maximizer
from adacanon.core.pytree import Tree, map_tensors, tensors, where
from adacanon.errors import InputError
from adacanon.maximizers.finalists import first_of_their_kind
from adacanon.maximizers.selection import CandidateSearch, best_in_block, better, check_candidates


class Memory(nn.Module):
    """One transformation for every sample and slot; saved with the model that uses it.

    Args:
        samples: ids are numbers below this.
        slots: winners that are kept for each sample, or None for those of all classes.
    """

    def __init__(self, samples: int, slots: int | None = None) -> None:
        super().__init__()
        hint = "the size of the training set"
        self.samples = whole_number("WithMemory", "samples", samples, least=1, most=MOST, hint=hint)
        self.slots = None if slots is None else whole_number("WithMemory", "slots", slots, least=1)
        self.winners: Tree | None = None
        self.known = torch.zeros(self.samples, dtype=torch.bool)
        self.fresh = torch.zeros(self.samples, dtype=torch.bool)

    def recall(self, ids: Tensor, otherwise: Tree) -> Tree | None:
        """What is stored, as candidates (slots, batch, *point), for unknown samples the points (batch, *point) given;
        None if nothing is known of any of them.
        """
        ids = self._checked(ids)
        known = self.known[ids]
        if self.winners is None or not bool(known.any()):
            return None
        stored = map_tensors(lambda leaf, point: leaf[ids].transpose(0, 1).to(point), self.winners, otherwise)
        slots = tensors(stored)[0].shape[0]
        known = known.to(tensors(otherwise)[0].device).expand(slots, -1)
        return where(known, stored, map_tensors(lambda leaf: leaf.expand(slots, *leaf.shape), otherwise))

    def store(self, ids: Tensor, found: SearchResult) -> None:
        """Keep the winners of the strongest classes."""
        ids = self._checked(ids)
        slots = min(self.slots or found.values.shape[1], found.values.shape[1])
        form = found.values.topk(slots, dim=1).indices
        sample = torch.arange(len(form), device=form.device).unsqueeze(1)
        winners = map_tensors(lambda leaf: leaf[sample, form].cpu(), found.parameters)
        self._write(ids, winners)
        self.fresh[ids] = True

    def _write(self, ids: Tensor, winners: Tree) -> None:
        if self.winners is None:
            self.winners = map_tensors(lambda leaf: leaf.new_zeros(self.samples, *leaf.shape[1:]), winners)
        for stored, new in zip(tensors(self.winners), tensors(winners), strict=True):
            if stored.shape[1:] != new.shape[1:]:
                raise InputError(
                    f"A memory holds transformations of one shape, {tuple(stored.shape[1:])}, "
                    f"got {tuple(new.shape[1:])}. Hint: it cannot serve batches that are padded to different sizes"
                )
            stored[ids] = new
        self.known[ids] = True

    def learned(self) -> tuple[Tensor, Tree | None]:
        """The samples that were stored here since processes last met, and their winners (see ``synchronize``)."""
        ids = self.fresh.nonzero().flatten()
        return ids, None if self.winners is None else map_tensors(lambda leaf: leaf[ids], self.winners)

    def merge(self, learned: list[tuple[Tensor, Tree | None]]) -> None:
        """Store what all processes have learned; of a sample that several have seen, the winners of the first."""
        for ids, winners in reversed(learned):
            if winners is not None and len(ids):
                self._write(ids, winners)
        self.fresh.zero_()

    def _checked(self, ids: Tensor) -> Tensor:
        ids = ids.cpu().long()
        if int(ids.min()) < 0 or int(ids.max()) >= self.samples:
            raise InputError(
                f"WithMemory was made for ids 0..{self.samples - 1}, got {int(ids.min())}..{int(ids.max())}. "
                "Hint: samples= is the size of the training set"
            )
        return ids

    def get_extra_state(self) -> dict[str, Any]:
        return {"winners": self.winners, "known": self.known}

    def set_extra_state(self, state: dict[str, Any]) -> None:
        fits = isinstance(state, dict) and {"winners", "known"} <= state.keys() and isinstance(state["known"], Tensor)
        if not fits or state["known"].dtype != torch.bool or state["known"].dim() != 1:
            raise InputError("The state of a memory cannot be read: it is damaged, or that of something else")
        winners, known = state["winners"], state["known"]
        if len(known) != self.samples:
            raise InputError(
                f"A memory of {self.samples} samples cannot take the state of one of {len(known)}. "
                "Hint: samples= is the size of the training set, the same as before"
            )
        self.winners = None if winners is None else map_tensors(Tensor.clone, winners)  # it is written in place
        self.known = known.clone()
        self.fresh = torch.zeros_like(self.known)


class WithMemory(CandidateSearch):
    """Another search, and beside what it tries the winners that the same sample had at the last call.

    Samples are named by ``ids`` (``model(g, ids=ids)``, ``objective(g, targets, ids)``); without ids nothing is
    remembered, and training warns of it. For samples that come unchanged, epoch after epoch, winners stay where
    they are unless something better is found: with a slot for every class no value falls by an unlucky draw. In
    evaluation mode nothing new is learnt.

    The winners are candidates like others, ``slots`` more for each input and shared by all its classes. Inside a
    :class:`CoarseToFine` they are scored on the coarse view, which is what makes cheap searches good enough to train
    with (``docs/speed.md``).

    In data-parallel training every process remembers the samples that it has seen, until
    :func:`~adacanon.synchronize` gives all of them to all.

    A sample that comes transformed (augmented, or turned at random) has other winners than before, and nothing to gain.

    Args:
        search: what else is tried.
        samples: ids are numbers below this: the size of the training set.
        slots: winners that are kept for each sample, those of the strongest classes; None keeps those of all classes.

    Example:
        >>> from adacanon import CoarseToFine, RandomSearch
        >>> CoarseToFine(WithMemory(RandomSearch(50), samples=3991, slots=4), contenders=0).search.memory.slots
        4
    """

    def __init__(self, search: Maximizer, samples: int, *, slots: int | None = None) -> None:
        self.search, self.memory = as_maximizer(search), Memory(samples, slots)

    def __repr__(self) -> str:
        return f"WithMemory({self.search!r}, samples={self.memory.samples}, slots={self.memory.slots})"

    def search_state(self) -> Iterator[nn.Module]:
        yield self.memory
        yield from self.search.search_state()

    def propose(self, landscape: Landscape, generator: torch.Generator) -> Iterator[Tree]:
        search = check_candidates(self, self.search)
        for number, block in enumerate(search.propose(landscape, generator)):
            yield block
            if number == 0:
                yield from self._recalled(landscape, map_tensors(lambda leaf: leaf[0], block))

    def support(self, landscape: Landscape, *, generator: torch.Generator) -> Iterator[Support]:
        """A remembered winner that is among the other candidates counts once."""
        first, *others = self.propose(landscape, generator)
        points = map_tensors(lambda *leaves: torch.cat(leaves), first, *others)
        yield Support(points, first_of_their_kind(points, landscape.batch))

    def limited(self, count: int) -> "WithMemory":
        few = copy(self)
        few.search = check_candidates(self, self.search).limited(count)
        return few

    def maximize(self, landscape: Landscape, *, generator: torch.Generator) -> SearchResult:
        found = self.search.maximize(landscape, generator=generator)
        for block in self._recalled(landscape, map_tensors(lambda leaf: leaf[:, 0], found.parameters)):
            found = better(found, best_in_block(block, landscape(block)))
        self.learn(landscape, found)
        return found

    def learn(self, landscape: Landscape, found: SearchResult) -> None:
        if not landscape.learning:
            return
        if landscape.ids is not None:
            self.memory.store(landscape.ids, found)
        else:
            warnings.warn(
                "WithMemory is trained without ids and remembers nothing. Hint: objective(g, targets, ids) with the "
                "numbers of the samples, or a search without a memory",
                stacklevel=2,
            )

    def _recalled(self, landscape: Landscape, otherwise: Tree) -> Iterator[Tree]:
        block = None if landscape.ids is None else self.memory.recall(landscape.ids, otherwise)
        if block is not None:
            yield block
