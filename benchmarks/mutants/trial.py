"""Run tests against a mutant, in a fork of a process that has imported torch."""

import importlib.abc
import importlib.util
import os
import resource
import signal
import sys
import time
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Literal

ROOT = Path(__file__).parents[2]
Fate = Literal["killed", "too slow", "survived"]
WAITING = 10
"""How many times the time of computing a mutant may take on the clock: other programs compute too."""

HERE = "not process and not processes and not compiled"
"""Tests that start other processes are left out, which would not see the change, and those that compile for minutes."""


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


def fate(file: str, source: str, tests: Sequence[str], *, seconds: float) -> Fate:
    """Killed if a test or an example of the file itself fails; too slow if they compute for more than some seconds."""
    assert not any(name.partition(".")[0] == "adacanon" for name in sys.modules), "tests would see what is imported"
    child = os.fork()
    if child == 0:
        _run(file, source, tests, seconds)
    end = time.monotonic() + WAITING * seconds
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return _told(os.waitstatus_to_exitcode(status))
        time.sleep(0.05)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "too slow"


def _told(code: int) -> Fate:
    if code == -signal.SIGXCPU:
        return "too slow"
    return "survived" if code == 0 else "killed"


def _run(file: str, source: str, tests: Sequence[str], seconds: float) -> None:
    """In the child: never returns."""
    code = 3
    try:
        import pytest

        resource.setrlimit(resource.RLIMIT_CPU, (int(_computed() + seconds) + 1, resource.RLIM_INFINITY))
        sys.meta_path.insert(0, OneModule(file, source))
        quiet = os.open(os.devnull, os.O_WRONLY)
        for stream in (1, 2):
            os.dup2(quiet, stream)
        switches = ["-x", "-q", "--no-header", "-p", "no:cacheprovider", "--assert=plain", "-k", HERE]
        code = int(pytest.main([*switches, f"src/{file}", *tests]))
    finally:
        os._exit(code)


def _computed() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
