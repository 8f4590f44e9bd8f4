"""The first turned test scenes, and what some rows of `segmentation` say of them."""

from adacanon.data.scenes import SCENE_CLASSES
from adacanon.experiments.images.segmentation import SEGMENTATION, module_of
from adacanon.experiments.images.turned_scenes import segmented, turned_scenes
from adacanon.reports.masks_figure import ShownMasks
from adacanon.runs.run import Run
from adacanon.training.loop import TrainingControl

NAMES = {
    "U-Net": "U-Net",
    "U-Net (mean over angles)": "mean over angles",
    "AC-U-Net (shared form)": "shared form",
    "AC-U-Net (blended)": "blended",
    "AC-U-Net (blended; fine-tuned)": "blended,\nfine-tuned",
}


def shown_masks(runs: dict[str, Run], *, scenes: int = 6) -> ShownMasks:
    """Of runs with the same test scenes, by the name that is shown."""
    (seen,) = {(run.options()["part"], run.options()["tested"], run.split) for run in runs.values()}
    data = turned_scenes(*seen[:2], seed=seen[2]).turned
    images = data.images[:scenes]
    found = {name: segmented(module_of(run, TrainingControl()), images) for name, run in runs.items()}
    return ShownMasks(images[:, 0], {"true classes": data.labels[:scenes], **found}, SCENE_CLASSES)


def first_runs() -> dict[str, Run]:
    """Of the first seed."""
    runs = {run.row: run for run in SEGMENTATION.runs(splits=1)}
    return {shown: runs[row] for row, shown in NAMES.items()}
