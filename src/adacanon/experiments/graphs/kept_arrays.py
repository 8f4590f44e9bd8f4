"""What is derived from the graphs of a data set, in portions: each is on the disk until the whole is."""

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from itertools import starmap
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from adacanon.data.array_cache import cached_arrays, is_stored, remove_arrays, store_arrays, stored_arrays
from adacanon.data.official import OnProgress, silent
from adacanon.errors import DataError
from adacanon.graphs.portions import InOrder, in_portions, portions_of
from adacanon.reports.progress import passes_bar
from adacanon.runs.executors import Executor
from adacanon.runs.executors.executor import calls_on

Arrays = dict[str, np.ndarray]


class Portions(NamedTuple):
    """Where portions of graphs are worked through, and who is told how far it is.

    Example:
        >>> list(Portions().in_order(pow, [(2, 3)]))  # in this process
        [8]
    """

    in_order: InOrder = starmap
    on_progress: OnProgress = silent


HERE = Portions()


@dataclass(frozen=True)
class GraphArrays:
    """A data set from which arrays are derived.

    Attributes:
        name: the beginning of the names of files.
        fingerprint: a hash of all graphs.
        count: of graphs.
        graphs: those of a portion.
    """

    name: str
    fingerprint: str
    count: int
    graphs: Callable[[range], list[Any]]

    def kept(
        self, what: str, function: Callable[[list[Any], int], Arrays], *, size: int, portions: Portions = HERE
    ) -> dict[str, Tensor]:
        """What a function finds for graphs: from the disk, or computed in portions of some size, which are on the disk
        until the whole is. Arrays of portions are joined along the first axis.
        """
        name, ranges = f"{self.name}-{what}", portions_of(self.count, size)

        def compute() -> Arrays:
            found = in_portions(
                function,
                self.graphs,
                ranges,
                in_order=portions.in_order,
                load=lambda portion: stored_arrays(f"{name}-{portion.start}", self.fingerprint),
                store=lambda portion, arrays: store_arrays(f"{name}-{portion.start}", self.fingerprint, arrays),
                on_progress=portions.on_progress,
            )
            return {key: np.concatenate([arrays[key] for arrays in found]) for key in found[0]}

        arrays = cached_arrays(name, self.fingerprint, compute)
        for portion in ranges if is_stored(name, self.fingerprint) else []:
            remove_arrays(f"{name}-{portion.start}", self.fingerprint)
        return {key: torch.from_numpy(array) for key, array in arrays.items()}


def prepare_columns(
    columns: Iterable[str], prepare: Callable[[str, Portions], object], *, executor: Executor, show: bool
) -> None:
    """Prepare the graphs of every column on an executor, with a bar each. Runs without data fail one by one, later."""
    for column in columns:
        with suppress(DataError), passes_bar(f"graphs of {column}", show=show) as on_progress:
            prepare(column, Portions(calls_on(executor), on_progress))


def distinct(values: Iterable[Any]) -> list[Any]:
    """Each value once, in the order in which they come.

    Example:
        >>> distinct([3, 1, 3])
        [3, 1]
    """
    return list(dict.fromkeys(values))
