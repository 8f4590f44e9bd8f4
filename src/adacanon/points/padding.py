"""Clouds of unequal sizes as one batch."""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from adacanon.errors import ShapeError


def padded_clouds(clouds: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """Clouds padded with zeros to the size of the largest, and a mask that is True for real points.

    Shape:
        tensors (points, channels) of any numbers of points -> (batch, most points, channels), (batch, most points)

    Example:
        >>> points, mask = padded_clouds([torch.ones(2, 3), torch.ones(3, 3)])
        >>> points.shape, mask.tolist()
        (torch.Size([2, 3, 3]), [[True, True, False], [True, True, True]])
    """
    if any(not isinstance(cloud, Tensor) for cloud in clouds):
        kinds = sorted({type(cloud).__name__ for cloud in clouds})
        raise ShapeError(f"padded_clouds expects tensors, got {', '.join(kinds)}. Hint: torch.as_tensor(cloud)")
    if len(clouds) == 0 or any(cloud.dim() != 2 or cloud.shape[1] != clouds[0].shape[1] for cloud in clouds):
        shapes = [tuple(cloud.shape) for cloud in clouds]
        raise ShapeError(f"padded_clouds expects tensors (points, channels) of equal channels, got {shapes}")
    sizes = torch.tensor([len(cloud) for cloud in clouds], device=clouds[0].device)
    points = pad_sequence(list(clouds), batch_first=True)
    return points, torch.arange(points.shape[1], device=points.device) < sizes.unsqueeze(1)
