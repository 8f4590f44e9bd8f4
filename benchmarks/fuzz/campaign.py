"""All cases of a campaign, one after the other, and what came of them."""

import math
import resource
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

from benchmarks.fuzz import commands, constructors, files, inputs, kept, laws, limits
from benchmarks.fuzz.draw import Draw
from benchmarks.fuzz.judging import FINDINGS, Kind, Verdict, judged

Kinds = Mapping[str, tuple[Kind, int]]
"""Names of kinds of cases, and how often each comes in relation to the others."""

AREAS: dict[str, Kinds] = {
    "library": {**constructors.KINDS, **inputs.KINDS, **laws.KINDS, **limits.KINDS},
    "files": files.KINDS,
    "state": kept.KINDS,
    "command line": commands.KINDS,
}
SECONDS = 20.0
"""After which a case counts as a hang. The slowest honest case takes less than two."""
MEMORY = 6 * 2**30
"""Bytes that the process may add: an allocation of terabytes fails at once instead of waking the system's killer."""


@dataclass
class Tally:
    """Outcomes of the cases of one kind.

    Attributes:
        outcomes: how many cases ended in which way.
        seconds: of all cases.
        findings: number of the case and words, of the first few.
    """

    outcomes: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    findings: list[tuple[int, str, str]] = field(default_factory=list)


def numbered(cases: int, areas: Mapping[str, Kinds] = AREAS) -> Iterator[tuple[str, Kind, int]]:
    """The kind of every case: kinds take turns by their weights, so that a short campaign has all of them."""
    turns = [(name, kind) for kinds in areas.values() for name, (kind, weight) in kinds.items() for _ in range(weight)]
    order = sorted(range(len(turns)), key=lambda i: (i * 0.6180339887) % 1)
    for number in range(cases):
        yield (*turns[order[number % len(turns)]], number)


def campaign(
    cases: int,
    seed: int,
    *,
    areas: Mapping[str, Kinds] = AREAS,
    minutes: float = math.inf,
    on_finding: Callable[[str, int, Verdict], None] = lambda name, number, verdict: None,
) -> dict[str, Tally]:
    """Run the cases, or those that fit into the time, and count their outcomes by kind."""
    end = perf_counter() + 60 * minutes
    tallies: dict[str, Tally] = {name: Tally() for kinds in areas.values() for name in kinds}
    with bounded_memory():
        for name, kind, number in numbered(cases, areas):
            start = perf_counter()
            if start > end:
                break
            verdict = judged(kind, Draw(f"{seed}/{name}/{number}"), seconds=SECONDS)
            tally = tallies[name]
            tally.seconds += perf_counter() - start
            tally.outcomes[verdict.outcome] += 1
            if verdict.outcome in FINDINGS:
                tally.findings.append((number, verdict.outcome, verdict.words))
                on_finding(name, number, verdict)
    return tallies


def findings_of(tallies: Mapping[str, Tally]) -> dict[str, int]:
    """How many findings of each kind, zeros included."""
    return {finding: sum(tally.outcomes[finding] for tally in tallies.values()) for finding in FINDINGS}


def repeated(name: str, number: int, seed: int) -> Verdict:
    """One case again."""
    kinds: dict[str, Any] = {key: kind for group in AREAS.values() for key, (kind, _) in group.items()}
    return judged(kinds[name], Draw(f"{seed}/{name}/{number}"), seconds=SECONDS)


@contextmanager
def bounded_memory() -> Iterator[None]:
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    old = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, old[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, old)
