"""Does work that meets a fault at a random moment end with the result of undisturbed work?

Four kinds of work (``interrupted_work.py``) are done in processes. Each fault has a fresh folder. It is one of

- kill: the process gets SIGKILL, as from a machine that runs out of memory;
- terminate: it gets SIGTERM;
- power: it is killed, and what it had not forced to the disk is gone (``power_loss.py``); databases are torn;
- full: from that moment on no file may grow beyond some bytes, as on a full disk;
- vanished: the files of caches and features are removed under the running process;
- unwritable: a file stands in the place of the folder of caches and features.

Then the same work is done in the same folder without a fault, and its result is compared with that of undisturbed work.
With the last three faults the process may also end by itself: what it reports must then be right, too. Records that
were reported before the fault must still be there in the end. The exit code is 1 if anything differs.
"""

import importlib
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

from benchmarks.frame import measure
from benchmarks.speed.interrupted_work import WORKS
from benchmarks.speed.power_loss import forgetful_disk, lose_power

KILLS = ("kill", "terminate", "power")
DISKS = ("full", "vanished", "unwritable")
CACHED = ("cache", "features")
BYTES_OF_A_FULL_DISK = 2000


def started(work: str, root: Path, memory: Path, answer: Path) -> int:
    """Do some work in a process of its own; its number. The result goes to the file ``answer``."""
    process = os.fork()
    if process:
        return process
    os.setpgid(0, 0)  # its own group: subprocesses end with it
    sys.stdout = sys.stderr = answer.with_suffix(".log").open("w")
    code = 1
    try:
        with forgetful_disk(root, memory), warnings.catch_warnings():
            warnings.simplefilter("default")
            result = WORKS[work](root)
        answer.write_text(result)
        code = 0
    except BaseException as error:  # the process must not go on as a second benchmark
        print(type(error).__name__, error, flush=True)
    finally:
        os._exit(code)


PRELOADED = ("optuna", "rich.progress", "roma", "sympy", "torch.distributed.fsdp", "torch.distributed.tensor")
"""What work imports late. Faults are to hit the work, and not the loading of libraries."""


def undisturbed(work: str, folder: Path) -> tuple[str, float]:
    """The result, and the seconds that it took."""
    answer = folder / "undisturbed"
    begin = time.perf_counter()
    os.waitpid(started(work, fresh(folder / "whole"), folder / "memory", answer), 0)
    return answer.read_text(), time.perf_counter() - begin


def fresh(root: Path) -> Path:
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    return root


def faulted(work: str, fault: str, folder: Path, moment: float, draw: random.Random, expected: str) -> bool:
    """Meet a fault at a moment; False if the work was through before."""
    root, memory, answer = fresh(folder / "root"), folder / "memory", folder / "answer"
    answer.unlink(missing_ok=True)
    process = started(work, root, memory, answer)
    time.sleep(moment)
    if os.waitpid(process, os.WNOHANG) != (0, 0):
        return False
    records = lines_of(root)
    restore = FAULTS[fault](process, root)
    os.waitpid(process, 0)
    if fault == "power":
        lose_power(root, memory, draw=draw)
    restore()
    if answer.exists() and answer.read_text() != expected:
        raise AssertionError(f"{work} reported another result after {fault} at {moment:.3f} s")
    lost = records - lines_of(root)
    if len(lost) > (fault == "power"):  # the last one may have been written, but not yet forced and reported
        raise AssertionError(f"{fault} at {moment:.3f} s lost {len(lost)} records of {work}")
    return True


def lines_of(root: Path) -> set[str]:
    """The records that are whole."""
    files = root.glob("results/*.jsonl")
    return {line for file in files for line in file.read_text().splitlines(keepends=True) if line.endswith("\n")}


def _signalled(number: int) -> Callable[[int, Path], Callable[[], None]]:
    def fault(process: int, root: Path) -> Callable[[], None]:
        os.kill(process, number)
        return lambda: None

    return fault


def _full(process: int, root: Path) -> Callable[[], None]:
    resource.prlimit(process, resource.RLIMIT_FSIZE, (BYTES_OF_A_FULL_DISK, resource.RLIM_INFINITY))
    return lambda: None


def _vanished(process: int, root: Path) -> Callable[[], None]:
    for name in CACHED:
        shutil.rmtree(root / name, ignore_errors=True)
    return lambda: None


def _unwritable(process: int, root: Path) -> Callable[[], None]:
    """Also for the administrator, who may write where others may not."""
    for name in CACHED:
        shutil.rmtree(root / name, ignore_errors=True)
        if not (root / name).exists():
            (root / name).write_text("in the way")

    def restore() -> None:
        for name in CACHED:
            if (root / name).is_file():
                (root / name).unlink()

    return restore


FAULTS: dict[str, Callable[[int, Path], Callable[[], None]]] = {
    "kill": _signalled(signal.SIGKILL),
    "terminate": _signalled(signal.SIGTERM),
    "power": _signalled(signal.SIGKILL),
    "full": _full,
    "vanished": _vanished,
    "unwritable": _unwritable,
}


def cases(kills: int, disks: int) -> list[tuple[str, str]]:
    """Pairs of work and fault, as evenly as they go; only work with caches meets faults of the cache."""
    pairs = [(work, fault) for work in WORKS for fault in KILLS]
    found = [pairs[i % len(pairs)] for i in range(kills)]
    cached = [(w, f) for w in WORKS for f in DISKS if f == "full" or w in ("features", "caches")]
    return found + [cached[i % len(cached)] for i in range(disks)]


def measured(kills: int, disks: int, *, seed: int = 0, works: tuple[str, ...] = tuple(WORKS)) -> list[measure.Row]:
    """Faults and identical results, by work and fault."""
    for library in PRELOADED:
        importlib.import_module(library)
    draw, rows = random.Random(seed), dict[tuple[str, str], measure.Row]()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        whole = {work: undisturbed(work, folder) for work in works}
        for case in [case for case in cases(kills, disks) if case[0] in works]:
            work, fault = case
            expected, seconds = whole[work]
            row = rows.setdefault(case, {"work": work, "fault": fault, "faults": 0, "identical": 0, "left files": 0})
            moment = draw.uniform(0, seconds)
            while not faulted(work, fault, folder, moment, draw, expected):
                moment *= 0.8
            row["faults"] += 1
            row["left files"] += any((folder / "root").rglob("*"))
            os.waitpid(started(work, folder / "root", folder / "memory", folder / "answer"), 0)
            row["identical"] += (folder / "answer").read_text() == expected
    return list(rows.values())


def main(arguments: list[str] | None = None) -> int:
    parser = measure.options(__doc__ or "")
    parser.add_argument("--kills", type=int, default=100, help="faults that end the process")
    parser.add_argument("--disks", type=int, default=32, help="faults of the disk, which it should survive")
    parser.add_argument("--works", nargs="+", choices=WORKS, default=list(WORKS))
    options = measure.start(parser, arguments)
    begin = time.perf_counter()
    rows = measured(options.kills, options.disks, seed=options.seed, works=tuple(options.works))
    faults, identical = (sum(row[name] for row in rows) for name in ("faults", "identical"))
    title = f"{identical} of {faults} results are identical after a fault, in {time.perf_counter() - begin:.0f} s"
    measure.report(rows, title=title, path=options.json)
    return 0 if identical == faults else 1


if __name__ == "__main__":
    raise SystemExit(main())
