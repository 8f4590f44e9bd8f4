"""Work of about a second that leaves files: a run, a study, features of a frozen backbone, and caches.

Each is a function from a folder, which holds all its files, to a fingerprint of its result. Called again in the same
folder, it goes on with what is there.
"""

import hashlib
import json
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from adacanon import Canonicalized, RandomSearch
from adacanon.data.array_cache import cached_arrays
from adacanon.frozen import features_of_forms, stored_features
from adacanon.graphs.spectra import spectra
from adacanon.points import Rotations
from adacanon.runs.choices import chosen_file
from adacanon.runs.executors import ThisProcess
from adacanon.runs.run import Run
from adacanon.runs.runner import run_missing
from adacanon.runs.table import Row, Table
from adacanon.runs.tuning import tune
from adacanon.spaces import rotation_group
from adacanon.training.learner import Learner, looked_up
from adacanon.training.loop import DataSplit, TrainingControl, train
from adacanon.training.records import read_records
from adacanon.training.schedule import Schedule

POINTS = 6
TRIALS = 7


def execute(run: Run, control: TrainingControl) -> dict[str, float]:
    """A small canonicalized network on random clouds, with dropout, so that every random state matters."""
    options = run.options()
    torch.manual_seed(run.split)
    clouds = torch.randn(60, POINTS, 3)
    head = nn.Sequential(nn.Flatten(), nn.Dropout(0.1), nn.Linear(3 * POINTS, options["hidden"]), nn.ReLU())
    network = nn.Sequential(head, nn.Linear(options["hidden"], 2))
    model = Canonicalized(network, Rotations(), RandomSearch(4))
    learner = Learner(model, (clouds[:, 0].norm(dim=1) > 1.5).long(), looked_up(clouds))
    parts = DataSplit(torch.arange(36), torch.arange(36, 48), torch.arange(48, 60))
    schedule = Schedule.of(options, batch=12)
    history = train(learner, parts, schedule, generator=torch.Generator().manual_seed(run.split), control=control)
    figures = {name: history.selected[name] for name in ("validation_accuracy", "validation_loss")}
    return {"accuracy": history.selected["test_accuracy"], **figures, "loss": history.loss, "seconds": history.seconds}


TABLE = Table(
    name="interrupted",
    title="Runs that are interrupted",
    rows=(Row("A"),),
    columns=("accuracy",),
    splits=lambda row, column: 2,
    most_splits=2,
    settings=lambda row, column, preset: {"epochs": 3, "hidden": 8, "learning_rate": 0.01},
    execute=execute,
    search_space=lambda row: {"learning_rate": [0.1, 0.01, 0.001], "hidden": [4, 8, 16]},
)


def a_run(root: Path) -> str:
    """Two runs of a table, with a checkpoint after every epoch."""
    file = root / "results" / "interrupted.jsonl"
    settings = {**TABLE.settings_of("A", "accuracy"), "epochs": 12}
    runs = [Run.of(TABLE.name, "A", "accuracy", split, settings) for split in range(2)]
    failures = run_missing(TABLE, runs, file, show=False, checkpoint_every=0.0)
    if failures:
        raise RuntimeError(failures[0].reason)
    return of_records(file)


def a_study(root: Path) -> str:
    """Trials one after the other, of which the later ones follow from the earlier ones, and a choice."""
    file = root / "results" / "interrupted-tuning.jsonl"
    short = {"epochs": 2, "patience": None}
    table = Table(**{**vars(TABLE), "execute": lambda run, control: execute(with_settings(run, short), control)})
    tune(table, ("A",), ("accuracy",), file, executor=ThisProcess(), trials=TRIALS)
    return fingerprint([of_records(file).encode(), chosen_file(file.parent).read_bytes()])


def with_settings(run: Run, settings: dict[str, Any]) -> Run:
    """The limits of a study would take minutes."""
    return Run.of(run.table, run.row, run.column, run.split, {**run.options(), **settings})


def feature_extraction(root: Path) -> str:
    """Features of all rotations of a cube, in shards."""
    torch.manual_seed(0)
    clouds = torch.randn(160, POINTS, 3)
    backbone = nn.Sequential(nn.Flatten(), nn.Linear(3 * POINTS, 256), nn.ReLU(), nn.Linear(256, 64)).eval()

    def features(rows: slice) -> Tensor:
        return features_of_forms(backbone, Rotations(), rotation_group("cube"), clouds[rows], chunk_size=8)

    found = stored_features(root / "features", len(clouds), features, shard=8)
    return fingerprint([found.numpy().tobytes()])


def cache_writes(root: Path) -> str:
    """Spectra in a database, and arrays in files."""
    os.environ["ADACANON_CACHE"] = str(root / "cache")
    matrices = torch.randn(40, 40, 40, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    parts = []
    for number, some in enumerate(matrices.split(4)):
        found = spectra([matrix + matrix.T for matrix in some])
        arrays = cached_arrays(f"part{number}", "digest", lambda number=number: {"x": np.arange(9999.0) * number})
        parts += [spectrum.eigenvectors.contiguous().numpy().tobytes() for spectrum in found]
        parts.append(arrays["x"].tobytes())
    return fingerprint(parts)


def of_records(file: Path) -> str:
    """What records say, but for the time that they took and the code that made them."""
    lines = [{**record, "seconds": 0, "versions": 0} for record in read_records(file)]
    return fingerprint([json.dumps(lines, sort_keys=True).encode()])


def fingerprint(parts: Iterable[bytes]) -> str:
    """One hash of all parts."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return digest.hexdigest()


WORKS: dict[str, Callable[[Path], str]] = {
    "run": a_run,
    "study": a_study,
    "features": feature_extraction,
    "caches": cache_writes,
}
