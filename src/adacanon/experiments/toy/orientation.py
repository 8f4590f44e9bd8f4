"""The grid signal orientation task: the toy column of the paper's first table, and a stricter version of it."""

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial

import torch

from adacanon.baselines.graphs.graph_networks import GraphNetwork
from adacanon.core.loss import one_vs_rest
from adacanon.data.grid_orientation import GridOrientation, TorusTask, grid_orientation, grid_orientation_strict
from adacanon.experiments.toy.methods import EIGENVECTOR_METHODS
from adacanon.experiments.toy.shared_graph import OnSharedGraph
from adacanon.graphs.anlsf import anlsf
from adacanon.graphs.band_rotations import BandRotations
from adacanon.graphs.bands import dyadic
from adacanon.graphs.coefficients import BandCoefficients, coefficients_on_one_graph
from adacanon.graphs.eigenbases import redrawn_in_eigenspaces
from adacanon.graphs.shift_operators import shift_matrix
from adacanon.graphs.spectra import Spectrum, spectra
from adacanon.graphs.spectral_mlp import SpectralMLP
from adacanon.maximizers.sample_and_refine import SampleAndRefine
from adacanon.runs.run import Run, Settings
from adacanon.runs.seeded import on_hardware
from adacanon.runs.table import Row, Table, row_named
from adacanon.training.learner import Learner, looked_up
from adacanon.training.loop import DataSplit, TrainingControl, accuracy, stratified_folds, train
from adacanon.training.schedule import Schedule
from adacanon.training.smoke import shortened

GRAPH_NETWORKS = {"MLP": "mlp", "GCN": "gcn", "GAT": "gat", "GIN": "gin", "ChebNet": "chebnet"}
BANDS: Settings = {"bands": 8, "decay": 0.5}
SEARCH: Settings = {**BANDS, "rows": 16, "draws": 32}
SPECTRAL_ROWS = (
    Row("Energy MLP", "energy MLP", settings=BANDS),
    Row("Gram MLP", "Gram MLP", settings=BANDS),
    Row("A-NLSF (3 steps)", "A-NLSF", settings={**SEARCH, "steps": 3}),
    Row("A-NLSF", "A-NLSF", settings={**SEARCH, "steps": 10}),
)
EIGENVECTOR_ROWS = tuple(
    Row(name, "eigenvectors", name, settings=method.settings) for name, method in EIGENVECTOR_METHODS.items()
)
GRAPH_ROWS = tuple(Row(name, "message passing", kind) for name, kind in GRAPH_NETWORKS.items())
ROWS = (*GRAPH_ROWS, *EIGENVECTOR_ROWS, *SPECTRAL_ROWS)

TASKS = {"toy": grid_orientation, "toy-strict": grid_orientation_strict}
PRESETS: dict[str, Settings] = {
    "paper": {"samples": 1000, "size": 40, "noise": 0.1, "folds": 10, "epochs": 30},
    "demo": {"samples": 300, "size": 20, "noise": 0.1, "folds": 5, "epochs": 20},
}
PERIODS = {("toy", "paper"): 20, ("toy", "demo"): 10, ("toy-strict", "paper"): 12, ("toy-strict", "demo"): 8}


def settings(table: str, row: Row, column: str, preset: str) -> Settings:
    """Everything that a cell depends on; the same for all rows, but for what a method has of its own."""
    preset = "demo" if preset == "demo" else "paper"
    common = {
        "hidden": 32,
        "layers": 3,
        "learning_rate": 1e-3,
        "batch": 100,
        "seed": 0,
        "period": PERIODS[table, preset],
    }
    return {**PRESETS[preset], **common, **row.own_settings(preset)}


def execute(run: Run, control: TrainingControl) -> dict[str, float]:
    """Train on all folds but one for a fixed number of epochs and test on that one: nothing is chosen on it."""
    row, options = row_named(ROWS, run.row), run.options()
    task = task_of(run)
    generator = torch.Generator().manual_seed(options["seed"])
    train_index, test = stratified_folds(task.labels, options["folds"], generator=generator)[run.split]
    split = shortened(DataSplit(train_index, train_index[:0], test))
    schedule = Schedule.of(options)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1000 * options["seed"] + run.split)
        learner = on_hardware(run, build(row, task, options, train=train_index, seed=run.split), control)
        history = train(learner, split, schedule, generator=generator, control=control)
    return {
        "accuracy": accuracy(learner, split.test, batch=schedule.batch),
        "train_accuracy": accuracy(learner, split.train, batch=schedule.batch),
        "train_loss": history.loss,
        "parameters": float(sum(p.numel() for p in learner.module.parameters())),
        "seconds": history.seconds,
        **(in_another_basis(row, task, options, learner, split.test) if row in EIGENVECTOR_ROWS else {}),
    }


def in_another_basis(
    row: Row, task: TorusTask, options: Settings, learner: Learner, test: torch.Tensor
) -> dict[str, float]:
    """Test accuracy with random bases of all eigenspaces of the grid, for networks that read eigenvectors."""
    assert isinstance(learner.module, OnSharedGraph)
    spectrum = redrawn_in_eigenspaces(task_spectrum(task), generator=torch.Generator().manual_seed(1))
    call = EIGENVECTOR_METHODS[row.backbone].on_one_graph(spectrum, options)
    other = replace(learner, module=learner.module.called(call))
    return {"accuracy_redrawn": accuracy(other, test, batch=options["batch"])}


