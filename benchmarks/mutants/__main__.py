"""Which changes of the code does no test notice? ``python -m benchmarks.mutants --each 10 --seed 0``

First every test is run on the unchanged code, and what it enters is recorded. Then come the mutants by hand, each of
which breaks a law, and some of every chosen file, drawn at random; a mutant meets the tests that enter the changed
function. At last every test that noticed one is run three times more on the unchanged code, in any order. What has been
tried is kept in ``build/mutants``, so that a run that was stopped goes on. Survivors are listed with their places.
"""

import importlib
import json
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import tyro

from benchmarks.mutants.changes import Mutant, count_of, mutant_at
from benchmarks.mutants.named import NAMED
from benchmarks.mutants.patched import Job
from benchmarks.mutants.reached import ROOT, UNIVERSE, Reached, digest, files_of, load
from benchmarks.mutants.selection import FIRST, Selection, seconds_of
from benchmarks.mutants.survivors import EQUIVALENT
from benchmarks.mutants.targets import TARGETS
from benchmarks.mutants.trial import IMPORT, Outcome, fate
from benchmarks.mutants.trials import Trials

Row = dict[str, str | int | float | None]

WARM = (
    *("numpy", "torch", "torch_geometric.data", "torch_geometric.utils", "pytest", "scipy.sparse", "scipy.stats"),
    *("scipy.spatial", "scipy.optimize", "networkx", "hypothesis", "roma"),
)
"""Imported once, before the first fork; nothing of adacanon may be among them."""
LEAST = 90
"""Percent of the mutants that tests must notice; the exit code is 1 if they notice fewer."""
KEPT = ROOT / "build" / "mutants"
ROUNDS = 3
SMALL_LAWS = "/test_small_laws"
"""Tests of what mutants had broken unnoticed; some of them read defaults, and enter no function of the file."""
TWICE = "tried in both ways"


@dataclass(frozen=True)
class Options:
    """Which mutants are tried."""

    files: tuple[str, ...] = TARGETS
    each: int = 10
    """Mutants of every file at most."""
    named: bool = True
    """Try the mutants by hand too."""
    seed: int = 0
    seconds: float = 10.0
    """Of computing, for the tests that one mutant meets; how long they take is known from the unchanged code."""
    json: Path | None = None
    known: bool = False
    """Report what runs with these options have tried so far, and try nothing."""


def main() -> None:
    options = tyro.cli(Options, description=__doc__)
    if options.known:
        report_known(options)
        return
    known = recorded()
    trials = Trials(KEPT / "trials.jsonl", state_of_tests())
    for name in WARM:
        importlib.import_module(name)
    rows, survivors = list[Row](), list[dict[str, str]]()
    if options.named:
        rows.append(by_hand(options, survivors))
    noticing = Counter[str]()
    chosen = {file: drawn(file, options) for file in options.files}
    selection = Selection(known)
    try_quickly(chosen, selection, trials, options.seconds)
    for file, some in chosen.items():
        rows.append(of_file(file, some, options, selection, trials, survivors, noticing))
    check_without_change(sorted(test for test, count in noticing.items() if count), known)
    rows.append(total(rows))
    print("\n".join("  ".join(f"{value}" for value in row.values()) for row in rows))
    print("\n".join(["Survivors:", *(f"{row['place']}: {row['change']} ({row['reason']})" for row in survivors)]))
    write(options, rows, survivors)
    sys.exit(any(bool(row["mutants"]) and float(row["share"] or 0) < LEAST for row in (rows[0], rows[-1])))


def report_known(options: Options) -> None:
    """Without the mutants by hand, and without the last check."""
    trials, survivors, rows = Trials(KEPT / "trials.jsonl", ""), list[dict[str, str]](), list[Row]()
    for file in options.files:
        tried = {mutant: trials.latest(file, mutant) for mutant in drawn(file, options).values()}
        fates = Counter(told.fate for told in tried.values() if told)
        survivors += [as_survivor(file, mutant) for mutant, told in tried.items() if told and told.fate == "survived"]
        rows.append(as_row(file, fates.total(), fates.total() - fates["survived"], fates["too slow"]))
    rows = [row for row in rows if row["mutants"]]
    write(options, [*rows, total(rows)], survivors, so_far=True)


