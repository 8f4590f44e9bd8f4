"""Scalars and vectors of rotated molecules (ours: the paper has no such table)."""

from adacanon.experiments.molecules.methods import METHODS, blended_row, build
from adacanon.experiments.molecules.molecule_figures import costs, effective_forms, errors
from adacanon.experiments.molecules.rotated_molecules import RotatedMolecules, qm9, rotated_molecules
from adacanon.runs.run import Run, Settings
from adacanon.runs.seeded import train_seeded
from adacanon.runs.table import Row, Table, row_named
from adacanon.training.loop import TrainingControl
from adacanon.training.schedule import Schedule

COLUMNS = {"gap (eV)": "gap", "polarizability (bohr³)": "polarizability", "dipole (debye)": "dipole"}
"""What a molecule is asked for, with its unit."""

COMMON: dict[str, Settings] = {
    "paper": {"train": None, "epochs": 200, "batch": 32, "learning_rate": 1e-3, "width": 128, "layers": 5},
    "cpu": {"train": 6_000, "epochs": 8, "batch": 32, "learning_rate": 4e-3, "width": 48, "layers": 3},
}
ALL: Settings = {"cosine": True, "seed": 0}

ROWS = (
    Row("plain", "plain"),
    Row("augmented", "augmented"),
    Row("PCA aligned", "PCA"),
    Row("PCA frame averaged", "PCA-FA"),
    blended_row("AC blended", 1.0),
    Row("EGNN", "EGNN"),
)
"""The plain network of all rows but EGNN has one learning rate, the one that `qm9-validation` found best."""

EGNN_RATES = {"gap": 8e-3, "polarizability": 1e-3, "dipole": 8e-3}
"""What `qm9-validation` found best for EGNN in the preset `cpu`: no rate suits all targets."""

SEEDS = 10


def settings(row: Row, column: str, preset: str) -> Settings:
    """Everything that a cell depends on."""
    rival = preset == "cpu" and row.method == "EGNN"
    rate = {"learning_rate": EGNN_RATES[COLUMNS[column]]} if rival else {}
    return {**COMMON[preset], **ALL, **rate, **row.own_settings(preset)}


def execute(run: Run, control: TrainingControl) -> dict[str, float]:
    """Train for a fixed number of epochs and test the last one: nothing is chosen on the test part."""
    return trained_and_tested(row_named(ROWS, run.row), run, control)


def trained_and_tested(row: Row, run: Run, control: TrainingControl) -> dict[str, float]:
    """The figures of a run, on the test part or on the part that its settings name."""
    options, data = run.options(), molecules_of(run)
    learner, history = train_seeded(
        run, lambda: build(row, data, options, seed=run.split), data.split, Schedule.of(options), control
    )
    batch = options["batch"]
    return {
        **errors(learner, data, batch=batch),
        **effective_forms(learner.module, data, batch=batch),
        **costs(learner, METHODS["plain"](data, options), data.split.train[:batch]),
        "train_loss": history.loss,
        "epochs": float(history.epoch),
        "molecules": float(len(data.split.train)),
        "parameters": float(sum(p.numel() for p in learner.module.parameters())),
        "seconds": history.seconds,
    }


def molecules_of(run: Run) -> RotatedMolecules:
    """The molecules of a run, the tested ones in poses that its split determines."""
    options = run.options()
    data = qm9().limited(options["train"])
    return rotated_molecules(
        data, COLUMNS[run.column], seed=run.split, held_out=options.get("held_out") == "validation"
    )


EXTRA_METRICS = (
    ("upright", "upright"),
    ("equivariance", "equivariance"),
    ("largest", "largest"),
    ("effective_forms", "effective forms"),
    ("parameters", "parameters"),
    ("step_passes", "step"),
    ("evaluation_passes", "evaluation"),
    ("undetermined", "undetermined"),
    ("close", "close axes"),
)

QM9_TABLE = Table(
    name="qm9",
    title="QM9, scalars and dipoles of molecules: mean absolute error under random rotations",
    rows=ROWS,
    columns=tuple(COLUMNS),
    splits=lambda row, column: 2,
    most_splits=SEEDS,
    settings=settings,
    execute=execute,
    metric="error",
    extra_metrics=EXTRA_METRICS,
    aliases={name: column for column, name in COLUMNS.items()},
    comparable=lambda options: False,
)
