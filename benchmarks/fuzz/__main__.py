"""Run the campaign: ``python -m benchmarks.fuzz --cases 50000 --seed 1``; findings end in exit code 1."""

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import tyro

from benchmarks.frame.measure import table
from benchmarks.fuzz import report
from benchmarks.fuzz.campaign import AREAS, campaign, findings_of, repeated
from benchmarks.fuzz.judging import Verdict


@dataclass(frozen=True)
class Options:
    """Which cases are run."""

    cases: int = 50_000
    seed: int = 0
    minutes: float = math.inf
    """Stop after this time, even if cases are left."""
    areas: tuple[str, ...] = tuple(AREAS)
    """Only these: library, files, state, "command line"."""
    folder: Path = Path("build/fuzz")
    """Where the page and the figures go."""
    kind: str | None = None
    """Repeat one case of this kind, and show what it raises."""
    number: int = 0


def main() -> None:
    options = tyro.cli(Options, description=__doc__)
    torch.set_num_threads(1)
    if options.kind is not None:
        verdict = repeated(options.kind, options.number, options.seed)
        print(f"{verdict.outcome} {verdict.words}")
        return
    areas: Mapping[str, Any] = {name: AREAS[name] for name in options.areas}
    tallies = campaign(options.cases, options.seed, areas=areas, minutes=options.minutes, on_finding=tell)
    tallies = {**{name: report.Tally() for kinds in AREAS.values() for name in kinds}, **tallies}
    rows, title = report.rows_of(tallies), report.title_of(options.seed, tallies)
    page, figures = report.write(options.folder, title, rows, tallies)
    print(f"\n{title}\n{table(rows)}\nThe page: {page}\nThe figures: {figures}")
    sys.exit(any(findings_of(tallies).values()))


def tell(name: str, number: int, verdict: Verdict) -> None:
    print(f"{verdict.outcome}: {name}, number {number}: {verdict.words}", flush=True)


if __name__ == "__main__":
    main()
