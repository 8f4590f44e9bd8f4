"""All claims of speed in one run on one machine: ``make bench``.

Runs the sections one after the other, prints their tables, and writes ``bench.json`` and the plot ``bench.png`` to
``build``. Every section is a module of ``benchmarks`` that can be run alone, with ``parser()``, its command line, and
``section(options)``, from which its headline figures and its table come. A section whose data are not there is skipped.
"""

import argparse
import importlib
import json
import math
import os
import platform
import shutil
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch

from adacanon.core.precision import reduced_precision
from adacanon.errors import DataError
from adacanon.files import write_whole
from benchmarks.frame import measure
from benchmarks.speed.bench_figure import draw

ROOT = Path(__file__).parents[2]

SECTIONS = {
    "pointnet_step": "clouds",
    "dgcnn_step": "clouds",
    "cloud_networks": "clouds",
    "search_cost": "searches",
    "evaluation_cost": "searches",
    "cascade": "searches",
    "search_overhead": "speed",
    "views": "searches",
    "anlsf_epoch": "graphs",
    "memory": "speed",
    "search_errors": "searches",
    "scaling": "speed",
}
"""The benchmarks that make up the run, and their subjects."""


def machine(threads: int, clock: str) -> dict[str, Any]:
    """What the figures depend on beside the code."""
    return {
        "cpu": processor_name(),
        "cores": os.cpu_count(),
        "torch": torch.__version__,
        "threads": threads,
        "clock": clock,
        "precision": f"{reduced_precision('cpu') or torch.float32} on coarse views, {torch.float32} elsewhere",
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def processor_name() -> str:
    """As the kernel calls it, where there is a Linux."""
    file = Path("/proc/cpuinfo")
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def run(name: str, options: argparse.Namespace) -> measure.Section | None:
    """One section with its own default sizes, or the quick ones; None if it cannot be run, and why is printed."""
    module = importlib.import_module(f"benchmarks.{SECTIONS[name]}.{name}")
    words = ["--threads", str(options.threads), "--seed", str(options.seed), "--clock", options.clock]
    chosen = measure.start(module.parser(), ["--quick", *words] if options.quick else words)
    try:
        outcome: measure.Section = module.section(chosen)
        return outcome
    except DataError as error:
        print(f"{name}: skipped, {error}", flush=True)
        return None


def bench(options: argparse.Namespace) -> dict[str, Any]:
    """The content of the file, written anew after every section: what is measured stays if the run is stopped."""
    content: dict[str, Any] = {"machine": machine(options.threads, options.clock), "sections": {}}
    for number, name in enumerate(options.only, start=1):
        print(f"\n[{number}/{len(options.only)}] {name}", flush=True)
        begin = time.perf_counter()
        outcome = run(name, options)
        if outcome is None:
            continue
        headline, rows = outcome
        print(f"{measure.table(rows)}\n{name}: {time.perf_counter() - begin:.0f} s", flush=True)
        content = {**content, **headline, "sections": {**content["sections"], name: rows}}
        write(content, options.output)
    return content


def write(content: dict[str, Any], folder: Path) -> None:
    """The file and the plot."""
    write_whole(folder / "bench.json", (json.dumps(finite(content), indent=2) + "\n").encode())
    if picture := draw(finite(content)):
        write_whole(folder / "bench.png", picture)


def finite(value: Any) -> Any:
    """Numbers that JSON does not know become null: a goal that was not reached, a figure that does not exist."""
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def parser() -> argparse.ArgumentParser:
    parser = measure.common_options(__doc__ or "")
    parser.add_argument("--only", nargs="+", choices=list(SECTIONS), default=list(SECTIONS), metavar="SECTION")
    parser.add_argument("--quick", action="store_true", help="tiny sizes: does it run?")
    parser.add_argument("--full", action="store_true", help="keep the outcome of all sections in results")
    parser.add_argument("--clock", choices=measure.CLOCKS, default="wall", help="processor: undisturbed by other jobs")
    parser.add_argument("--output", type=Path, default=ROOT / "build", help="folder of bench.json and bench.png")
    return parser


def main(arguments: list[str] | None = None) -> int:
    command = parser()
    options = measure.start(command, arguments)
    if options.full and (options.quick or set(options.only) != set(SECTIONS)):
        command.error("--full is a run of all sections in their real sizes, without --quick and --only")
    content = bench(options)
    missing = [name for name in options.only if name not in content["sections"]]
    print("\n" + "\n".join(f"{key}: {content[key]}" for key in content if key not in ("machine", "sections")))
    if options.full and missing:
        print(f"results/bench.json stays as it is: without {', '.join(missing)} this was no full run")
        return 1
    if options.full:
        shutil.copy(options.output / "bench.json", ROOT / "results" / "bench.json")
        shutil.copy(options.output / "bench.png", ROOT / "results" / "figures" / "bench.png")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
