"""How many epochs the preset `full` takes, decided on training shapes held out: no test shape is read.

The learning rate falls along a cosine to zero, so that a training of 20 epochs is not the first quarter of one of 80.
Every number of epochs is a training of its own, and its accuracy on the shapes held out is recorded after every epoch.
"""

from dataclasses import replace

from adacanon.experiments.clouds import full_size, modelnet
from adacanon.experiments.clouds.methods import build
from adacanon.runs.run import Run, Settings
from adacanon.runs.seeded import train_seeded
from adacanon.runs.table import Row, row_named
from adacanon.training.loop import DataSplit, TrainingControl
from adacanon.training.records import Record
from adacanon.training.schedule import Schedule

EVERY = 10
LENGTHS = {f"{epochs} epochs": epochs for epochs in (20, 40, 80)}
ROWS = tuple(
    row_named(full_size.ROWS, name) for name in (full_size.PLAIN, full_size.AVERAGED, full_size.DEFAULT, full_size.SOFT)
)
AFTER = "after epoch "
"""The accuracy after an epoch is recorded under these words and its number."""


def settings(row: Row, column: str, preset: str) -> Settings:
    """Those of the preset `full`, but for the number of epochs, and which shapes are held out."""
    return {**modelnet.settings(row, column, "full"), "epochs": LENGTHS[column], "held_out": EVERY}


def execute(run: Run, control: TrainingControl) -> dict[str, float]:
    """The accuracy on the shapes held out after every epoch of a training; "accuracy" is that after the last one."""
    options = run.options()
    data = modelnet.clouds_of(run)
    learner, history = train_seeded(
        run,
        lambda: build(row_named(ROWS, run.row), data, options, seed=run.split),
        DataSplit(data.split.train, data.split.test, data.split.test[:0]),
        Schedule.of(options),
        control,
    )
    return {
        "accuracy": history.curve[-1]["validation_accuracy"],
        **{f"{AFTER}{now['epoch']:.0f}": now["validation_accuracy"] for now in history.curve},
        "train_loss": history.loss,
        "parameters": float(sum(p.numel() for p in learner.module.parameters())),
        "seconds": history.seconds,
    }


def course(record: Record) -> dict[int, float]:
    """Epoch -> accuracy of a record."""
    metrics = record["metrics"]
    return {int(name.removeprefix(AFTER)): metrics[name] for name in metrics if name.startswith(AFTER)}


LEARNING_CURVE = replace(
    modelnet.MODELNET,
    name="modelnet-curve",
    title="ModelNet40, 1,024 points: accuracy on training shapes held out, by the length of the training",
    rows=ROWS,
    columns=tuple(LENGTHS),
    splits=lambda row, column: 1,
    settings=settings,
    execute=execute,
    extra_metrics=(),
    comparable=lambda options: False,
    presets=("full",),
    variants={},
)
