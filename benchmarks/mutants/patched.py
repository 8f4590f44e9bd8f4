"""The fast way: everything is imported and collected once, and a mutant is a fork in which one function is changed.

A function keeps its place in the program and gets the changed code, so that whoever holds it runs that. What is
computed at import, such as defaults, constants and bodies of classes, cannot be changed in this way.
"""

import ast
import gc
import json
import os
import resource
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import CodeType, FunctionType

import pytest

from benchmarks.mutants.changes import mutant_at
from benchmarks.mutants.reached import HERE, ROOT, SOURCE, UNIVERSE, files_of
from benchmarks.mutants.trial import WAITING, Outcome


@dataclass(frozen=True)
class Job:
    """A mutant by its place in the list of all of its file, and the tests that it meets."""

    file: str
    number: int
    tests: Sequence[str]
    seconds: float


def library_functions() -> list[FunctionType]:
    """All that were imported."""
    return [f for f in gc.get_objects() if type(f) is FunctionType and f.__code__.co_filename.startswith(SOURCE)]


def changed_functions(
    living: Sequence[FunctionType], file: str, tree: ast.Module, scope: str
) -> list[tuple[FunctionType, CodeType]]:
    """The functions of a scope that the change concerns, each with its changed code; none if only imports see it."""
    path = str(ROOT / "src" / file)
    wanted = [code for code in _codes(compile(tree, path, "exec")) if code.co_qualname == scope]
    pairs = []
    for code in wanted:
        for function in living:
            old, place = function.__code__, (path, scope, code.co_firstlineno)
            if (old.co_filename, old.co_qualname, old.co_firstlineno) == place and old != code:
                pairs.append((function, code))
    return pairs


def _codes(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _codes(constant)


@dataclass(eq=False)
class Patching:
    """A plugin of pytest that, instead of running the tests, runs all jobs; outcomes are written as lines."""

    jobs: Sequence[Job]
    outcomes: Path
    failure: str = ""
    _items: dict[str, pytest.Item] = field(default_factory=dict)
    _living: list[FunctionType] = field(default_factory=list)

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self._items = {item.nodeid: item for item in session.items}
        self._living = library_functions()
        gc.freeze()  # forks would copy what a collection touches
        with self.outcomes.open("a", encoding="utf-8") as stream:
            for job in self.jobs:
                mutant = mutant_at((ROOT / "src" / job.file).read_text(encoding="utf-8"), job.number)
                told = self._outcome(job, mutant.tree, mutant.scope)
                stream.write(json.dumps({"file": job.file, "number": job.number, "outcome": told}) + "\n")
                stream.flush()
        return True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failure = self.failure or report.nodeid

    def _outcome(self, job: Job, tree: ast.Module, scope: str) -> dict[str, str] | None:
        """None where a change is seen by imports alone."""
        pairs = changed_functions(self._living, job.file, tree, scope)
        examples = [name for name in self._items if name.startswith(f"src/{job.file}::")]
        items = [self._items[name] for name in (*examples, *job.tests) if name in self._items]
        return asdict(self._forked(pairs, items, job.seconds)) if pairs else None

    def _forked(
        self, pairs: Sequence[tuple[FunctionType, CodeType]], items: list[pytest.Item], seconds: float
    ) -> Outcome:
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            self._run(pairs, items, seconds, writer)
        os.close(writer)
        end = time.monotonic() + WAITING * seconds
        with os.fdopen(reader, "rb") as stream:
            while time.monotonic() < end:
                done, status = os.waitpid(child, os.WNOHANG)
                if done:
                    code = os.waitstatus_to_exitcode(status)
                    if code == -signal.SIGXCPU:
                        return Outcome("too slow")
                    said = stream.read().decode()
                    return Outcome("killed", said) if said or code else Outcome("survived")
                time.sleep(0.01)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return Outcome("too slow")

    def _run(
        self, pairs: Sequence[tuple[FunctionType, CodeType]], items: list[pytest.Item], seconds: float, writer: int
    ) -> None:
        """In the child: never returns."""
        used = resource.getrusage(resource.RUSAGE_SELF)  # of a child it begins at zero
        limit = int(used.ru_utime + used.ru_stime + seconds) + 1
        resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.RLIM_INFINITY))
        quiet = os.open(os.devnull, os.O_WRONLY)
        for stream in (1, 2):
            os.dup2(quiet, stream)
        try:
            for function, code in pairs:
                function.__code__ = code
            for item, following in zip(items, [*items[1:], None], strict=True):
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
                if self.failure:
                    os.write(writer, self.failure.encode())
                    break
        except BaseException:  # the changed code broke pytest itself, which no test has noticed
            os._exit(0)
        os._exit(0)


def run(jobs: Sequence[Job], outcomes: Path, scratch: Path) -> None:
    """Collect all tests, then try every job."""
    plugin = Patching(jobs, outcomes)
    examples = sorted({f"src/{job.file}" for job in jobs})
    switches = ["-q", "-s", "--no-header", "-p", "no:cacheprovider", "--assert=plain", "-k", HERE]
    code = pytest.main([*switches, f"--basetemp={scratch}", *files_of(UNIVERSE), *examples], plugins=[plugin])
    if code not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        sys.exit(f"pytest ended with code {code}")


if __name__ == "__main__":
    listed, written, place = map(Path, sys.argv[1:])
    run([Job(**row) for row in json.loads(listed.read_text(encoding="utf-8"))], written, place)
