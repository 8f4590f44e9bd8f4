"""A segmenter of images, trained on upright scenes and tested on turned ones; and the choice of its temperature."""

import time
from collections.abc import Callable
from dataclasses import replace

import torch
from torch import nn

from adacanon.core import Canonicalized, NegativeEntropy
from adacanon.data.scenes import SCENE_CLASSES
from adacanon.experiments.images.turned_scenes import (
    BATCH,
    TurnedScenes,
    augmented_segmenter,
    segmentation_figures,
    segmenter,
    turned_scenes,
)
from adacanon.images import Rotations, UNet
from adacanon.maximizers import GridSearch, RandomSearch
from adacanon.runs.run import Run, Settings
from adacanon.runs.seeded import check_precision, train_seeded
from adacanon.runs.table import Row, Table, row_named
from adacanon.runs.trained_networks import keep, restored
from adacanon.training.hardware import Hardware
from adacanon.training.learner import Learner
from adacanon.training.loop import TrainingControl
from adacanon.training.schedule import Schedule

COLUMN = "any angle"
SEEDS = 3
INFINITE = "infinite"
"""JSON has no word for infinity."""

TEMPERATURE, TUNED_TEMPERATURE = 0.002, 0.02
"""Of the network as it is and after fine-tuning: the best positive ones on validation scenes, by the table
`segmentation-temperature`, before a test scene was read."""

COMMON: Settings = {"scenes": 1500, "epochs": 10, "batch": 16, "learning_rate": 2e-3, "seed": 0}
"""The training of the network that all rows start from, but the augmented one, which is trained for twice as long."""

TUNING: Settings = {"tuning_epochs": 2, "tuning_rate": 1e-3, "draws": 6}
ANGLES = 24


def turned_row(name: str, temperature: float | str, method: str = "not retrained", own: Settings | None = None) -> Row:
    """The network of the plain row at all angles, with one shared form or a blend of forms."""
    return Row(name, method, settings={"angles": ANGLES, "temperature": temperature, **(own or {})})


PLAIN = Row("U-Net", "plain")
TUNED = "AC-U-Net (shared form; fine-tuned)"
ROWS = (
    PLAIN,
    Row("U-Net (augmented)", "augmented", settings={"augmented": True, "epochs": 20}),
    turned_row("U-Net (mean over angles)", INFINITE),
    turned_row("AC-U-Net (shared form)", 0.0),
    turned_row("AC-U-Net (blended)", TEMPERATURE),
    turned_row(TUNED, 0.0, "fine-tuned", TUNING),
    turned_row("AC-U-Net (blended; fine-tuned)", TUNED_TEMPERATURE, "fine-tuned", TUNING),
)
GRID = (0.0, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1)
TEMPERATURE_ROWS = (
    *(turned_row(f"temperature {size:g}", size) for size in GRID),
    turned_row("mean", INFINITE),
    *(turned_row(f"temperature {size:g}; fine-tuned", size, "fine-tuned", TUNING) for size in GRID),
)


def settings(row: Row, column: str, preset: str) -> Settings:
    """What a cell depends on."""
    return {**COMMON, "part": "test", "tested": 100, **row.own_settings(preset)}


def validation_settings(row: Row, column: str, preset: str) -> Settings:
    """The same with other scenes in the place of the test scenes."""
    return {**settings(row, column, preset), "part": "validation", "tested": 60}


def canonicalized(network: nn.Module, options: Settings, *, seed: int = 0) -> Canonicalized:
    """One form for all pixels, the most certain one, or a blend of all forms by how certain they are; turned back."""
    return Canonicalized(
        network,
        Rotations("disc"),
        GridSearch(options["angles"]),
        training_search=RandomSearch(options["draws"]) if "draws" in options else None,
        prior=NegativeEntropy(axis=1),
        answers="maps",
        temperature=float("inf") if options["temperature"] == INFINITE else options["temperature"],
        seed=seed,
    )


