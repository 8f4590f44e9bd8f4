"""A command on a table that several commands share; a process of its own, called with the results folder and a name."""

import sys
import time
from pathlib import Path

from adacanon.runs.runner import run_missing
from cases.tiny_table import TINY, tiny_run

RUNS, EPOCHS = 4, 20


def main(results: str, *names: str) -> None:
    """Wait until all commands are there, and do what is missing. Every training notes its first epoch."""
    folder = Path(results)
    (folder / f"{names[0]}.ready").touch()
    while not all((folder / f"{name}.ready").exists() for name in names):
        time.sleep(0.01)
    runs = [tiny_run("A", split, log=str(folder / "log"), name=f"{split} ", epochs=EPOCHS) for split in range(RUNS)]
    assert run_missing(TINY, runs, folder / "tiny.jsonl", show=False, checkpoint_every=0.0) == []


if __name__ == "__main__":
    main(*sys.argv[1:])
