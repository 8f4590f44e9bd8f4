"""What coarse views say of classes, set right by what whole inputs say."""

from typing import Any

import torch
from torch import Tensor, nn

from adacanon.arguments import real_number, whole_number
from adacanon.core.landscape import Landscape
from adacanon.core.pytree import Tree, map_tensors, tensors
from adacanon.errors import InputError
from adacanon.notices import warn_caller
from adacanon.synchronization import in_several_processes

Learned = tuple[Tensor | None, Tensor]
"""Moments, and for every class how many batches have entered them since processes last met."""


class Calibration(nn.Module):
    r"""For every class the line :math:`y \approx \bar y + a(x - \bar x)` that predicts its score y on an input from its
    score x on the coarse view.

    A view ranks poses well, but not classes: fewer points shift and stretch the scores of every class by an amount of
    its own. In training mode, a few inputs of every batch are therefore evaluated both ways at a pose that the search
    has found, and the line follows from running moments. In evaluation mode nothing is learnt.

    Give the same object to the search of training and to that of evaluation; it is saved with the model.

    In data-parallel training every process learns from its own inputs, until :func:`~adacanon.synchronize` gives all
    processes the mean: that of one process which had compared all those inputs. An evaluation before that warns.

    Args:
        inputs: of every batch that are evaluated on the whole input too, once each.
        forget: share of what is known that a batch replaces.

    Example:
        >>> from adacanon import CoarseToFine
        >>> CoarseToFine(calibration=Calibration(inputs=4)).calibration
        Calibration(inputs=4, forget=0.02)
    """

    def __init__(self, inputs: int = 4, forget: float = 0.02) -> None:
        super().__init__()
        self.inputs = whole_number("Calibration", "inputs", inputs, least=1)
        self.forget = real_number("Calibration", "forget", forget)
        if not 0 < self.forget <= 1:
            raise InputError(f"A calibration needs forget in (0, 1], got {forget=}")
        self.moments: Tensor | None = None
        self.batches = torch.tensor(0)
        self._common = self.batches
        self._alone = False

    def extra_repr(self) -> str:
        return f"inputs={self.inputs}, forget={self.forget}"

    def forward(self, values: Tensor) -> Tensor:
        """Values (..., forms) on views as they would be on the inputs; as they are if nothing is known."""
        if self.moments is None:
            return values
        if self._alone and not self.training:
            self._alone = False
            warn_caller(
                "A calibration has learned in one of several processes, and answers differ between them. "
                "Hint: adacanon.synchronize(model) in all processes, before an evaluation"
            )
        x, y, square, product = self.moments.to(values)
        spread, common = (square - x * x).clamp(min=0), product - x * y
        prior = spread.mean() / 10  # a slope is one unless there is evidence against it
        slope = ((common + prior) / (spread + prior).clamp(min=torch.finfo(values.dtype).tiny)).clamp(0.1, 10)
        return y + slope * (values - x)

    def learn(self, landscape: Landscape, view: Landscape, points: Tree, *, generator: torch.Generator) -> None:
        """Compare both at points (batch, forms, *point), one for each of some inputs; nothing in evaluation mode."""
        if not landscape.learning:
            return
        forms = tensors(points)[0].shape[1]
        owner = torch.randperm(landscape.batch, generator=generator)[: self.inputs]
        form = torch.randint(forms, owner.shape, generator=generator)
        chosen = map_tensors(lambda leaf: leaf[owner.to(leaf.device), form.to(leaf.device)], points)
        owner = owner.to(landscape.device)
        self._alone = in_several_processes()
        self._update(view.scores(chosen, owner).cpu(), landscape.scores(chosen, owner).cpu())

    def _update(self, x: Tensor, y: Tensor) -> None:
        """Running moments of scores (inputs, classes) on views and on inputs; infinite ones say nothing of a class."""
        products = torch.stack([x, y, x * x, x * y])
        finite = products.isfinite().all(0)
        count = finite.sum(0)
        seen = torch.where(finite, products, 0.0).sum(1) / count.clamp(min=1)
        self.batches = self.batches + (count > 0).long()
        weight = torch.where(count > 0, (1 / self.batches.clamp(min=1)).clamp(min=self.forget), 0.0).to(seen)
        self.moments = torch.lerp(torch.zeros_like(seen) if self.moments is None else self.moments, seen, weight)

    def get_extra_state(self) -> dict[str, Any]:
        return {"moments": self.moments, "batches": self.batches}

    def set_extra_state(self, state: dict[str, Any]) -> None:
        fits = isinstance(state, dict) and {"moments", "batches"} <= state.keys()
        moments: Any = state["moments"] if fits else "missing"
        batches: Any = state["batches"] if fits else "missing"
        known = moments is None or (isinstance(moments, Tensor) and bool(moments.isfinite().all()))
        if not known or not isinstance(batches, Tensor | int):
            raise InputError("The state of a calibration cannot be read: it is damaged, or that of something else")
        self.moments, self.batches = moments, torch.as_tensor(batches)
        self._common = self.batches

    def learned(self) -> Learned:
        """What has been learned here since processes last met (see ``synchronize``)."""
        return self.moments, self.batches - self._common

    def merge(self, learned: list[Learned]) -> None:
        """Running moments are sums: their mean over processes is what one process learns from all their inputs. A
        process that has seen nothing of a class does not count for it.
        """
        known = [(moments, gained) for moments, gained in learned if moments is not None]
        if known:
            total = torch.stack([gained.expand(moments.shape[1:]) for moments, gained in known]).sum(0)
            mean = torch.stack([moments * gained for moments, gained in known]).sum(0) / total.clamp(min=1)
            self.moments = torch.where(total > 0, mean, known[0][0])
            self.batches = self._common + torch.stack([gained.expand_as(total) for _, gained in known]).amax(0)
        self._common, self._alone = self.batches, False
