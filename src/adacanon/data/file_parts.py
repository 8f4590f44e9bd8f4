"""Many files that are read in parts, here or elsewhere; what was read before a stop is not read again."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import starmap
from pathlib import Path
from typing import Any

import numpy as np

from adacanon.data.array_cache import remove_arrays_named, store_arrays, stored_arrays
from adacanon.data.official import OnProgress, silent

Arrays = dict[str, np.ndarray]
InOrder = Callable[[Callable[..., Any], Iterable[tuple[Any, ...]]], Iterator[Any]]
"""Calls a function of a module with several arguments and gives the answers in their order, as ``itertools.starmap``
does in this process.
"""

VERSION = 1
"""Part of the names of what is kept. Raise it whenever the same files give other arrays."""


@dataclass(frozen=True)
class Reading:
    """How files are read.

    Attributes:
        in_order: where.
        on_progress: called with the files that are read and with all of them.
        name: under which parts are kept in the cache folder; if it is empty, they are not kept.

    Example:
        >>> Reading().of(Path("official"), "QM9", 1024).name.startswith("import-")
        True
    """

    in_order: InOrder = starmap
    on_progress: OnProgress = silent
    name: str = ""

    def of(self, source: Path, release: str, points: int) -> "Reading":
        """The same, with parts that are kept for an import of this release from this folder."""
        how = f"{VERSION} {source.resolve()} {release} {points}"
        return replace(self, name=f"import-{hashlib.sha256(how.encode()).hexdigest()[:24]}")

    def forget(self) -> None:
        """Remove the parts that are kept."""
        if self.name:
            remove_arrays_named(self.name)


HERE = Reading()
"""In this process; nothing is kept."""


def read_in_parts(
    function: Callable[..., Arrays],
    files: Sequence[Path],
    *columns: Sequence[Any],
    size: int,
    part: str = "",
    before: int = 0,
    total: int = 0,
    reading: Reading = HERE,
) -> Arrays:
    """What a function makes of files, joined along the first axis.

    Args:
        function: of a module; from a list of files, and the entries of ``columns`` that belong to them, to arrays.
        files: all of them.
        columns: what else the function is told of every file.
        size: files of a part.
        part: of the data set, where there are several.
        before: files that were read for other parts of the data set.
        total: files of all parts of the data set, if there are several.
        reading: where they are read, and under which name parts are kept.

    Example:
        >>> lengths = lambda files: {"lengths": np.array([len(file.name) for file in files])}
        >>> read_in_parts(lengths, [Path("a"), Path("bc"), Path("def")], size=2)["lengths"].tolist()
        [1, 2, 3]
    """
    rows = [slice(start, start + size) for start in range(0, len(files), size)]
    digests = [_digest(function, files[some], [column[some] for column in columns]) for some in rows]
    names = [f"{reading.name}-{part or 'all'}-{some.start}" for some in rows]
    kept = [stored_arrays(*key) if reading.name else None for key in zip(names, digests, strict=True)]
    calls = [(files[some], *(column[some] for column in columns)) for some in rows]
    fresh = reading.in_order(function, (call for call, one in zip(calls, kept, strict=True) if one is None))
    done, found = before, list[Arrays]()
    for some, one, name, digest in zip(rows, kept, names, digests, strict=True):
        arrays = next(fresh) if one is None else one
        if one is None and reading.name:
            store_arrays(name, digest, arrays)
        found.append(arrays)
        done += len(files[some])
        reading.on_progress(done, total or len(files))
    return {key: np.concatenate([arrays[key] for arrays in found]) for key in found[0]}


def _digest(function: Callable[..., Arrays], files: Sequence[Path], columns: list[Any]) -> str:
    """A hash of what the arrays of some files depend on: a file that was changed has another time or size."""
    state = [(str(file.absolute()), *_state(file)) for file in files]
    told = (getattr(function, "__qualname__", ""), state, columns)
    return hashlib.sha256(repr(told).encode()).hexdigest()[:24]


def _state(file: Path) -> tuple[int, int]:
    """Size and time of a file; zeros where there is none, which its reader tells better."""
    try:
        found = file.stat()
    except OSError:
        return 0, 0
    return found.st_size, found.st_mtime_ns
