"""Warnings and notes about samples and outputs: few, alike, contradictory, out of range, not the same twice."""

import hashlib
import math
from collections.abc import Iterator

import torch

from adacanon.diagnosis.cautions import Caution, Seen

FEW = 100
ROUNDING = 5e-3
"""Differences of scores below this share of the largest one may come from rounding in half precision."""

DARK = 1 / 16
"""Images whose brightest value is below this were perhaps scaled twice, or have fewer bits than their files."""


def cautions_about_samples(seen: Seen) -> Iterator[Caution]:
    """All that there are."""
    for check in (_unsteady, _one_class, _copies, _few, _empty_classes, _outputs, _range):
        yield from check(seen)


def _unsteady(seen: Seen) -> Iterator[Caution]:
    """The same inputs in two batches of different sizes."""
    again = seen.outputs[: len(seen.tried)]
    apart, scale = float((again - seen.tried).abs().max()), float(seen.outputs.abs().max())
    if apart > ROUNDING * scale:
        yield Caution(
            "unsteady",
            True,
            f"The network gives other scores for the same inputs when it is called again (by up to {apart:.2g}, scores "
            f"reach {scale:.2g}), in evaluation mode too. It draws at random, or its layers look at the whole batch; "
            "the figures below hold for one such draw. Check that dropout and normalization follow network.eval().",
        )


def _one_class(seen: Seen) -> Iterator[Caution]:
    if len(seen.labels.unique()) == 1:
        only = seen.class_names[int(seen.labels[0])]
        yield Caution(
            "classes",
            True,
            f"All samples are of one class, {only!r}. A network that always answers it would be perfect: these samples "
            "cannot show whether classes are told apart. Bring samples of several classes.",
        )


def _copies(seen: Seen) -> Iterator[Caution]:
    labels: dict[bytes, list[int]] = {}
    for row, label in zip(seen.inputs, seen.labels.tolist(), strict=True):
        labels.setdefault(hashlib.blake2b(row.cpu().numpy().tobytes()).digest(), []).append(label)
    copies = len(seen.labels) - len(labels)
    torn = sum(len(set(found)) > 1 for found in labels.values())
    if torn:
        yield Caution("copies", True, f"{torn} inputs come several times with different labels: some must be wrong.")
    if copies:
        yield Caution(
            "copies",
            False,
            f"{copies} of {len(seen.labels)} samples are exact copies of others. Standard errors count them as "
            "independent, and are too small.",
        )


def _few(seen: Seen) -> Iterator[Caution]:
    n = len(seen.labels)
    if n < FEW:
        yield Caution(
            "samples",
            False,
            f"There are {n} samples: one of them is {100 / n:.1f} points, and a standard error can be "
            f"{50 / math.sqrt(n):.1f} points.",
        )


def _empty_classes(seen: Seen) -> Iterator[Caution]:
    counts = torch.bincount(seen.labels, minlength=len(seen.class_names)).tolist()
    empty = [name for name, count in zip(seen.class_names, counts, strict=True) if not count]
    if empty and len(empty) < len(counts) - 1:
        shown = ", ".join(empty[:12]) + ", ..." * (len(empty) > 12)
        yield Caution("classes", False, f"{len(empty)} of {len(counts)} classes have no samples: {shown}.")


def _outputs(seen: Seen) -> Iterator[Caution]:
    low, high, sums = float(seen.outputs.min()), float(seen.outputs.max()), seen.outputs.sum(-1)
    if low >= 0 and high <= 1 and high > 0 and bool(((sums - 1).abs() > 1e-3).any()):
        yield Caution(
            "outputs",
            False,
            f"All scores lie in [0, 1] ({low:.2g} to {high:.2g}) and do not sum to one, as after a sigmoid. They are "
            "taken for logits: accuracy is right, confidence and calibration say little. Return logits.",
        )


def _range(seen: Seen) -> Iterator[Caution]:
    low, high = float(seen.inputs.min()), float(seen.inputs.max())
    if seen.inputs.dim() != 4:
        return
    if low >= 0 and high < DARK:
        yield Caution(
            "range",
            True,
            f"The brightest value of all images is {high:.4f}, where white is 1. They were perhaps scaled twice, or "
            "have fewer bits than their files have room for. Scale them to [0, 1].",
        )
    if low < 0 or high > 1:
        yield Caution(
            "range",
            False,
            f"Values of the images go from {low:.2g} to {high:.2g}, outside [0, 1]. Figures hold if the network "
            "expects that; pictures are cut to [0, 1], and what is filled with zeros is not black.",
        )
