"""Draw the windows that truncation canonicalization chooses, into results/figures: one picture for each data set.

Trains the row of the ``cifar`` table once for each (minutes, with its features on the disk).
"""

from pathlib import Path

from adacanon.experiments.images.chosen_crops import chosen_crops
from adacanon.experiments.images.cifar import CIFAR
from adacanon.experiments.images.window_features import NAMES
from adacanon.files import write_whole
from adacanon.reports.crops_figure import draw

FIGURES = Path(__file__).parents[2] / "results" / "figures"


def main(folder: Path = FIGURES) -> None:
    for column in CIFAR.columns:
        write_whole(folder / f"{NAMES[column]}-crops.png", draw(chosen_crops(column)))


if __name__ == "__main__":
    main()
