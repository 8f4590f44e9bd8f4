"""The machine that something ran on."""

import os
import platform
from pathlib import Path
from typing import Any

import torch


def machine(threads: int) -> dict[str, Any]:
    """Processor, cores, threads and versions, for whoever compares times."""
    return {
        "cpu": _processor(),
        "cores": os.cpu_count(),
        "threads": threads,
        "torch": torch.__version__,
        "python": platform.python_version(),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except FileNotFoundError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
