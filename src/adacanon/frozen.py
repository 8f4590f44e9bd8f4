r"""Frozen backbones: features of a finite set of transformations, computed once.

If only the head of a network is trained and :math:`\mathcal U = \{u_1, \dots, u_K\}`, then
:math:`f_d(\kappa_{u_k}(g)) = h_d(b(\kappa_{u_k}(g)))`, and the features :math:`b(\kappa_{u_k}(g))` never change. A
training step then costs K rows of the head, whatever the backbone. For a finite set the canonicalized network is the
maximum over the orbit per class (as in TI-pooling, Laptev et al., CVPR 2016).
"""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from adacanon.core.evaluation import evaluate
from adacanon.core.family import Family
from adacanon.core.pytree import Tree, batch_size, cast_like, flatten_leading, map_tensors, owners, slice_rows, tensors
from adacanon.core.soft import Temperature, as_temperature, soft_maximum
from adacanon.errors import DataError, ShapeError
from adacanon.files import write_whole


@torch.no_grad()
def features_of_forms(
    backbone: Callable[[Tree], Tensor], family: Family, points: Tree, g: Tree, *, chunk_size: int = 64
) -> Tensor:
    """The backbone, as it stands, at every transformation of every input.

    Args:
        backbone: from forms to features (pairs, *features); put it in evaluation mode.
        points: the transformations, (K, *point).
        chunk_size: pairs per pass.

    Shape:
        g (batch, ...) -> (batch, K, *features)
    """
    g = family.prepare(g)
    batch, count = batch_size(g), batch_size(points)
    every = map_tensors(lambda leaf: leaf.unsqueeze(0).expand(batch, *leaf.shape), cast_like(points, g))
    pairs, owner = flatten_leading(every, 2), owners(batch, count, tensors(g)[0].device)
    parts = [
        evaluate(backbone, family, g, slice_rows(pairs, start, start + chunk_size), owner[start : start + chunk_size])
        for start in range(0, batch * count, chunk_size)
    ]
    return torch.cat(parts).unflatten(0, (batch, count))


SHARD = 250
"""Samples whose features are in one file."""


def stored_features(
    folder: Path,
    samples: int,
    features: Callable[[slice], Tensor],
    *,
    shard: int = SHARD,
    on_shard: Callable[[int, int], None] = lambda done, total: None,
) -> Tensor:
    """Features (samples, K, ...) in half precision, kept on the disk in shards and computed where one is not there yet.

    A shard is written whole or not at all: stopped at any moment, the same call goes on with the first one missing.

    Args:
        folder: of the shards and nothing else; its name should tell what they depend on.
        samples: how many there are in all.
        features: from a range of samples to their features (count, K, ...).
        shard: samples in one file.
        on_shard: called with the samples that are there so far, and with all.
    """
    parts = []
    for rows in shards_of(samples, shard=shard):
        file = shard_file(folder, rows)
        if not file.exists():
            write_shard(file, as_stored(features(rows)))
        parts.append(_read_shard(file, rows.stop - rows.start))
        on_shard(rows.stop, samples)
    return torch.cat(parts)


def shards_of(samples: int, *, shard: int = SHARD) -> list[slice]:
    """Which samples are in one file.

    Example:
        >>> shards_of(600)
        [slice(0, 250, None), slice(250, 500, None), slice(500, 600, None)]
    """
    return [slice(start, min(start + shard, samples)) for start in range(0, samples, shard)]


def shard_file(folder: Path, rows: slice) -> Path:
    """Where the features of some samples are kept."""
    return folder / f"{rows.start:06d}-{rows.stop:06d}.npy"


def as_stored(features: Tensor) -> np.ndarray:
    """Features as files hold them, in half precision."""
    return features.half().cpu().numpy()


def write_shard(file: Path, array: np.ndarray) -> None:
    """Keep the features of some samples, all of them or none."""
    write_whole(file, lambda stream: np.save(stream, array))


def _read_shard(file: Path, count: int) -> Tensor:
    try:
        array = np.load(file, allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise DataError(f"{file} is damaged: {error}. Hint: remove it, it will be computed again") from error
    if len(array) != count or array.dtype != np.float16:
        raise DataError(
            f"{file} holds features of {len(array)} samples in {array.dtype}, expected {count} in float16. "
            "Hint: it belongs to other data, remove it"
        )
    return torch.from_numpy(array)


class OverForms(nn.Module):
    r"""The canonicalized head :math:`\max_k h_d(x_k)` on the features of all forms.

    It is ``Canonicalized(backbone and head, family, GridSearch(points=points))`` on features of that finite set, values
    and gradients of the head alike.

    Args:
        head: from features (rows, *features) to scores (rows, classes).
        temperature: of the soft maximum over the forms; 0 is the maximum, infinity the mean.

    Shape:
        (batch, K, *features) -> (batch, classes)

    Example:
        >>> OverForms(nn.Linear(8, 3))(torch.randn(5, 50, 8)).shape
        torch.Size([5, 3])
    """

    def __init__(self, head: nn.Module, *, temperature: float | Sequence[float] | Tensor | Temperature = 0.0) -> None:
        super().__init__()
        self.head = head
        self.temperature = as_temperature(temperature)

    def forward(self, features: Tensor) -> Tensor:
        if features.dim() < 3:
            raise ShapeError(
                f"OverForms expects features of shape (batch, forms, ...), got {tuple(features.shape)}. "
                "Hint: features_of_forms gives them"
            )
        rows = features.flatten(0, 1).to(next(self.head.parameters(), features).dtype)
        scores = self.head(rows).unflatten(0, features.shape[:2]).transpose(0, 1)
        return scores.amax(0) if self.temperature is None else soft_maximum(scores, self.temperature())
