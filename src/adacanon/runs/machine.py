"""The machine that something ran on."""

import os
import platform
from pathlib import Path
from typing import Any

import torch

from adacanon.training.records import versions


def machine(threads: int) -> dict[str, Any]:
    """Processor, cores, threads and versions, for whoever compares times."""
    return {
        "cpu": _processor(),
        "cores": os.cpu_count(),
        "threads": threads,
        "torch": torch.__version__,
        "python": platform.python_version(),
    }


def commit_of_code() -> str:
    """The commit of the source tree, where there is one, and whether the code differs from it."""
    return versions()["commit"]


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except FileNotFoundError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
