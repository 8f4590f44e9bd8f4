"""Library and files: scores that are not finite, targets of any type, and pictures of any depth."""

import math
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import Tensor, nn

from adacanon import Canonicalized, Confidence, LargestScore, LogSumExp, NegativeEntropy, cross_entropy, one_vs_rest
from adacanon.data.pictures import read_picture
from adacanon.errors import AdacanonError
from adacanon.points import Rotations
from benchmarks.fuzz.draw import Draw
from benchmarks.fuzz.files import folder
from benchmarks.fuzz.judging import SilentlyWrongError
from benchmarks.fuzz.laws import SEARCHES
from benchmarks.fuzz.models import CLASSES, CloudScores, clouds

PRIORS = (None, LargestScore(), LogSumExp(), NegativeEntropy(), Confidence())
TYPES = (torch.int64, torch.uint8, torch.float32, torch.float64, torch.bool, torch.complex64, torch.float16)


class Overflowing(nn.Module):
    """Scores of which some are replaced in some poses."""

    def __init__(self, value: float, columns: slice) -> None:
        super().__init__()
        self.scores, self.value, self.columns = CloudScores(), value, columns

    def forward(self, x: Tensor) -> Tensor:
        scores: Tensor = self.scores(x).clone()
        scores[x[:, 0, 0] > 0, self.columns] = self.value
        return scores


def scores_that_are_not_finite(draw: Draw) -> None:
    """NaN is never an answer; a NaN or an infinite number leaves nothing behind in what a search has learned."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(draw.whole(0, 99))
        network = Overflowing(
            draw.pick([math.nan, math.inf, -math.inf, 1e38, -1e38]), draw.pick([slice(None), slice(1)])
        )
        search, temperature = (
            draw.pick([None, draw.pick(SEARCHES)(draw.whole(1, 9))]),
            draw.pick([0.0, 0.0, 0.5, math.inf]),
        )
        model = Canonicalized(network, Rotations(), search, prior=draw.pick(PRIORS), temperature=temperature)
    model.train(draw.chance(0.3))
    x = clouds(draw)
    with torch.set_grad_enabled(draw.chance(0.5)):
        try:
            answer = draw.pick([lambda: model(x), lambda: model.canonicalize(x).logits])()
            if bool(answer.isnan().any()):
                raise SilentlyWrongError("the answer is NaN")
        except AdacanonError:
            network.value = 0.0
            later = model.eval()(x)
            if not bool(later.isfinite().all()):
                raise SilentlyWrongError("a refused call spoils later ones") from None
            raise


def targets_of_any_type(draw: Draw) -> None:
    """Refused by name, or the loss of torch itself."""
    logits = draw.normal(3, CLASSES)
    low, high = (0, CLASSES - 1) if draw.chance(0.8) else (-1, CLASSES)
    targets = torch.tensor([draw.whole(low, high) for _ in range(3)])
    ours, dtype = draw.pick([one_vs_rest, cross_entropy]), draw.pick(TYPES)
    given: Any = targets.to(dtype)
    given = draw.pick([given, given.tolist(), given.numpy(), given.to_sparse(), given.unsqueeze(1)])
    found = ours(logits, given)
    labels = nn.functional.one_hot(targets, CLASSES).float()
    binary = nn.functional.binary_cross_entropy_with_logits(logits, labels, reduction="none").sum(1).mean()
    known = nn.functional.cross_entropy(logits, targets) if ours is cross_entropy else binary
    if not any(torch.allclose(found, scale * known) for scale in (1.0, 1 / CLASSES)):
        raise SilentlyWrongError(f"a loss of {float(found)} for {given!r}, expected {float(known)}")


def depth_of_a_picture(draw: Draw) -> None:
    """Black is 0 and white is 1 for every depth that is read; where nobody knows what is white it is refused."""
    kind = draw.pick(["u1", "<u2", "<i4", "<f4"])
    ending = draw.pick([".tif"] if kind in ("<i4", "<f4") else [".tif", ".png", ".pgm"])
    white = {"u1": 255, "<u2": 65535, "<i4": draw.pick([1, 255, 65535, 2**31 - 1]), "<f4": draw.pick([1, 255])}[kind]
    values = (white * np.array([[0.0, 0.2, 1.0], [0.4, 0.6, 0.8]])).astype(kind)
    with folder() as place:
        file = place / f"p{ending}"
        Image.fromarray(values).save(file)
        found = read_picture(file).pixels
    if not torch.allclose(found[0], torch.from_numpy((values / white).astype(np.float32)), atol=1e-6):
        raise SilentlyWrongError(f"{values.tolist()} of {kind} in {ending} became {found[0].tolist()}")


KINDS = {
    "limits, scores that are not finite": (scores_that_are_not_finite, 3),
    "limits, targets of any type": (targets_of_any_type, 1),
    "limits, depth of pictures": (depth_of_a_picture, 1),
}
