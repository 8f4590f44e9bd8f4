"""Classes of nodes: one graph of communities, of which a few nodes have labels, and irregular meshes."""

from functools import lru_cache

import torch
from torch import Tensor

from adacanon.baselines.graphs.node_networks import label_propagation
from adacanon.data.node_tasks import NodeTask, block_model, mesh_waves
from adacanon.experiments.graphs.node_methods import OnNodes, baseline, changed_answers, spectral
from adacanon.runs.run import INFINITE, Run, Settings
from adacanon.runs.seeded import train_seeded
from adacanon.runs.table import Row, Table, row_named
from adacanon.training.learner import Learner
from adacanon.training.loop import DataSplit, TrainingControl, accuracy
from adacanon.training.schedule import Schedule

SPLITS = 5
TRAINING: Settings = {"epochs": 200, "patience": 50, "weight_decay": 5e-4, "learning_rate": 0.01, "seed": 0}
SPECTRAL: Settings = {"candidates": 8, "temperature": 0.0}
ROWS = (
    Row("Label propagation", "labels"),
    Row("MLP", "baseline", "mlp", settings={"hidden": 64, "layers": 2, "dropout": 0.5}),
    Row("GCN", "baseline", "gcn", settings={"hidden": 64, "layers": 2, "dropout": 0.5}),
    Row("GAT", "baseline", "gat", settings={"hidden": 64, "heads": 8, "dropout": 0.6, "learning_rate": 0.005}),
    Row("ChebNet", "baseline", "chebnet", settings={"hidden": 64, "layers": 2, "order": 8, "dropout": 0.5}),
    Row(
        "GCN (normalised and residual)",
        "baseline",
        "residual gcn",
        settings={"hidden": 64, "layers": 4, "dropout": 0.5},
    ),
    Row("A-NLSF (no search)", "spectral", settings={**SPECTRAL, "candidates": 1}),
    Row("A-NLSF", "spectral", settings=SPECTRAL),
    Row("A-NLSF (temperature 1)", "spectral", settings={**SPECTRAL, "temperature": 1.0}),
    Row("A-NLSF (mean)", "spectral", settings={**SPECTRAL, "temperature": INFINITE}),
)
TASKS: dict[str, Settings] = {
    "blocks": {"nodes": 3000, "within": 0.6, "labelled": 0.1},
    "meshes": {"graphs": 30, "nodes": 100, "waves": 2.0, "noise": 0.5, "labelled": 0.6},
}
BANDS: dict[str, Settings] = {
    "blocks": {"bands": 8, "eigenpairs": 64, "rows": 8, "hidden": 64, "node_layers": 1, "dropout": 0.5},
    "meshes": {"bands": 8, "eigenpairs": None, "rows": 4, "hidden": 64, "node_layers": 1, "dropout": 0.5},
}


def settings(row: Row, column: str, preset: str) -> Settings:
    """The task, the training, and what a method has of its own."""
    bands = BANDS[column] if row.method == "spectral" else {}
    training = {} if row.method == "labels" else TRAINING
    return {**TASKS[column], **training, **bands, **row.own_settings(preset)}


def execute(run: Run, control: TrainingControl) -> dict[str, float]:
    """Train on labels of the training nodes, choose the epoch on validation nodes, test on the others."""
    row, options = row_named(ROWS, run.row), run.options()
    task, split = task_of(run)
    if row.method == "labels":
        return _propagated(task, split)
    schedule = Schedule.of(options, batch=len(task.labels))

    def build() -> Learner:
        module = spectral(task, options) if row.method == "spectral" else baseline(task, row.backbone, options)
        return Learner(module, task.labels, lambda index: (index,))

    learner, history = train_seeded(run, build, split, schedule, control)
    assert isinstance(learner.module, OnNodes)
    searched = row.method == "spectral"
    return {
        "accuracy": accuracy(learner, split.test, batch=schedule.batch),
        "validation_accuracy": history.selected["validation_accuracy"],
        "selected_epoch": history.selected["epoch"],
        "train_loss": history.loss,
        "parameters": float(sum(p.numel() for p in learner.module.parameters())),
        "seconds": history.seconds,
        **(changed_answers(learner.module, task, options, split.test) if searched else {}),
    }


def task_of(run: Run) -> tuple[NodeTask, DataSplit]:
    """Every split has a graph, or meshes, of its own."""
    options = run.options()
    numbers = tuple((name, options[name]) for name in TASKS[run.column])
    return _task(run.column, numbers, run.split)


@lru_cache(maxsize=1)
def _task(column: str, numbers: tuple[tuple[str, float], ...], split: int) -> tuple[NodeTask, DataSplit]:
    generator, sizes = torch.Generator().manual_seed(split), dict(numbers)
    share = sizes.pop("labelled")
    if column == "blocks":
        task = block_model(int(sizes["nodes"]), within=sizes["within"], generator=generator)
        return task, _of_nodes(len(task.labels), share, generator)
    count = int(sizes.pop("graphs"))
    meshes = mesh_waves(
        count, nodes=int(sizes["nodes"]), waves=sizes["waves"], noise=sizes["noise"], generator=generator
    )
    by_graph = _of_nodes(count, share, generator)
    parts = (by_graph.train, by_graph.validation, by_graph.test)
    return meshes, DataSplit(*(torch.isin(meshes.graph, part).nonzero().flatten() for part in parts))


def _of_nodes(count: int, share: float, generator: torch.Generator) -> DataSplit:
    """A share for training, and as much for validation but no more than half of the rest."""
    order = torch.randperm(count, generator=generator)
    train = round(share * count)
    validation = min(train, (count - train) // 2)
    return DataSplit(order[:train], order[train : train + validation], order[train + validation :])


def _propagated(task: NodeTask, split: DataSplit) -> dict[str, float]:
    scores = label_propagation(task.labels, split.train, task.edge_index, classes=task.classes)

    def hits(part: Tensor) -> float:
        return 100 * float((scores[part].argmax(1) == task.labels[part]).double().mean())

    return {"accuracy": hits(split.test), "validation_accuracy": hits(split.validation), "seconds": 0.0}


NODES = Table(
    name="nodes",
    title="Classes of nodes",
    rows=ROWS,
    columns=tuple(TASKS),
    splits=lambda row, column: SPLITS,
    most_splits=10,
    settings=settings,
    execute=execute,
    extra_metrics=(
        ("validation_accuracy", "validation"),
        ("changed_by_basis", "other eigenbases"),
        ("changed_by_draws", "drawn candidates"),
    ),
    presets=("cpu",),
)