def as_survivor(file: str, mutant: Mutant) -> dict[str, str]:
    reason = EQUIVALENT.get((file, mutant.scope, mutant.words), "no test")
    return {"place": f"{file}, line {mutant.line}", "change": mutant.words, "reason": reason}


def recorded() -> dict[str, Reached]:
    """What every test enters, one process for each folder: importing the library here would hide the mutants."""
    store = KEPT / "reached.json"
    known = load(store)
    for place in UNIVERSE:
        files = files_of([place])
        if not all(file in known for file in files):
            program = [sys.executable, "-m", "benchmarks.mutants.reached", str(store), *files]
            subprocess.run(program, check=True, cwd=ROOT)
    wanted = set(files_of(UNIVERSE))
    return {test: reached for file, tests in load(store).items() if file in wanted for test, reached in tests.items()}


def state_of_tests() -> str:
    return sha256("".join(digest(file) for file in files_of(UNIVERSE)).encode()).hexdigest()[:16]


def by_hand(options: Options, survivors: list[dict[str, str]]) -> Row:
    noticed = 0
    for law, file, old, new, tests in NAMED:
        source = (ROOT / "src" / file).read_text(encoding="utf-8")
        if source.count(old) != 1:
            sys.exit(f"{file} no longer holds {old!r} once: mend benchmarks/mutants/named.py")
        if fate(file, source, tests, seconds=10 * options.seconds).fate != "survived":
            sys.exit(f"Without a change, these tests fail or take too long: {' '.join(tests)}")
        if fate(file, source.replace(old, new), tests, seconds=10 * options.seconds).fate != "survived":
            noticed += 1
        else:
            survivors.append({"place": file, "change": law, "reason": "no test"})
        print(f"{law}: {noticed} noticed so far", flush=True)
    return as_row("by hand", len(NAMED), noticed, 0)


def drawn(file: str, options: Options) -> dict[int, Mutant]:
    """Some mutants of a file, by their places among all; more of them begin with the same ones."""
    source = (ROOT / "src" / file).read_text(encoding="utf-8")
    count = count_of(source)
    places = random.Random(f"{options.seed}/{file}").sample(range(count), k=count)[: options.each]
    return {place: mutant_at(source, place) for place in places}


def try_quickly(
    chosen: Mapping[str, Mapping[int, Mutant]], selection: Selection, trials: Trials, seconds: float
) -> None:
    """Those that are not known yet and change a function, in a process that has imported everything."""
    jobs = list[Job]()
    for file, some in chosen.items():
        for place, mutant in some.items():
            if trials.outcome(file, mutant) is None:
                tests = selection.tests(file, mutant.scope, seconds=seconds)
                jobs.append(Job(file, place, tests, 20 + 5 * seconds_of(tests, selection.known)))
    with TemporaryDirectory() as folder:
        listed, written = Path(folder) / "jobs.json", Path(folder) / "outcomes.jsonl"
        listed.write_text(json.dumps([asdict(job) for job in jobs]), encoding="utf-8")
        program = [sys.executable, "-m", "benchmarks.mutants.patched", str(listed), str(written), f"{folder}/scratch"]
        with subprocess.Popen(program, cwd=ROOT, stdout=subprocess.DEVNULL) as running:
            for row in followed(written, running):
                if row["outcome"] is not None:
                    outcome = Outcome(**row["outcome"])
                    mutant = chosen[row["file"]][row["number"]]
                    trials.add(row["file"], mutant, outcome)
                    words = f"{row['file']}, line {mutant.line}, {mutant.scope}: {mutant.words}"
                    print(f"  {outcome.fate}: {words} {outcome.noticed_by}", flush=True)
    if running.returncode:
        sys.exit("The tests could not be collected: python -m benchmarks.mutants.patched")


