"""The published folds of Errica et al., "A Fair Comparison of Graph Neural Networks for Graph Classification", 2020."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from adacanon.errors import DataError
from adacanon.folders import cache_folder, data_folder

SOURCE = "https://github.com/diningphil/gnn-comparison (data_splits)"


@dataclass(frozen=True)
class Fold:
    """Indices of graphs, from 0: the inner training and validation parts, and the test part of an outer fold."""

    train: Tensor
    validation: Tensor
    test: Tensor


def load_fair_splits(name: str, *, graphs: int) -> list[Fold]:
    """The ten folds of a data set from ``TUDataset/fair_splits/<name>_splits.json`` in the data or cache folder.

    Args:
        name: as the file is called; PROTEINS_full has the graphs of PROTEINS in the same order.
        graphs: how many the data set has.
    """
    places = [root / "TUDataset" / "fair_splits" / f"{name}_splits.json" for root in _roots()]
    found = [place for place in places if place.exists()]
    if not found:
        raise DataError(
            f"The folds of {name} were looked for in {' and '.join(map(str, places))}. Hint: put the file "
            f"{name}_splits.json of {SOURCE} there"
        )
    return read_fair_splits(found[0], graphs=graphs)


def read_fair_splits(file: Path, *, graphs: int) -> list[Fold]:
    """The folds of a file, after checking that each divides the graphs and that the test parts cover them once.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> folds = [{"test": [i], "model_selection": [{"train": [1 - i], "validation": [2]}]} for i in (0, 1)]
        >>> folds.append({"test": [2], "model_selection": [{"train": [0], "validation": [1]}]})
        >>> with TemporaryDirectory() as folder:
        ...     _ = (Path(folder) / "folds.json").write_text(json.dumps(folds))
        ...     read_fair_splits(Path(folder) / "folds.json", graphs=3)[0].train
        tensor([1])
    """
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        folds = [_fold(one) for one in content]
    except (OSError, ValueError, KeyError, IndexError, TypeError) as error:
        raise DataError(
            f"{file}: expected a list of folds with 'test' and 'model_selection', got {type(error).__name__}: {error}"
        ) from error
    for number, fold in enumerate(folds):
        _check(f"{file}, fold {number}", torch.cat([fold.train, fold.validation, fold.test]), graphs)
    _check(f"{file}, all test parts", torch.cat([fold.test for fold in folds]), graphs)
    return folds


def _fold(content: Any) -> Fold:
    inner = content["model_selection"][0]
    parts = (inner["train"], inner["validation"], content["test"])
    return Fold(*(torch.tensor(part, dtype=torch.int64) for part in parts))


def _check(what: str, index: Tensor, graphs: int) -> None:
    if not torch.equal(index.sort().values, torch.arange(graphs)):
        raise DataError(
            f"{what}: expected every graph 0..{graphs - 1} once, got {len(index)} indices, "
            f"{len(index.unique())} of them different. Hint: fetch the file again from {SOURCE}"
        )


def _roots() -> list[Path]:
    return [folder for folder in (data_folder(), cache_folder()) if folder is not None]
