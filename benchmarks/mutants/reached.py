"""Which functions every test reaches, and how long it takes: recorded once, so that a mutant meets its own tests first.

A test is recorded in the unchanged code. One that fails there is left out: it would notice every mutant.
"""

import json
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = f"{ROOT / 'src'}/"
UNIVERSE = (
    *(f"tests/{name}" for name in ("core", "maximizers", "spaces", "training", "graphs", "points", "images", "theory")),
    *(f"tests/test_{name}.py" for name in ("files", "power_loss", "checked_files", "frozen")),
    *("tests/testing", "tests/runs/test_runs.py", "tests/benchmarks/test_mutants.py"),
)
"""Tests that may notice a mutant."""
HERE = "not process and not processes and not compiled"
"""Tests that start other processes are left out, which would not see the change, and those that compile for minutes."""


@dataclass(frozen=True)
class Reached:
    """What one test did: the functions that it entered, as ``file:qualified name``."""

    seconds: float
    functions: frozenset[str]


def function_of(code: CodeType) -> str | None:
    """``file:Class.method`` of code of the library; what is inside of a function counts as that function."""
    if not code.co_filename.startswith(SOURCE) or code.co_name == "<module>":
        return None
    return f"{code.co_filename.removeprefix(SOURCE)}:{code.co_qualname.partition('.<locals>')[0]}"


@dataclass(eq=False)  # pytest keeps plugins in sets
class Recorder:
    """A plugin of pytest that remembers what is entered while a test runs, its fixtures included."""

    found: dict[str, Reached] = field(default_factory=dict)
    failed: set[str] = field(default_factory=set)
    _entered: set[CodeType] = field(default_factory=set)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._entered, begin = set(), time.process_time()
        threading.settrace(self._enter)
        sys.settrace(self._enter)
        try:
            return (yield)
        finally:
            sys.settrace(None)
            threading.settrace(None)  # type: ignore[arg-type]
            names = {name for code in self._entered if (name := function_of(code))}
            self.found[item.nodeid] = Reached(round(time.process_time() - begin, 3), frozenset(names))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.add(report.nodeid)

    def _enter(self, frame: FrameType, event: str, argument: Any) -> None:
        self._entered.add(frame.f_code)


def record(files: Iterable[str]) -> dict[str, Reached]:
    """Of the tests in some files, those that pass."""
    recorder = Recorder()
    pytest.main(["-q", "--no-header", "-p", "no:cacheprovider", "-k", HERE, *files], plugins=[recorder])
    library = sys.modules.get("adacanon")
    if library is not None and not str(library.__file__).startswith(SOURCE):
        sys.exit(f"The tests took adacanon from {library.__file__}, expected {SOURCE}. Hint: pip install --editable .")
    return {test: reached for test, reached in recorder.found.items() if test not in recorder.failed}


def files_of(places: Sequence[str]) -> list[str]:
    """All files of tests in folders, and files by name."""
    every: list[str] = []
    for place in places:
        path = ROOT / place
        found = [path] if path.is_file() else sorted(path.rglob("test_*.py"))
        every += [str(file.relative_to(ROOT)) for file in found]
    return every


def digest(file: str) -> str:
    return sha256((ROOT / file).read_bytes()).hexdigest()[:16]


def load(store: Path) -> dict[str, dict[str, Reached]]:
    """What is known of every file whose text is still the same."""
    if not store.exists():
        return {}
    known = json.loads(store.read_text(encoding="utf-8"))
    names = known["functions"]
    return {
        file: {
            test: Reached(seconds, frozenset(names[index] for index in indices))
            for test, (seconds, indices) in known["tests"][file].items()
        }
        for file in known["tests"]
        if (ROOT / file).is_file() and known["digests"][file] == digest(file)
    }


def save(store: Path, every: dict[str, dict[str, Reached]]) -> None:
    names = sorted({name for tests in every.values() for reached in tests.values() for name in reached.functions})
    index = {name: number for number, name in enumerate(names)}
    tests = {
        file: {
            test: (reached.seconds, sorted(index[name] for name in reached.functions)) for test, reached in of.items()
        }
        for file, of in every.items()
    }
    content = {"functions": names, "digests": {file: digest(file) for file in every}, "tests": tests}
    store.parent.mkdir(parents=True, exist_ok=True)
    store.write_text(json.dumps(content), encoding="utf-8")


def main(store: Path, files: Sequence[str]) -> None:
    """Record the files that are not known yet."""
    every = load(store)
    missing = [file for file in files if file not in every]
    if missing:
        found = record(missing)
        for file in missing:
            every[file] = {test: reached for test, reached in found.items() if test.partition("::")[0] == file}
        save(store, every)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
