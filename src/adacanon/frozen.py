r"""Frozen backbones: features of a finite set of transformations, computed once.

If only the head of a network is trained and :math:`\mathcal U = \{u_1, \dots, u_K\}`, then
:math:`f_d(\kappa_{u_k}(g)) = h_d(b(\kappa_{u_k}(g)))`, and the features :math:`b(\kappa_{u_k}(g))` never change. A
training step then costs K rows of the head, whatever the backbone. For a finite set the canonicalized network is the
maximum over the orbit per class (as in TI-pooling, Laptev et al., CVPR 2016).
"""

import tokenize
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from adacanon.checked_files import DamagedFileError, opened_checked, set_aside, write_checked
from adacanon.core.evaluation import evaluate
from adacanon.core.family import Family
from adacanon.core.pytree import Tree, batch_size, cast_like, flatten_leading, map_tensors, owners, slice_rows, tensors
from adacanon.core.soft import Temperature, as_temperature, soft_maximum
from adacanon.errors import ShapeError


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
    It ends with a checksum. A damaged shard, and one of other data, is set aside with a warning and computed again; a
    full disk costs only the file. Shards of earlier versions have no checksum: if they have the right shape and
    finite numbers they are used, with one warning, and get their checksum now.

    Args:
        folder: of the shards and nothing else; its name should tell what they depend on.
        samples: how many there are in all.
        features: from a range of samples to their features (count, K, ...).
        shard: samples in one file.
        on_shard: called with the samples that are there so far, and with all.
    """
    parts, taken_over = [], 0
    for rows in shards_of(samples, shard=shard):
        file = shard_file(folder, rows)
        found = _read_shard(file, rows.stop - rows.start)
        if found is None:
            earlier = _earlier_shard(file, rows.stop - rows.start)
            taken_over += earlier is not None
            found = torch.from_numpy(as_stored(features(rows))) if earlier is None else earlier
            write_shard(file, found.numpy())
        parts.append(found)
        on_shard(rows.stop, samples)
    if taken_over:
        warnings.warn(
            f"{taken_over} shards in {folder} were written without checksums by an earlier version. They look right "
            "and were used. Hint: remove the folder to compute them again",
            stacklevel=2,
        )
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
    return folder / f"{rows.start:06d}-{rows.stop:06d}.features"


def as_stored(features: Tensor) -> np.ndarray:
    """Features as files hold them, in half precision."""
    return features.half().cpu().contiguous().numpy()


def is_kept(file: Path) -> bool:
    """Whether there are features in a file, of this version or of an earlier one; whether they are right is seen when
    they are read.
    """
    return file.exists() or file.with_suffix(".npy").exists()


def write_shard(file: Path, array: np.ndarray) -> None:
    """Keep the features of some samples, all of them or none; a full disk costs only the cache."""
    try:
        write_checked(file, lambda stream: np.save(stream, array, allow_pickle=False))
        file.with_suffix(".npy").unlink(missing_ok=True)  # of an earlier version
    except OSError as error:
        warnings.warn(f"Features could not be kept in {file} ({error}); the work goes on", stacklevel=3)


def _read_shard(file: Path, count: int) -> Tensor | None:
    """The features in a file, or None if there are none that can be used."""
    try:
        with opened_checked(file) as stream:
            array = np.load(stream, allow_pickle=False)
    except FileNotFoundError:
        return None
    except DamagedFileError as error:
        set_aside(file, error)
        return None
    except OSError as error:
        warnings.warn(f"{file} cannot be read ({error}); it is computed again", stacklevel=3)
        return None
    if len(array) != count:
        set_aside(file, f"it holds {len(array)} samples, expected {count}")
        return None
    return torch.from_numpy(array)


def _earlier_shard(file: Path, count: int) -> Tensor | None:
    """What an earlier version has written, if it looks right; otherwise it is set aside."""
    earlier = file.with_suffix(".npy")
    try:
        array = np.load(earlier, allow_pickle=False)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, EOFError, SyntaxError, tokenize.TokenError) as error:
        set_aside(earlier, error)
        return None
    if array.ndim < 2 or len(array) != count or array.dtype != np.float16 or not np.isfinite(array).all():
        set_aside(earlier, f"expected finite features of {count} samples in float16, got {array.shape} {array.dtype}")
        return None
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
