"""Where the shared form of `segmentation` goes wrong: how often it is far from upright, and how often its answer is
background alone. On turned validation scenes, before and after fine-tuning.

Takes the networks that the tables have left in the cache folder, or trains them (a minute each).
"""

import math

import torch
from torch import Tensor, nn

from adacanon.core import Canonicalized
from adacanon.experiments.images.segmentation import SEGMENTATION_TEMPERATURE, module_of
from adacanon.experiments.images.turned_scenes import BATCH, TurnedScenes, on_disc, turned_scenes
from adacanon.runs.run import Run
from adacanon.training.loop import TrainingControl
from benchmarks.frame import measure

ROWS = {"temperature 0": "as trained", "temperature 0; fine-tuned": "fine-tuned"}
FAR = math.pi / 6


def row(run: Run) -> measure.Row:
    options = run.options()
    data = turned_scenes(options["part"], options["tested"], seed=run.split)
    far, empty = shares(module_of(run, TrainingControl()), data)
    return {"network": ROWS[run.row], "seed": run.split, "far from upright, %": far, "only background, %": empty}


@torch.no_grad()
def shares(model: nn.Module, data: TurnedScenes) -> tuple[float, float]:
    """Percent of scenes whose form is more than 30 degrees from upright, and whose answer is background alone."""
    assert isinstance(model, Canonicalized)
    model.eval()
    found = [model.canonicalize(images) for images in data.turned.images.split(BATCH)]
    angles = torch.cat([canonical.parameters.flatten() for canonical in found])
    disc = on_disc(data.turned.labels.shape[-1])
    classes = torch.cat([canonical.logits.argmax(1)[:, disc] for canonical in found])
    return _percent(distance(angles + data.angles) > FAR), _percent((classes == 0).all(1))


def distance(angles: Tensor) -> Tensor:
    """From upright, in radians."""
    return (torch.remainder(angles + math.pi, 2 * math.pi) - math.pi).abs()


def _percent(these: Tensor) -> float:
    return 100 * float(these.double().mean())


def main() -> None:
    options = measure.start(measure.options(__doc__ or ""))
    rows = [row(run) for name in ROWS for run in SEGMENTATION_TEMPERATURE.runs(rows=(name,))]
    measure.report(rows, title="The shared form on 60 turned validation scenes for each seed", path=options.json)


if __name__ == "__main__":
    main()
