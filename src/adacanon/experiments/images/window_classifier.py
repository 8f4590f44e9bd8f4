"""Linear classifiers on the features of windows: what they see in training, and what in the test."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from adacanon.core.loss import one_vs_rest
from adacanon.errors import InputError
from adacanon.experiments.images.window_features import WindowFeatures
from adacanon.frozen import OverForms

Seen = Literal["whole", "centre", "random", "all"]
Tested = Literal["whole", "centre", "mean", "max"]
CRITERIA: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "cross-entropy": functional.cross_entropy,
    "one-vs-rest": one_vs_rest,
}


@dataclass(frozen=True)
class WindowClassifier:
    r"""A linear map :math:`h` on the features :math:`x_k` of windows :math:`k`, the first being the whole image.

    Attributes:
        module: the map, from 512 features to classes.
        seen: in training: the whole image, the centre, one window at random for every image and epoch, or all with
            their maximum per class, which is truncation canonicalization.
        tested: the whole image, the centre, the mean of the probabilities of all windows, or the maximum
            :math:`\max_k h_d(x_k)` per class.
        loss: "cross-entropy" or "one-vs-rest".
        windows: so many windows, the largest ones, are all.
        centre: the window that is the centre.
    """

    module: nn.Linear
    data: WindowFeatures
    seen: Seen
    tested: Tested
    loss_name: str
    windows: int
    centre: int

    @property
    def labels(self) -> Tensor:
        return self.data.labels

    def scores(self, index: Tensor) -> Tensor:
        """What is tested; probabilities are given as logarithms."""
        if self.tested in ("whole", "centre"):
            return self._at(index, self.centre if self.tested == "centre" else 0)
        features = self.data.features[index, : self.windows]
        if self.tested == "max":
            return OverForms(self.module)(features)
        return self.module(features.float()).softmax(-1).mean(1).log()

    def criterion(self, scores: Tensor, targets: Tensor) -> Tensor:
        return CRITERIA[self.loss_name](scores, targets)

    def loss(self, index: Tensor) -> Tensor:
        return self.criterion(self._trained_on(index), self.labels[index])

    def _trained_on(self, index: Tensor) -> Tensor:
        if self.seen == "all":
            return OverForms(self.module)(self.data.features[index, : self.windows])
        if self.seen == "random":
            return self._at(index, torch.randint(self.windows, (len(index),)))
        return self._at(index, self.centre if self.seen == "centre" else 0)

    def _at(self, index: Tensor, window: int | Tensor) -> Tensor:
        return self.module(self.data.features[index, window].float())


def central_window(windows: Tensor, side: int, *, pixels: int) -> int:
    """The place of the central window of a side in a list (windows, 4)."""
    first = (pixels - side) // 2
    places = (windows == torch.tensor([first, first, side, side])).all(1).nonzero().flatten().tolist()
    if not places:
        raise InputError(f"There is no central window of {side} pixels among the {len(windows)}")
    return places[0]
