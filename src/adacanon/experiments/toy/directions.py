"""Photographs on a torus, each shown twice: is the second copy turned? A task where methods without directions are at
chance, which is proved (`docs/results-graphs.md`), not only measured.
"""

from dataclasses import replace
from functools import lru_cache

import torch
from torch import Tensor
from torch.nn.functional import adaptive_avg_pool2d

from adacanon.data.images import Images, load_images
from adacanon.data.turned_pictures import TurnedPictures, turned_pictures
from adacanon.experiments.toy.direction_methods import METHODS
from adacanon.experiments.toy.methods import EIGENVECTOR_METHODS
from adacanon.experiments.toy.orientation import in_another_basis
from adacanon.runs.run import Run, Settings
from adacanon.runs.seeded import train_seeded
from adacanon.runs.table import Row, Table, row_named
from adacanon.training.learner import Learner
from adacanon.training.loop import DataSplit, TrainingControl, accuracy
from adacanon.training.schedule import Schedule
from adacanon.training.smoke import shortened

BANDS: Settings = {"bands": 8, "decay": 0.5}
BASES = {
    "A-NLSF": "search",
    "A-NLSF (no search)": "canonical",
    "A-NLSF (random bases)": "random",
    "A-NLSF (mean over bases)": "mean",
}
SPECTRAL_ROWS = (
    Row("Energy MLP", "energy MLP", settings=BANDS),
    Row("Gram MLP", "Gram MLP", settings=BANDS),
    *(Row(name, "bases", bases, settings={**BANDS, "rows": 2}) for name, bases in BASES.items()),
)
MESSAGE_ROWS = (
    Row("GIN", "message passing", "gin"),
    Row("ChebNet", "message passing", "chebnet", settings={"layers": 2}),
    Row("GIN (6 layers)", "message passing", "gin", settings={"layers": 6}),
)
EIGENVECTOR_ROWS = tuple(
    Row(name, "eigenvectors", name, settings=EIGENVECTOR_METHODS[name].settings)
    for name in ("OAP+GIN", "NLSF", "S2GNN")
)
ROWS = (*MESSAGE_ROWS, *EIGENVECTOR_ROWS, *SPECTRAL_ROWS)

DATA: Settings = {"size": 24, "side": 8, "noise": 1.0, "train": 200, "validation": 100, "test": 300}
TRAINING: Settings = {"epochs": 40, "patience": 8, "batch": 40, "learning_rate": 3e-3, "seed": 0}


def settings(row: Row, column: str, preset: str) -> Settings:
    """Everything that a cell depends on; the same for all rows, but for what a method has of its own."""
    sizes = {"hidden": 32, "layers": 4 if row.method == "message passing" else 3}
    return {**DATA, **TRAINING, **sizes, **row.own_settings(preset)}


def execute(run: Run, control: TrainingControl) -> dict[str, float]:
    """Train, keep the epoch that is best on the validation part, and read the test part once."""
    row, options = row_named(ROWS, run.row), run.options()
    task, split = task_of(run)
    schedule = Schedule.of(options)
    unseen = replace(split, test=split.test[:0])

    def build() -> Learner:
        return METHODS[row.method](row, task, options, split.train, run.split)

    learner, history = train_seeded(run, build, unseen, schedule, control)
    return {
        "accuracy": accuracy(learner, split.test, batch=schedule.batch),
        "told_apart": told_apart(learner, split.test, batch=schedule.batch),
        "validation_accuracy": history.selected["validation_accuracy"],
        "selected_epoch": history.selected["epoch"],
        "epochs": float(history.epoch),
        "train_loss": history.loss,
        "parameters": float(sum(p.numel() for p in learner.module.parameters())),
        "seconds": history.seconds,
        **(in_another_basis(row, task, options, learner, split.test) if row in EIGENVECTOR_ROWS else {}),
    }


@torch.no_grad()
def told_apart(learner: Learner, index: Tensor, *, batch: int) -> float:
    """How far the scores of the two samples of a picture are apart, on average, in percent of the deviation of scores
    between samples. Zero if a method cannot tell them apart. The samples stand one after the other.
    """
    learner.module.eval()
    scores = torch.cat([learner.scores(rows) for rows in index.split(batch)]).double()
    return 100 * float((scores[::2] - scores[1::2]).abs().mean() / scores.std(0).mean())


def task_of(run: Run) -> tuple[TurnedPictures, DataSplit]:
    """Photographs of a run and their parts: every split has photographs, noise and movements of its own, and both
    samples of a photograph are in the same part.
    """
    options = run.options()
    counts = tuple(options[name] for name in ("train", "validation", "test"))
    task = _task(counts, options["size"], options["side"], options["noise"], run.split)
    train, validation, test = torch.arange(len(task.labels)).split([2 * count for count in counts])
    return task, shortened(DataSplit(train, validation, test))


@lru_cache(maxsize=1)
def _task(counts: tuple[int, int, int], size: int, side: int, noise: float, split: int) -> TurnedPictures:
    generator, data = torch.Generator().manual_seed(split), load_images("cifar10")
    train, validation, test = counts
    parts = ((data.train, train + validation), (data.test, test))
    small = torch.cat([_small(images, count, side, generator) for images, count in parts])
    return turned_pictures(small, size=size, noise=noise, generator=generator)


def _small(images: Images, count: int, side: int, generator: torch.Generator) -> Tensor:
    """Some photographs in grey, (count, side, side): every pixel is the mean of a square."""
    chosen = torch.randperm(len(images.labels), generator=generator)[:count]
    grey = images.scaled(chosen).mean(1)
    return adaptive_avg_pool2d(grey, side)


DIRECTIONS = Table(
    name="directions",
    title="Photographs shown twice on a torus: is the second copy turned?",
    rows=ROWS,
    columns=("accuracy",),
    splits=lambda row, column: 5 if row in SPECTRAL_ROWS else 3,
    most_splits=5,
    settings=settings,
    execute=execute,
    extra_metrics=(("told_apart", "told apart"), ("accuracy_redrawn", "other basis")),
    presets=("cpu",),
)