def plain_network(options: Settings, split: int, control: TrainingControl | None = None) -> nn.Module:
    """The network of the plain row for these scenes, kept in the cache folder by the run that needed it first."""
    own = {name: options[name] for name in COMMON}
    run, data = Run.of("segmentation", PLAIN.name, COLUMN, split, own), training_scenes(options, split)
    hardware = (control or TrainingControl()).hardware

    def train() -> nn.Module:
        return _trained(
            run, lambda: segmenter(UNet(len(SCENE_CLASSES)), data), data, TrainingControl(hardware=hardware)
        )

    return _kept(run, data, train, hardware)


def tuned_network(options: Settings, split: int, control: TrainingControl) -> nn.Module:
    """The same after a few epochs with one shared form, whatever the temperature in the test; kept too."""
    own = {name: options[name] for name in (*COMMON, *TUNING)}
    run, data = Run.of("segmentation", TUNED, COLUMN, split, own), training_scenes(options, split)

    def train() -> nn.Module:
        network = plain_network(options, split, control)
        model = canonicalized(network, {**options, "temperature": 0.0}, seed=split)
        _trained(run, lambda: segmenter(model, data), data, control)
        return network

    return _kept(run, data, train, control.hardware)


def _kept(run: Run, data: TurnedScenes, train: Callable[[], nn.Module], hardware: Hardware) -> nn.Module:
    check_precision(run, hardware)
    with torch.random.fork_rng(devices=[]):
        network: nn.Module = UNet(len(SCENE_CLASSES))
    if not restored(run, network, data.fingerprint):
        network = train()
        keep(run, network, data.fingerprint)
    return network


def training_scenes(options: Settings, split: int) -> TurnedScenes:
    """Of a seed."""
    return turned_scenes("train", options["scenes"], seed=split)


def module_of(run: Run, control: TrainingControl) -> nn.Module:
    """What a run tests, after the training that it needs."""
    row, options = row_named((*ROWS, *TEMPERATURE_ROWS), run.row), run.options()
    data = training_scenes(options, run.split)
    if row.method == "augmented":
        return _trained(run, lambda: augmented_segmenter(UNet(len(SCENE_CLASSES)), data), data, control)
    if row.method == "plain":
        return plain_network(options, run.split, control)
    if row.method == "fine-tuned":
        network = tuned_network(options, run.split, control)
    else:
        network = plain_network(options, run.split, control)
    return canonicalized(network, options, seed=run.split)


def _trained(run: Run, build: Callable[[], Learner], data: TurnedScenes, control: TrainingControl) -> nn.Module:
    options = run.options()
    if "tuning_epochs" in options:
        options |= {"epochs": options["tuning_epochs"], "learning_rate": options["tuning_rate"]}
    schedule = Schedule.of(options, cosine=True)
    learner, _ = train_seeded(run, build, data.all, schedule, control)
    return learner.module


def execute(run: Run, control: TrainingControl) -> dict[str, float]:
    """Train for a fixed number of epochs and test the last one: nothing is chosen on the scenes that are tested."""
    options, begin = run.options(), time.perf_counter()
    module = module_of(run, control)
    data = turned_scenes(options["part"], options["tested"], seed=run.split)
    figures = segmentation_figures(module, data)
    return {**figures, "passes": float(options.get("angles", 1)), "seconds": time.perf_counter() - begin}


SEGMENTATION = Table(
    name="segmentation",
    title="Parts of upright scenes in training, turned scenes in the test: mean intersection over union",
    rows=ROWS,
    columns=(COLUMN,),
    splits=lambda row, column: SEEDS,
    most_splits=10,
    settings=settings,
    execute=execute,
    metric="miou",
    extra_metrics=(
        ("upright_miou", "upright"),
        ("changed", "changed"),
        ("passes", "forward passes"),
        ("milliseconds", "CPU ms per image"),
    ),
    presets=("cpu",),
    smoke={"tested": BATCH, "tuning_epochs": 1},
)
SEGMENTATION_TEMPERATURE = replace(
    SEGMENTATION,
    name="segmentation-temperature",
    title="Parts of turned validation scenes, by temperature: mean intersection over union",
    rows=TEMPERATURE_ROWS,
    settings=validation_settings,
)
