"""Run cases on the CPU and on the virtual device, and print one line of JSON for each: what differed, what was copied.

This is a program of its own, because the virtual device changes torch for the whole process:
``python -m devices.run_cases`` with ``tests`` on the path; names of cases may follow.
"""

import json
import os
import sys
import time
import traceback
import warnings
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_flatten_with_path

from adacanon.core.pytree import Tree, map_tensors
from cases import virtual_device
from cases.on_any_device.case import ON_CPU, Case
from cases.on_any_device.table import CASES
from cases.on_any_device.wrong_models import WRONG
from cases.virtual_device import VirtualTensor, moves

TOLERANCE = {"atol": 1e-5, "rtol": 1e-4}


def moved(given: Any, device: torch.device) -> Any:
    """Modules, tensors and batches, which know how, and trees of tensors."""
    if isinstance(given, tuple | list):
        return type(given)(moved(part, device) for part in given)
    if hasattr(given, "to"):
        return given.to(device)
    return map_tensors(lambda leaf: leaf.to(device), given)


def outcome(case: Case) -> dict[str, Any]:
    """What a case gave on both devices: an error, differences, and copies between devices by the library."""
    start = time.perf_counter()
    expected = case(lambda given: given)
    middle = time.perf_counter()
    moves.clear()
    with virtual_device.virtual_device() as device:
        found = case(lambda given: moved(given, device))
    end = time.perf_counter()
    places = sorted({(move.direction, move.place) for move in moves})
    return {
        "problems": problems(found, expected),
        "moves": places,
        "seconds": [round(middle - start, 3), round(end - middle, 3)],
    }


def problems(found: Tree, expected: Tree) -> list[str]:
    """What is on the wrong device, or not the value of the CPU."""
    (ours, _), (theirs, _) = tree_flatten_with_path(found), tree_flatten_with_path(expected)
    if [path for path, _ in ours] != [path for path, _ in theirs]:
        return [f"other outcomes: {[str(path) for path, _ in ours]} instead of {[str(path) for path, _ in theirs]}"]
    named = (("".join(map(str, path)), leaf, right) for (path, leaf), (_, right) in zip(ours, theirs, strict=True))
    return [text for name, leaf, right in named if (text := problem(name, leaf, right))]


def problem(name: str, leaf: Any, right: Any) -> str:
    if not isinstance(right, Tensor):
        return "" if leaf == right else f"{name} is {leaf!r} instead of {right!r}"
    if isinstance(leaf, VirtualTensor) == (ON_CPU in name):
        return f"{name} is on {leaf.device}"
    held = leaf.detach().held if isinstance(leaf, VirtualTensor) else leaf.detach()
    try:
        torch.testing.assert_close(held, right.detach(), equal_nan=True, **TOLERANCE)
    except AssertionError as error:
        return f"{name}: {error}"
    return ""


def report(name: str, case: Case) -> dict[str, Any]:
    try:
        return {"case": name, **outcome(case)}
    except Exception as error:  # is what is reported
        text = traceback.format_exception(error)
        return {"case": name, "problems": [f"{type(error).__name__}: {error}"], "traceback": text, "moves": []}


def main(names: list[str]) -> None:
    virtual_device.register()
    torch.set_num_threads(1)
    torch.cpu.get_capabilities = dict  # the virtual device has no bfloat16, so that the CPU must not use its own
    warnings.simplefilter("error")
    cases = CASES | WRONG
    for name in names or cases:
        print(json.dumps(report(name, cases[name])), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
    sys.stdout.flush()
    os._exit(0)  # torch's threads for a device may abort a process whose interpreter is being taken down
