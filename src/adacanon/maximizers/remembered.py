"""A search that knows the last winners of every training sample."""

from typing import Any

import torch
from torch import Tensor, nn

from adacanon.core.maximizer import Found, Landscape, Maximizer
from adacanon.core.pytree import Tree, map_tensors, tensors
from adacanon.errors import InputError
from adacanon.maximizers.selection import better


class Remembered(nn.Module, Maximizer):
    """Another search, and beside its outcome the winners that the same sample had at the last call.

    Samples are named by ``ids`` (``model(g, ids=ids)``, ``objective(g, targets, ids)``); without ids nothing is
    remembered. For samples that come unchanged, epoch after epoch, the values then never fall by an unlucky draw, and
    winners stay where they are unless something better is found. One more evaluation per class.

    A sample that comes transformed (augmented, or turned at random) has other winners than before, and nothing to gain.

    The store is part of the model's ``state_dict``. It holds one transformation per sample and class.

    Args:
        maximizer: the search.
        samples: ids are numbers below this.
    """

    def __init__(self, maximizer: Maximizer, samples: int) -> None:
        super().__init__()
        self.maximizer, self.samples = maximizer, samples
        self.winners: Tree | None = None
        self.known = torch.zeros(samples, dtype=torch.bool)

    def extra_repr(self) -> str:
        return f"{self.maximizer!r}, samples={self.samples}"

    def maximize(self, landscape: Landscape, *, generator: torch.Generator) -> Found:
        found = self.maximizer.maximize(landscape, generator=generator)
        if landscape.ids is None:
            return found
        ids = self._checked(landscape.ids)
        if self.winners is not None and bool(self.known[ids].any()):
            found = better(found, self._from_last_time(landscape, found, ids))
        self._store(ids, found)
        return found

    def _from_last_time(self, landscape: Landscape, found: Found, ids: Tensor) -> Found:
        points = map_tensors(lambda leaf, now: leaf[ids].to(now), self.winners, found.parameters)
        values = landscape.values(map_tensors(lambda leaf: leaf.unsqueeze(0), points))[0]
        known = self.known[ids].to(values.device)
        return Found(points, torch.where(known.unsqueeze(1), values, -torch.inf), exact=True)

    def _store(self, ids: Tensor, found: Found) -> None:
        if self.winners is None:
            self.winners = map_tensors(
                lambda leaf: leaf.new_zeros(self.samples, *leaf.shape[1:]).cpu(), found.parameters
            )
        for stored, new in zip(tensors(self.winners), tensors(found.parameters), strict=True):
            stored[ids] = new.cpu()
        self.known[ids] = True

    def _checked(self, ids: Tensor) -> Tensor:
        ids = ids.cpu().long()
        if int(ids.min()) < 0 or int(ids.max()) >= self.samples:
            raise InputError(
                f"Remembered was made for ids 0..{self.samples - 1}, got {int(ids.min())}..{int(ids.max())}. "
                "Hint: samples= is the size of the training set"
            )
        return ids

    def get_extra_state(self) -> dict[str, Any]:
        return {"winners": self.winners, "known": self.known}

    def set_extra_state(self, state: dict[str, Any]) -> None:
        self.winners, self.known = state["winners"], state["known"]
