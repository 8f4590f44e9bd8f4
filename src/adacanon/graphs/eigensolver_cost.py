"""What an eigendecomposition costs, said before it starts: times that were measured, and memory that follows from the
sizes.
"""

import os

from adacanon.errors import InputError
from adacanon.notices import warn_caller

DENSE_NODES = 2000
"""Graphs of at most this size are decomposed whole, in a second or two, whatever is asked for."""

WORTH_SAYING = 60.0
"""Seconds from which on an estimate is said."""

_DENSE_SECONDS = 2.0
"""Of a dense decomposition of ``DENSE_NODES`` nodes on one core; the time grows with the third power."""

_FACTORIZED_SECONDS = 3e-6
_LANCZOS_SECONDS = 1.6e-5
"""Per node and eigenpair on one core, for 20,000 nodes and 64 pairs (``python -m benchmarks.graphs.eigensolver``)."""

_MATRICES = 3
"""Dense matrices that a decomposition holds at a time."""


def dense_seconds(nodes: int) -> float:
    """Of a whole decomposition."""
    return _DENSE_SECONDS * (nodes / DENSE_NODES) ** 3


def partial_seconds(nodes: int, pairs: int, *, factorized: bool) -> float:
    """Of some eigenpairs; without factors, iterations grow with the cube root of the nodes."""
    if factorized:
        return _FACTORIZED_SECONDS * nodes * pairs
    return _LANCZOS_SECONDS * nodes * pairs * max(nodes / 20_000, 1.0) ** (1 / 3)


def announce_dense(nodes: int) -> None:
    """Warn of minutes, and refuse what does not fit into memory."""
    if nodes <= DENSE_NODES:
        return
    needed, there = _MATRICES * 8 * nodes**2, memory_bytes()
    hint = (
        "Hint: only some bands, Partition(..., partial=True) or lowest_bands(graph, 64), with a sparse solver; "
        "see docs/graphs.md, 'Large graphs'"
    )
    if needed > there:
        raise InputError(
            f"All eigenvectors of {nodes} nodes need {needed / 2**30:.0f} GB, and this machine has "
            f"{there / 2**30:.0f} GB. {hint}"
        )
    if dense_seconds(nodes) > WORTH_SAYING:
        warn_caller(
            f"All eigenvectors of {nodes} nodes are computed: about {_minutes(dense_seconds(nodes))} on one core and "
            f"{needed / 2**30:.1f} GB. {hint}"
        )


def announce_partial(nodes: int, pairs: int, *, factorized: bool) -> None:
    """Warn of minutes."""
    seconds = partial_seconds(nodes, pairs, factorized=factorized)
    if seconds > WORTH_SAYING:
        warn_caller(
            f"{pairs} eigenpairs of {nodes} nodes are computed: about {_minutes(seconds)} on one core. "
            "Hint: fewer eigenpairs take less; with cache=True they are computed once"
        )


def memory_bytes() -> int:
    """Of this machine."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:.0f} minutes" if seconds >= 90 else "a minute"
