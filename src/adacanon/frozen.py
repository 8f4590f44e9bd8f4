r"""Frozen backbones: features of a finite set of transformations, computed once.

If only the head of a network is trained and :math:`\mathcal U = \{u_1, \dots, u_K\}`, then
:math:`f_d(\kappa_{u_k}(g)) = h_d(b(\kappa_{u_k}(g)))`, and the features :math:`b(\kappa_{u_k}(g))` never change. A
training step then costs K rows of the head, whatever the backbone. For a finite set the canonicalized network is the
maximum over the orbit per class (as in TI-pooling, Laptev et al., CVPR 2016).
"""

from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from adacanon.core.family import Family
from adacanon.core.maximizer import evaluate
from adacanon.core.pytree import Tree, batch_size, flatten_leading, map_tensors, owners, tensors
from adacanon.errors import DataError, ShapeError


@torch.no_grad()
def features_of_forms(
    backbone: Callable[[Tree], Tensor], family: Family, points: Tree, g: Tree, *, chunk: int = 64
) -> Tensor:
    """The backbone, as it stands, at every transformation of every input.

    Args:
        backbone: from forms to features (pairs, *features); put it in evaluation mode.
        points: the transformations, (K, *point).
        chunk: pairs per pass.

    Shape:
        g (batch, ...) -> (batch, K, *features)
    """
    g = family.prepare(g)
    batch, count = batch_size(g), batch_size(points)
    every = map_tensors(lambda leaf: leaf.unsqueeze(0).expand(batch, *leaf.shape), points)
    pairs, owner = flatten_leading(every, 2), owners(batch, count, tensors(g)[0].device)
    parts = [
        evaluate(backbone, family, g, map_tensors(lambda leaf, rows=rows: leaf[rows], pairs), owner[rows])
        for rows in torch.arange(batch * count).split(chunk)
    ]
    return torch.cat(parts).unflatten(0, (batch, count))


def stored_features(file: Path, samples: int, batches: Callable[[int], Iterable[Tensor]]) -> Tensor:
    """Features (samples, K, ...) in half precision on the disk, computed where they are not there yet.

    Args:
        file: a ``.npy`` file; one that was left unfinished is gone on with.
        samples: how many there are in all.
        batches: from a number of samples already done to the features (batch, K, ...) of those that follow.
    """
    done_file = file.with_suffix(".done")
    done = int(done_file.read_text()) if done_file.exists() and file.exists() else 0
    array = np.load(file, mmap_mode="r+") if done else None
    if array is not None and (array.shape[0] != samples or array.dtype != np.float16):
        raise DataError(
            f"{file} holds features of {array.shape[0]} samples in {array.dtype}, expected {samples} in float16. "
            "Hint: it belongs to other data, remove it"
        )
    for features in batches(done) if done < samples else ():
        if array is None:
            file.parent.mkdir(parents=True, exist_ok=True)
            shape = (samples, *features.shape[1:])
            array = np.lib.format.open_memmap(file, mode="w+", dtype=np.float16, shape=shape)
        array[done : done + len(features)] = features.cpu().numpy()
        array.flush()
        done += len(features)
        done_file.write_text(str(done))
    if array is None or done < samples:
        raise DataError(
            f"Features of {samples} samples were expected, got {done}. Hint: batches must yield all of them"
        )
    return torch.from_numpy(array)


class OverForms(nn.Module):
    r"""The canonicalized head :math:`\max_k h_d(x_k)` on the features of all forms.

    It is ``Canonicalized(backbone and head, family, GridSearch(points=points))`` on features of that finite set, values
    and gradients of the head alike.

    Args:
        head: from features (rows, *features) to scores (rows, classes).

    Shape:
        (batch, K, *features) -> (batch, classes)

    Example:
        >>> OverForms(nn.Linear(8, 3))(torch.randn(5, 50, 8)).shape
        torch.Size([5, 3])
    """

    def __init__(self, head: nn.Module) -> None:
        super().__init__()
        self.head = head

    def forward(self, features: Tensor) -> Tensor:
        if features.dim() < 3:
            raise ShapeError(
                f"OverForms expects features of shape (batch, forms, ...), got {tuple(features.shape)}. "
                "Hint: features_of_forms gives them"
            )
        rows = features.flatten(0, 1).to(next(self.head.parameters(), features).dtype)
        return self.head(rows).unflatten(0, features.shape[:2]).amax(1)