def build(row: Row, task: TorusTask, options: Settings, *, train: torch.Tensor, seed: int) -> Learner:
    """The method of a row on a task; ``train`` names the samples that it may look at."""
    return METHODS[row.method](row, task, options, train, seed)


def message_passing(row: Row, task: TorusTask, options: Settings, train: torch.Tensor, seed: int) -> Learner:
    """A graph network of torch-geometric."""
    network = GraphNetwork(row.backbone, 2, classes=2, hidden=options["hidden"], layers=options["layers"])
    return Learner(OnSharedGraph(network, task.edge_index), task.labels, looked_up(task.signals))


def on_eigenvectors(row: Row, task: TorusTask, options: Settings, train: torch.Tensor, seed: int) -> Learner:
    """A network that reads eigenvectors of the grid."""
    method = EIGENVECTOR_METHODS[row.backbone]
    call = method.on_one_graph(task_spectrum(task), options)
    network = method.network(options)
    module = OnSharedGraph(network, task.edge_index, call, graphs_per_pass=method.graphs_per_pass)
    return Learner(module, task.labels, looked_up(task.signals))


def gram_mlp(row: Row, task: TorusTask, options: Settings, train: torch.Tensor, seed: int) -> Learner:
    """An MLP on the Gram matrices of all bands."""
    return _mlp_on(standardised(task_coefficients(task, options["bands"], options["decay"]), train), task, options)


def energy_mlp(row: Row, task: TorusTask, options: Settings, train: torch.Tensor, seed: int) -> Learner:
    """An MLP on the energy of each channel in each band."""
    grams = standardised(task_coefficients(task, options["bands"], options["decay"]), train)
    return _mlp_on(grams.diagonal(dim1=-2, dim2=-1), task, options)


def _mlp_on(invariants: torch.Tensor, task: TorusTask, options: Settings) -> Learner:
    inputs = invariants.flatten(1).unsqueeze(-1)
    mlp = SpectralMLP(inputs.shape[1], 1, classes=2, hidden=options["hidden"], layers=options["layers"])
    return Learner(mlp, task.labels, looked_up(inputs))


def spectral_anlsf(row: Row, task: TorusTask, options: Settings, train: torch.Tensor, seed: int) -> Learner:
    """A-NLSF on the coefficients of the signals."""
    coefficients = task_coefficients(task, options["bands"], options["decay"])
    family = BandRotations(dyadic(options["bands"], decay=options["decay"]), rows=options["rows"])
    search = SampleAndRefine(candidates=options["draws"], steps=options["steps"])
    sizes = {"hidden": options["hidden"], "layers": options["layers"]}
    model = anlsf(family, 2, classes=2, **sizes, search=search, resample_every=1, seed=seed)
    return Learner(model, task.labels, looked_up(coefficients), criterion=one_vs_rest)


METHODS: dict[str, Callable[[Row, TorusTask, Settings, torch.Tensor, int], Learner]] = {
    "message passing": message_passing,
    "eigenvectors": on_eigenvectors,
    "Gram MLP": gram_mlp,
    "energy MLP": energy_mlp,
    "A-NLSF": spectral_anlsf,
}


def standardised(coefficients: BandCoefficients, train: torch.Tensor) -> torch.Tensor:
    """Band Gram matrices scaled by the root mean square of each band over the training part."""
    grams = coefficients.grams()
    scale = grams[train].square().mean(dim=(0, 2, 3), keepdim=True).sqrt()
    return grams / scale.clamp(min=torch.finfo(grams.dtype).tiny)


def task_coefficients(task: TorusTask, bands: int, decay: float) -> BandCoefficients:
    """All samples live on one graph, which is decomposed once."""
    return coefficients_on_one_graph(task_spectrum(task), task.signals, dyadic(bands, decay=decay))


def task_spectrum(task: TorusTask) -> Spectrum:
    """The eigendecomposition of the torus grid."""
    from torch_geometric.data import Data

    grid = Data(edge_index=task.edge_index, num_nodes=task.size**2)
    return spectra([shift_matrix(grid)])[0]


def task_of(run: Run) -> GridOrientation:
    """The data of a run."""
    options = run.options()
    return _task(run.table, *(options[name] for name in ("samples", "size", "period", "noise", "seed")))


@lru_cache(maxsize=2)
def _task(table: str, samples: int, size: int, period: int, noise: float, seed: int) -> GridOrientation:
    generator = torch.Generator().manual_seed(seed)
    return TASKS[table](samples, size=size, period=period, noise=noise, generator=generator)


def _splits(row: Row, column: str) -> int:
    return 10 if row in SPECTRAL_ROWS else 3


def _table(name: str, title: str) -> Table:
    return Table(
        name=name,
        title=title,
        rows=ROWS,
        columns=("accuracy",),
        splits=_splits,
        most_splits=PRESETS["paper"]["folds"],
        settings=partial(settings, name),
        execute=execute,
        presets=("paper",),
        extra_metrics=(("accuracy_redrawn", "other basis"),),
    )


TOY = _table("toy", "Grid signal orientation (paper: first column of its first table)")
TOY_STRICT = _table("toy-strict", "Grid signal orientation without the give-away at the boundary")
