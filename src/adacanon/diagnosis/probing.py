"""Whether a network and some data fit together, found out before anything is measured."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from adacanon.diagnosis.models import Network
from adacanon.errors import AdacanonError, InputError, ShapeError

PROBED = 8
"""The number of inputs that are tried."""
WHITE = {torch.uint8: 255, torch.uint16: 65535}
"""The largest values of whole numbers without a sign."""


def gathered(loader: Iterable[Any], limit: int | None) -> tuple[Tensor, Tensor]:
    """All inputs and labels of a loader, or the first ``limit``; unsigned numbers are scaled to [0, 1]."""
    inputs, labels, count = list[Tensor](), list[Tensor](), 0
    for batch in loader:
        if not isinstance(batch, tuple | list) or len(batch) != 2:
            raise InputError(f"A loader must give pairs (inputs, labels), got {type(batch).__name__}")
        x, y = map(torch.as_tensor, batch)
        if y.dim() != 1 or len(y) != len(x) or y.is_floating_point():
            raise ShapeError(
                f"Labels must be one class index per input, got {tuple(y.shape)} of {y.dtype} for {len(x)} inputs"
            )
        if not bool(x.isfinite().all()):
            raise InputError(
                f"Inputs must be finite, got NaN or infinite values among samples {count} to {count + len(x) - 1}"
            )
        inputs.append(x.float() / WHITE.get(x.dtype, 1))
        labels.append(y.long())
        count += len(y)
        if limit is not None and count >= limit:
            break
    if not count:
        raise InputError("The loader gave no samples")
    return torch.cat(inputs)[:limit], torch.cat(labels)[:limit]


def probed(model: Network, inputs: Tensor) -> Tensor:
    """The outputs for the first inputs; what are no scores is refused."""
    rows = inputs[:PROBED]
    try:
        outputs = model(rows)
    except AdacanonError:
        raise
    except (RuntimeError, ValueError, TypeError, IndexError, AssertionError) as error:
        reason = str(error).strip().split("\n")[0]
        raise InputError(
            f"The network refused inputs of shape {tuple(rows.shape)}: {reason}. Hint: {shape_hint(model, rows)}"
        ) from error
    if not isinstance(outputs, Tensor) or outputs.dim() != 2 or len(outputs) != len(rows):
        came = tuple(outputs.shape) if isinstance(outputs, Tensor) else type(outputs).__name__
        raise ShapeError(
            f"The network must return scores of shape ({len(rows)}, classes), got {came}. Hint: a function that "
            "returns them alone, such as outputs.logits"
        )
    if outputs.shape[1] == 1:
        raise ShapeError(
            "The network must return one score for each class, got a single one. Hint: for two classes, "
            "torch.cat([-score, score], 1) / 2"
        )
    _check_finite(outputs)
    return outputs


def outputs_of(model: Network, inputs: Tensor, *, batch: int) -> Tensor:
    """For all inputs; scores that cannot be ranked are refused."""
    outputs = torch.cat([model(rows) for rows in inputs.split(batch)])
    _check_finite(outputs)
    return outputs


def _check_finite(outputs: Tensor) -> None:
    bad = (~outputs.isfinite()).any(1).nonzero().flatten()
    if len(bad):
        raise InputError(
            f"The network returned NaN or infinite scores for {len(bad)} of {len(outputs)} samples, the first is "
            f"number {int(bad[0])}. Hint: check its weights and its input range"
        )


def check_classes(classes: int, labels: Tensor, class_names: Sequence[str] | None, source: str) -> None:
    """Refuse names and labels that do not fit so many outputs."""
    low, high = int(labels.min()), int(labels.max())
    if class_names is not None and len(class_names) != classes:
        names = ", ".join(list(class_names)[:5])
        origin = f", named by {source}" if source else ""
        raise InputError(
            f"The network returns {classes} classes, the data has {len(class_names)} ({names}, ...){origin}. "
            "Hint: --classes (in Python class_names) takes the names of all classes of the network, also of those "
            "without data; otherwise its last layer has to be trained for this data"
        )
    if low < 0 or high >= classes:
        raise InputError(
            f"The network returns {classes} classes, but labels go from {low} to {high}, expected 0 to {classes - 1}"
        )


def shape_hint(model: Any, inputs: Tensor) -> str:
    """What to change, told by the first layer of the network where it has one that says."""
    if inputs.dim() != 4:
        return "check the number of points (--points) that the network takes, and that it takes any number of inputs"
    channels, side = inputs.shape[1], inputs.shape[2]
    layers = model.modules() if isinstance(model, nn.Module) else ()
    first = next((layer for layer in layers if isinstance(layer, nn.Conv2d | nn.Linear)), None)
    if isinstance(first, nn.Conv2d) and first.in_channels != channels:
        return f"its first layer takes {first.in_channels} channels, --channels {first.in_channels}"
    if isinstance(first, nn.Linear):
        for wanted in (channels, 1, 3):
            root = math.isqrt(first.in_features // wanted)
            if wanted * root * root == first.in_features and (wanted, root) != (channels, side):
                return f"its first layer takes {first.in_features} numbers, such as --channels {wanted} --size {root}"
    return f"images have {channels} channels; --channels 1 or 3 changes that, and --size resizes them"
