"""Linear classifiers on the features of windows: what they see in training, and what in the test."""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional

from adacanon.core import Temperature, one_vs_rest
from adacanon.errors import InputError
from adacanon.experiments.images.window_features import WindowFeatures
from adacanon.frozen import OverForms
from adacanon.runs.run import Settings, number
from adacanon.training.learner import Criterion, Inputs, Learner

Seen = Literal["whole", "centre", "random", "all"]
Tested = Literal["whole", "centre", "mean", "max", "soft"]
CRITERIA: dict[str, Criterion] = {"cross-entropy": functional.cross_entropy, "one-vs-rest": one_vs_rest}


@dataclass(frozen=True)
class Softness:
    """How the scores of windows are pooled by a soft maximum.

    Attributes:
        temperature: from the maximum, 0, to the mean, infinity.
        scores: "logits", or "log-probabilities", of which the soft maximum at temperature 1 is the mean of
            probabilities, given as a logarithm.
        learned: start at this temperature and learn it.
    """

    temperature: float
    scores: Literal["logits", "log-probabilities"] = "logits"
    learned: bool = False

    def pooled(self, linear: nn.Module) -> OverForms:
        """The soft maximum over windows of a classifier's scores."""
        head = linear if self.scores == "logits" else nn.Sequential(linear, nn.LogSoftmax(-1))
        temperature = Temperature(self.temperature, learned=True) if self.learned else self.temperature
        return OverForms(head, temperature=temperature)


def softness_of(options: Settings) -> Softness:
    """What settings say about the soft maximum."""
    return Softness(number(options["temperature"]), options["scores"], options.get("learned", False))


class WindowClassifier(nn.Module):
    r"""A linear map :math:`h` on features of windows :math:`x_k`, pooled where there are several.

    Args:
        linear: from features to classes.
        pooling: of several windows, the maximum :math:`\max_k h_d(x_k)` per class, which is truncation
            canonicalization, the mean of their probabilities, given as a logarithm, or a soft maximum.

    Shape:
        one window, (batch, features), or several, (batch, windows, features) -> (batch, classes)
    """

    def __init__(self, linear: nn.Linear, pooling: Literal["max", "mean"] | Softness) -> None:
        super().__init__()
        self.linear, self.pooling = linear, pooling
        self.soft = pooling.pooled(linear) if isinstance(pooling, Softness) else None

    def forward(self, features: Tensor) -> Tensor:
        if features.dim() == 2:
            return self.linear(features.float())
        if self.soft is not None:
            return self.soft(features)
        if self.pooling == "max":
            return OverForms(self.linear)(features)
        return self.linear(features.float()).softmax(-1).mean(1).log()


def window_learner(
    data: WindowFeatures,
    linear: nn.Linear,
    *,
    seen: Seen,
    tested: Tested,
    loss: str,
    windows: int,
    centre: int = 0,
    softness: Softness | None = None,
) -> Learner:
    """A linear classifier, by what it sees.

    Args:
        seen: in training: the whole image, the centre, one window at random for every image and epoch, or all windows.
        tested: the whole image, the centre, or the mean, the maximum or a soft maximum over all windows.
        loss: "cross-entropy" or "one-vs-rest".
        windows: use this many windows, largest first; the first one is the whole image.
        centre: the index of the window that is the centre.
        softness: of the soft maximum.
    """
    one: dict[str, Inputs] = {
        "whole": lambda index: (data.features[index, 0],),
        "centre": lambda index: (data.features[index, centre],),
        "random": lambda index: (data.features[index, torch.randint(windows, (len(index),))],),
    }

    def every(index: Tensor) -> tuple[Tensor]:
        return (data.features[index, :windows],)

    module = WindowClassifier(linear, softness or ("mean" if tested == "mean" else "max"))
    return Learner(module, data.labels, one.get(tested, every), CRITERIA[loss], one.get(seen, every))


def central_window(windows: Tensor, side: int, *, pixels: int) -> int:
    """The place of the central window of a side in a list (windows, 4)."""
    first = (pixels - side) // 2
    places = (windows == torch.tensor([first, first, side, side])).all(1).nonzero().flatten().tolist()
    if not places:
        raise InputError(f"There is no central window of {side} pixels among the {len(windows)}")
    return places[0]
