"""Run tests against a mutant, in a fork of a process that has imported torch."""

import importlib.abc
import importlib.util
import json
import os
import resource
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Literal

import pytest

from benchmarks.mutants.reached import HERE, ROOT

Fate = Literal["killed", "too slow", "survived"]
WAITING = 10
"""How many times the time of computing a mutant may take on the clock: other programs compute too."""
IMPORT = "import"
"""Stands for a test where the changed code, or a file of tests, could not be imported."""


@dataclass(frozen=True)
class Outcome:
    """What came of a mutant, and the test that noticed it."""

    fate: Fate
    noticed_by: str = ""


class OneModule(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Gives the changed source when its module is imported."""

    def __init__(self, file: str, source: str) -> None:
        self.path, self.source = ROOT / "src" / file, source
        self.name = file.removesuffix(".py").replace("/", ".")

    def find_spec(self, fullname: str, path: object, target: ModuleType | None = None) -> ModuleSpec | None:
        if fullname != self.name:
            return None
        return importlib.util.spec_from_file_location(fullname, self.path, loader=self)

    def exec_module(self, module: ModuleType) -> None:
        exec(compile(self.source, str(self.path), "exec"), module.__dict__)


@dataclass(eq=False)  # pytest keeps plugins in sets
class Chosen:
    """A plugin of pytest that keeps examples of the file itself and the chosen tests, in this order.

    With no choice, all tests of the files are run.
    """

    tests: Sequence[str]
    failure: str = ""
    _order: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        self._order = {test: number for number, test in enumerate(self.tests)}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        if self.tests:
            kept = [item for item in items if item.nodeid in self._order or item.nodeid.startswith("src/")]
            items[:] = sorted(kept, key=lambda item: self._order.get(item.nodeid, -1))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failure = self.failure or report.nodeid


def fate(file: str, source: str, tests: Sequence[str], *, seconds: float) -> Outcome:
    """Killed if one of some tests fails, by files or by names; too slow if they compute for more than some seconds."""
    assert not any(name.partition(".")[0] == "adacanon" for name in sys.modules), "tests would see what is imported"
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        _run(file, source, tests, seconds, writer)
    os.close(writer)
    end = time.monotonic() + WAITING * seconds
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return _told(os.waitstatus_to_exitcode(status), reader)
        time.sleep(0.02)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(reader)
    return Outcome("too slow")


def _told(code: int, reader: int) -> Outcome:
    with os.fdopen(reader, "rb") as stream:
        said = stream.read()
    if code == -signal.SIGXCPU:
        return Outcome("too slow")
    if code in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        return Outcome("survived")
    if code in (pytest.ExitCode.INTERNAL_ERROR, pytest.ExitCode.USAGE_ERROR):  # that is no test which notices
        return Outcome("survived", f"pytest ended with code {code}")
    return Outcome("killed", json.loads(said) if said else IMPORT)


def _run(file: str, source: str, tests: Sequence[str], seconds: float, writer: int) -> None:
    """In the child: never returns."""
    code = int(pytest.ExitCode.INTERNAL_ERROR)
    try:
        resource.setrlimit(resource.RLIMIT_CPU, (int(_computed() + seconds) + 1, resource.RLIM_INFINITY))
        sys.meta_path.insert(0, OneModule(file, source))
        quiet = os.open(os.devnull, os.O_WRONLY)
        for stream in (1, 2):
            os.dup2(quiet, stream)
        files = dict.fromkeys(test.partition("::")[0] for test in tests)
        chosen = Chosen([test for test in tests if "::" in test])
        switches = ["-x", "-q", "--no-header", "-p", "no:cacheprovider", "--assert=plain", "-k", HERE]
        code = int(pytest.main([*switches, f"src/{file}", *files], plugins=[chosen]))
        os.write(writer, json.dumps(chosen.failure or IMPORT).encode())
    finally:
        os._exit(code)


def _computed() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
