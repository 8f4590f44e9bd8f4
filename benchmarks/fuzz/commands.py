"""Command line: mistakes in words, options, models, data and records; never a traceback."""

import contextlib
import io
import json
import os
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch
from PIL import Image

from adacanon.cli import COMMANDS, main
from adacanon.experiments.catalogue import TABLES
from benchmarks.fuzz.draw import Draw
from benchmarks.fuzz.files import folder
from benchmarks.fuzz.judging import RefusedError, SilentlyWrongError
from benchmarks.fuzz.mutation import damaged, reworded

WORDS = ("", "-1", "0", "1.5", "nan", "inf", "x", "--", "--no-such", "é", "/dev/null", "../..", "10" * 20, "a,b", ",")
MODEL = """
import torch
from torch import nn

class Half(nn.Module):
    def forward(self, images):
        rows = images.mean((1, 3))
        return torch.stack([rows[:, :2].mean(1), rows[:, 2:].mean(1)], 1)

def half(): return Half()
def needs(classes, *, width): return Half()
def fails(): return {}["missing"]
def number(): return 7
def other(): return nn.Linear(3, 2)
def scalar(): return lambda images: images.mean()
INSTANCE = Half()
broken = None
"""
NAMES = ("half", "half", "half", "needs", "fails", "number", "other", "scalar", "INSTANCE", "broken", "missing", "")


@cache
def place() -> Path:
    """A small model and small data, made once for all cases."""
    root = Path(_kept().name)
    (root / "model.py").write_text(MODEL)
    (root / "syntax.py").write_text("def half(:")
    for name in ("up", "down"):
        (root / "images" / name).mkdir(parents=True)
        for i in range(3):
            pixels = np.full((4, 4), 40 * i, np.uint8)
            pixels[slice(0, 2) if name == "up" else slice(2, 4)] = 250
            Image.fromarray(pixels).save(root / "images" / name / f"{i}.png")
    np.savez(root / "d.npz", images=np.zeros((4, 4, 4), np.uint8), labels=np.array([0, 1, 1, 0]))
    return root


@cache
def _kept() -> TemporaryDirectory[str]:
    return TemporaryDirectory(prefix="adacanon-fuzz-commands-")


def mistaken_words(draw: Draw) -> None:
    """Commands, options and values that do not exist; each command line has at least one mistake."""
    command = draw.pick([*COMMANDS, draw.pick(WORDS)])
    words = [command, *(draw.pick([*WORDS, *TABLES]) for _ in range(draw.whole(0, 2)))]
    options = ("--rows", "--threads", "--results", "--trials", "--preset", "--data", "--seed", "--limit", "--points")
    for _ in range(draw.whole(0, 2)):
        words += [draw.pick(options), draw.pick(WORDS)]
    called([*words, "--no-such-option"] if command in ("demo", "run", "tune", "figure") else words)


def tables(draw: Draw) -> None:
    """Tables with options out of range: nothing is trained before that is told."""
    table = draw.pick(sorted(TABLES))
    wrong = draw.pick(
        [
            ["run", table, "--threads", "0"],
            ["run", table, "--rows", draw.pick(["no such row", ",", " "])],
            ["run", table, "--columns", "no such column"],
            ["run", "no-such-table"],
            ["tune", table, "--trials", draw.pick(["0", "-3", "x"])],
            ["tune", table, "--threads", "0"],
            ["figure", draw.pick(["continuity", "chairs"]), "--threads", "0"],
            ["figure", "stability", "--results", "no/such/folder"],
            ["data", "import", draw.pick(["/no/such", str(place()), "/dev/null"]), "--output", str(place() / "out")],
            ["report", table, "--results", draw.pick(["/dev/null", "no/such", str(place() / "model.py")])],
            ["list", "--results", draw.pick(["/dev/null", "no/such"])],
        ]
    )
    called(wrong)


