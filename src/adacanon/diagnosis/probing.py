"""Whether a network and some data fit together, found out before anything is measured."""

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor

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


def probed(model: Network, inputs: Tensor, labels: Tensor, class_names: Sequence[str] | None) -> Tensor:
    """The outputs for the first inputs; what does not fit the data is refused."""
    rows = inputs[:PROBED]
    try:
        outputs = model(rows)
    except AdacanonError:
        raise
    except (RuntimeError, ValueError, TypeError, IndexError, AssertionError) as error:
        reason = str(error).strip().split("\n")[0]
        raise InputError(
            f"The network refused inputs of shape {tuple(rows.shape)}: {reason}. Hint: {_hint(rows)}"
        ) from error
    if not isinstance(outputs, Tensor) or outputs.dim() != 2 or len(outputs) != len(rows):
        came = tuple(outputs.shape) if isinstance(outputs, Tensor) else type(outputs).__name__
        raise ShapeError(f"The network must return scores of shape ({len(rows)}, classes), got {came}")
    if not bool(outputs.isfinite().all()):
        raise InputError("The network returned NaN or infinite scores. Hint: check its weights and its input range")
    _check_classes(outputs.shape[1], labels, class_names)
    return outputs


def _check_classes(classes: int, labels: Tensor, class_names: Sequence[str] | None) -> None:
    low, high = int(labels.min()), int(labels.max())
    if class_names is not None and len(class_names) != classes:
        names = ", ".join(list(class_names)[:5])
        raise InputError(
            f"The network returns {classes} classes, the data has {len(class_names)} ({names}, ...). "
            "Hint: --classes (in Python class_names) takes the names of all classes of the network, also of those "
            "without data; otherwise its last layer has to be trained for this data"
        )
    if low < 0 or high >= classes:
        raise InputError(
            f"The network returns {classes} classes, but labels go from {low} to {high}, expected 0 to {classes - 1}"
        )


def _hint(inputs: Tensor) -> str:
    if inputs.dim() == 4 and inputs.shape[1] == 1:
        return "a network for colour images takes grey ones with three channels, --channels 3"
    if inputs.dim() == 4:
        return "check the size and the channels that the network takes; --size resizes images"
    return "check the shape that the network takes, and that it takes any number of inputs at a time"
