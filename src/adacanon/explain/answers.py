"""Answers that were carried back to the input: masks over images, arrows and colours on clouds, numbers otherwise."""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.functional import interpolate

from adacanon.core.model import CanonicalizedModel
from adacanon.core.pictures import Picture, Pixels, Points
from adacanon.explain.class_axis import class_axis
from adacanon.explain.drawn import GREY, Clouds, Drawn, Line, centred, drawn, of_class, shades
from adacanon.explain.subject import Subject, in_numbers
from adacanon.reports.colours import PALETTE

ARROWS = 64
"""At most on a cloud with a vector for every point."""


def answer_drawn(
    subject: Subject, model: CanonicalizedModel, i: int, picture: Picture, clouds: Clouds
) -> tuple[Drawn | None, str]:
    """The answer for the shown input number i over the picture of the input, if it can be drawn, and in words."""
    answer = subject.found.answers[int(subject.rows[i])].detach().double().cpu()
    axis = class_axis(model.prior, subject.found.answers)
    if model.answers == "maps" and isinstance(picture, Pixels):
        return _map(subject, answer, axis, picture, clouds)
    if isinstance(picture, Points) and model.answers in ("vectors", "rotations"):
        return _arrows(answer, model.answers == "rotations", picture, clouds)
    if isinstance(picture, Points) and answer.dim() >= 1 and len(answer) == len(picture.coordinates):
        return _coloured(subject, answer, axis, picture, clouds)
    if axis == 0 and answer.dim() == 1:
        best = [f"{subject.name(n)} {float(answer[n]):.3g}" for n in answer.argsort(descending=True)[:5].tolist()]
        return None, f"The answer is {subject.name(int(answer.argmax()))}. Scores: {', '.join(best)}."
    return None, f"The answer: {in_numbers(answer).removeprefix('parameters ')}."


def _map(subject: Subject, answer: Tensor, axis: int | None, picture: Pixels, clouds: Clouds) -> tuple[Drawn, str]:
    image = picture.values.detach().double().cpu()
    answer = interpolate(answer.unsqueeze(0), image.shape[-2:], mode="nearest")[0]
    if axis is None:
        shown = drawn(Pixels(answer[:1]), clouds)
        return shown, f"The answer has a number for every pixel, from {answer.min():.3g} to {answer.max():.3g}."
    labels = answer.argmax(axis)
    low, high = float(image.min()), float(image.max())
    grey = ((image - low) / max(high - low, 1e-12)).mean(0)
    mask = torch.tensor(PALETTE, dtype=torch.float64)[labels % len(PALETTE)].permute(2, 0, 1) / 255
    shown = drawn(Pixels(0.45 * grey + 0.55 * mask), clouds)
    return shown, f"The answer is a class for every pixel, carried back to the input: {_shares(subject, labels)}."


def _coloured(subject: Subject, answer: Tensor, axis: int | None, picture: Points, clouds: Clouds) -> tuple[Drawn, str]:
    x, real = centred(picture)
    x = x / x.norm(dim=1).max().clamp(min=1e-12)
    if axis is None or answer.dim() == 1:
        values = answer.flatten(1)[:, 0][real] if answer.dim() > 1 else answer[real]
        said = f"The answer has a number for every point, from {values.min():.3g} to {values.max():.3g}."
        return Drawn("cloud", clouds.add(x, shades(values)), said), said
    labels = answer.argmax(axis)[real]
    said = f"The answer is a class for every point, and stays with it: {_shares(subject, labels)}."
    return Drawn("cloud", clouds.add(x, of_class(labels)), said), said


def _arrows(answer: Tensor, poses: bool, picture: Points, clouds: Clouds) -> tuple[Drawn, str]:
    x, real = centred(picture)
    x = x / x.norm(dim=1).max().clamp(min=1e-12)
    if poses:
        vectors, start = answer.reshape(-1, 3, 3)[0].T, torch.zeros(3, 3)  # columns are the turned axes
        said = "The answer is a pose, carried back to the input: its three axes are drawn as arrows."
    elif answer.dim() > 1 and len(answer) == len(picture.coordinates):
        some = torch.linspace(0, len(real) - 1, min(ARROWS, len(real))).round().long()
        vectors, start = answer.flatten(1)[:, :3][real[some]], x[some]
        said = f"The answer is a vector for every point, carried back to the input; {len(some)} of them are drawn."
    else:
        vectors = answer.reshape(-1, 3)
        start = torch.zeros(len(vectors), 3)
        told = "; ".join(f"({', '.join(f'{c:.3g}' for c in v)})" for v in vectors.tolist())
        said = f"The answer is {'a vector' if len(vectors) == 1 else 'vectors'}, carried back to the input: {told}."
    return Drawn("cloud", clouds.add(x, torch.full((len(x),), GREY), _lines(start, vectors)), said), said


def _lines(start: Tensor, vectors: Tensor) -> Sequence[Line]:
    """The longest has the length 0.9 from the middle, or 0.3 on the cloud."""
    longest = float(vectors.norm(dim=1).max().clamp(min=1e-12))
    scale = (0.9 if not bool(start.any()) else 0.3) / longest
    colours = range(len(vectors)) if len(vectors) <= 3 else [3] * len(vectors)
    return [(a, a + scale * v, n) for a, v, n in zip(start, vectors, colours, strict=True)]


def _shares(subject: Subject, labels: Tensor) -> str:
    numbers, counts = labels.unique(return_counts=True)
    order = counts.argsort(descending=True).tolist()
    told = [f"{subject.name(int(numbers[n]))} {100 * float(counts[n]) / labels.numel():.0f} %" for n in order[:6]]
    return ", ".join(told) + ", …" * (len(order) > 6)