def damaged_records(draw: Draw) -> None:
    """A report from records whose lines or fields were changed."""
    table = draw.pick(["toy", "tu", "modelnet", "temperature", "cifar", "nodes"])
    lines = _records(table)
    if not lines:
        return
    line = draw.pick(lines)
    record = json.loads(line)
    field = draw.pick(sorted(record))
    way = draw.whole(0, 3)
    if way == 0:
        del record[field]
    elif way == 1:
        record[field] = draw.pick([None, {}, [], "x", -1, 1e400, True, {"a": None}])
    content = json.dumps(record) + "\n"
    with folder() as results:
        file = results / f"{table}.jsonl"
        others = "".join(other + "\n" for other in lines[:20] if other != line)
        content = reworded(draw, content) if way == 2 else content
        file.write_bytes(damaged(draw, content.encode()) if way == 3 else (others + content).encode())
        called(["report", table, "--results", str(results)])


@cache
def _records(table: str) -> tuple[str, ...]:
    file = Path(__file__).parents[2] / "results" / f"{table}.jsonl"
    return tuple(file.read_text().splitlines()) if file.exists() else ()


def brought(draw: Draw) -> None:
    """A model or data that the doctor or the page of an answer cannot use."""
    root = place()
    own = f"{root}/model.py:{draw.pick(NAMES)}"
    model = draw.pick([own, own, own, f"{root}/syntax.py:half", "no.such:thing", "torch.nn:Linear"])
    data = draw.pick([root / "images", root / "images", root / "d.npz", root / "model.py", root / "none", root])
    words = [draw.pick(["doctor", "explain"]), model, "--data", str(data)]
    options = {
        "--classes": ["up", "up down", "up,down,up", "none.txt", "left,right", ""],
        "--limit": ["0", "2", "-1"],
        "--samples": ["0", "2", "99"],
        "--index": ["0", "77", "-1"],
        "--size": ["0", "1", "4", "-2"],
        "--channels": ["0", "3", "7"],
        "--candidates": ["0", "1", "-1"],
        "--temperatures": ["-1", "0", "nan"],
        "--temperature": ["-1", "0.5", "nan"],
        "--families": ["rotation", "none", "reflection"],
        "--family": ["rotation", "none", "reflection"],
        "--weights": [str(root / "d.npz"), "none.pth"],
        "--threads": ["0", "1"],
        "--stated-accuracy": ["2", "-1", "nan", "0.5"],
        "--moves": ["0", "-1", "1"],
        "--top": ["0", "9"],
        "--seed": ["-1", "1.5"],
    }
    for option in draw.random.sample(sorted(options), k=draw.pick([0, 1, 1, 2, 3])):
        words += [option, *draw.pick(options[option]).split(" ")]
    words += ["--output", str(root / ("out" if words[0] == "doctor" else "out.html"))]
    called(words if words[0] == "explain" or "--candidates" in words else [*words, "--candidates", "1"])


def called(words: list[str]) -> None:
    """A named error or help: exit code 2, or 0 and 1 where all or some went well; a traceback is a raw exception."""
    outputs = io.StringIO()
    threads = torch.get_num_threads()
    try:
        with (
            _without_data(),
            contextlib.redirect_stdout(outputs),
            contextlib.redirect_stderr(outputs),
            torch.random.fork_rng(devices=[]),  # a factory of the user may draw weights
        ):
            code = main(words)
    except SystemExit as error:  # by tyro, which has printed what is wrong
        code = error.code if isinstance(error.code, int) else 1
    finally:
        torch.set_num_threads(threads)
    if "Traceback" in outputs.getvalue():
        raise SilentlyWrongError(f"{' '.join(words)}: a traceback was printed")
    if code not in (0, 1, 2):
        raise SilentlyWrongError(f"{' '.join(words)}: exit code {code}")
    if code:
        raise RefusedError(f"exit code {code}")


@contextlib.contextmanager
def _without_data() -> Iterator[None]:
    """No command finds data or writes to the user's cache; what it adds to the search path goes away with it."""
    known = {name: os.environ.get(name) for name in ("ADACANON_DATA", "ADACANON_CACHE")}
    path, folder_before = list(sys.path), os.getcwd()
    os.environ["ADACANON_CACHE"] = str(place() / "cache")
    os.environ.pop("ADACANON_DATA", None)
    os.chdir(place())
    try:
        yield
    finally:
        os.chdir(folder_before)
        sys.path[:] = path
        for name, value in known.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


KINDS = {
    "command, mistaken words": (mistaken_words, 1),
    "command, tables": (tables, 1),
    "command, damaged records": (damaged_records, 1),
    "command, models and data": (brought, 2),
}
