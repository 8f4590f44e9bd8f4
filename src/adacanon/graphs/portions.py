"""Graphs that are worked through in portions, here or in other processes, and kept portion by portion."""

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from itertools import starmap
from multiprocessing import get_context
from typing import Any, TypeVar

T = TypeVar("T")
InOrder = Callable[[Callable[..., Any], Iterable[tuple[Any, ...]]], Iterator[Any]]
"""Calls a function of a module with several arguments and gives the answers in their order, as ``itertools.starmap``
does in this process.
"""
OnProgress = Callable[[int, int], None]
"""Called with the graphs that are done and with all of them."""


def portions_of(count: int, size: int) -> list[range]:
    """Which graphs are computed together.

    Example:
        >>> portions_of(5, 2)
        [range(0, 2), range(2, 4), range(4, 5)]
    """
    return [range(start, min(start + size, count)) for start in range(0, count, size)]


def in_portions(
    function: Callable[[list[Any], int], T],
    graphs: Callable[[range], list[Any]],
    portions: Sequence[range],
    *,
    in_order: InOrder = starmap,
    load: Callable[[range], T | None] = lambda portion: None,
    store: Callable[[range, T], None] = lambda portion, found: None,
    on_progress: OnProgress = lambda done, total: None,
) -> list[T]:
    """What a function finds for the graphs of every portion. What was stored by an earlier call is loaded.

    Args:
        function: from graphs, and the number of the first one, to arrays of numpy: tensors that come from another
            process keep a file open each.
        graphs: those of a portion, made when they are needed.
        in_order: where the function is called.
        load: what is kept for a portion, or None.
        store: keeps it.

    Example:
        >>> in_portions(lambda graphs, first: len(graphs), list, portions_of(5, 2))
        [2, 2, 1]
    """
    found = {portion: load(portion) for portion in portions}
    missing = [portion for portion, one in found.items() if one is None]
    done, total = sum(map(len, portions)) - sum(map(len, missing)), sum(map(len, portions))
    packed = (lambda own: own) if in_order is starmap else pickle.dumps
    calls = ((function, packed(graphs(portion)), portion.start) for portion in missing)
    for portion, one in zip(missing, in_order(_call, calls), strict=True):
        store(portion, one)
        found[portion] = one
        done += len(portion)
        on_progress(done, total)
    return [one for one in found.values() if one is not None]


@contextmanager
def side_by_side(jobs: int) -> Iterator[InOrder]:
    """This process, or a pool of so many others."""
    if jobs == 1:
        yield starmap
        return
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:

        def in_order(function: Callable[..., T], calls: Iterable[tuple[Any, ...]]) -> Iterator[T]:
            futures = [pool.submit(function, *arguments) for arguments in calls]
            return (future.result() for future in futures)

        yield in_order


def _call(function: Callable[[list[Any], int], T], graphs: list[Any] | bytes, first: int) -> T:
    return function(pickle.loads(graphs) if isinstance(graphs, bytes) else graphs, first)