def followed(file: Path, running: "subprocess.Popen[bytes]") -> Iterator[dict[str, Any]]:
    """Lines of a file that another process writes, as they come, until it ends."""
    position, ended = 0, False
    while not ended:
        ended = running.poll() is not None
        lines = file.read_bytes()[position:] if file.exists() else b""
        whole = lines[: lines.rfind(b"\n") + 1]
        position += len(whole)
        yield from map(json.loads, whole.splitlines())
        time.sleep(0.0 if ended else 0.5)


def of_file(
    file: str,
    chosen: Mapping[int, Mutant],
    options: Options,
    selection: Selection,
    trials: Trials,
    survivors: list[dict[str, str]],
    noticing: Counter[str],
) -> Row:
    found = Counter[str]()
    for mutant in chosen.values():
        told = trials.outcome(file, mutant)
        if told is None or told == Outcome("survived"):  # the fast way does not see what is computed at import
            told = tried(file, mutant, selection, options.seconds, thorough=told is None)
            told = replace(told, noticed_by=told.noticed_by or TWICE)
            trials.add(file, mutant, told)
        found[told.fate] += 1
        noticing[told.noticed_by] += told.fate == "killed"
        if told.fate == "survived":
            survivors.append(as_survivor(file, mutant))
            print(f"  survived: {survivors[-1]}", flush=True)
    noticed = len(chosen) - found["survived"]
    print(f"{file}: {noticed} of {len(chosen)} noticed", flush=True)
    return as_row(file, len(chosen), noticed, found["too slow"])


def tried(file: str, mutant: Mutant, selection: Selection, seconds: float, *, thorough: bool) -> Outcome:
    """In the slow way, which sees what is computed at import, too: a few tests first, then the others."""
    tests = selection.tests(file, mutant.scope, seconds=seconds)
    laws = [test for test in selection.known if SMALL_LAWS in test]
    for some in filter(None, ([*tests[:FIRST], *laws], tests[FIRST:] if thorough else [])):
        told = fate(file, mutant.source, some, seconds=20 + 5 * seconds_of(some, selection.known))
        if told.fate != "survived":
            return told
    return Outcome("survived")


def check_without_change(noticing: Sequence[str], known: dict[str, Reached]) -> None:
    """Tests that fail without a change, in another order or now and then, would notice every mutant."""
    tests = [test for test in noticing if test not in ("", IMPORT, TWICE)]
    file = TARGETS[0]
    source = (ROOT / "src" / file).read_text(encoding="utf-8")
    for number in range(ROUNDS):
        random.Random(number).shuffle(tests)
        told = fate(file, source, tests, seconds=300 + 5 * seconds_of(tests, known))
        if told.fate != "survived":
            sys.exit(f"Without a change, this test fails or takes too long: {told.noticed_by}")
    print(f"All {len(tests)} tests that noticed a mutant pass {ROUNDS} times without a change", flush=True)


def as_row(file: str, count: int, noticed: int, slow: int) -> Row:
    share = round(100 * noticed / count, 1) if count else None
    return {"file": file, "mutants": count, "noticed": noticed, "by time": slow, "share": share}


def total(rows: Sequence[Row]) -> Row:
    return as_row("all", *(sum(int(row[name] or 0) for row in rows) for name in ("mutants", "noticed", "by time")))


def write(options: Options, rows: list[Row], survivors: list[dict[str, str]], *, so_far: bool = False) -> None:
    if options.json is not None:
        title = f"Mutants that tests notice, {options.each} of every file at most, seed {options.seed}"
        title += ", as far as they have been tried" if so_far else ""
        options.json.write_text(json.dumps({"title": title, "rows": rows, "survivors": survivors}, indent=2) + "\n")


if __name__ == "__main__":
    main()
