"""Which trials of a study on PROTEINS learn on NCI1, which takes its choices over: training losses after a few epochs.

A loss that stays at log 2 = 0.693 has learnt nothing. No validation or test graph is looked at. Trials come in the
order of their accuracy on the validation part of PROTEINS.
"""

import argparse
from functools import partial
from pathlib import Path

from adacanon.experiments.graphs.tu import METHODS, RANGES, TU
from adacanon.experiments.graphs.tu_data import split_of, tu_data
from adacanon.runs.run import Run, Settings
from adacanon.runs.seeded import train_seeded
from adacanon.training.loop import DataSplit, TrainingControl
from adacanon.training.records import read_records
from adacanon.training.schedule import Schedule
from benchmarks.frame import measure

TRIALS = Path(__file__).parents[2] / "results" / "tu-tuning.jsonl"
SOURCE, TARGET = "PROTEINS", "NCI1"


def trials(row: str) -> list[Settings]:
    """What the study tried, the best first, each once."""
    found = [r for r in read_records(TRIALS) if (r["row"], r["column"]) == (row, SOURCE)]
    found.sort(key=lambda r: (-r["metrics"]["validation_accuracy"], r["metrics"]["validation_loss"]))
    chosen = [{name: r["settings"][name] for name in RANGES} for r in found]
    return [trial for number, trial in enumerate(chosen) if trial not in chosen[:number]]


def training_loss(row: str, trial: Settings, split: int, epochs: int) -> float:
    """On the training part of a split, from the start that the table's run has."""
    options = {**measure.settings_of(TU, row, TARGET), **trial}
    data = tu_data(TARGET, options["features"])
    train_part = split_of(data, split).train
    nothing = train_part[:0]
    schedule = Schedule.of(options, epochs=epochs, patience=None)
    run, parts = Run.of(TU.name, row, TARGET, split, options), DataSplit(train_part, nothing, nothing)
    build = partial(METHODS[row], data, options, train_part, split)
    _, history = train_seeded(run, build, parts, schedule, TrainingControl())
    return history.loss


def section(options: argparse.Namespace) -> measure.Section:
    """One row for every trial."""
    rows: list[measure.Row] = []
    for trial in trials(options.row)[: options.trials]:
        losses = {f"split {split + 1}": training_loss(options.row, trial, split, options.epochs) for split in range(3)}
        rows.append({**trial, **losses})
        print(rows[-1], flush=True)
    return {}, rows


def parser() -> argparse.ArgumentParser:
    parser = measure.section_options(__doc__ or "", quick={"epochs": 1, "trials": 1})
    parser.add_argument("--row", default="GAT", choices=METHODS)
    parser.add_argument("--trials", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=8)
    return parser


def title(options: argparse.Namespace) -> str:
    return f"{options.row} on {TARGET}, training loss after {options.epochs} epochs"


if __name__ == "__main__":
    measure.run_section(parser(), section, title)
