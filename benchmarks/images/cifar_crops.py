"""Draw the windows that truncation canonicalization chooses, into results/figures: one picture for each data set.

Trains the row of the ``cifar`` table once for each (minutes, with its features on the disk).
"""

from pathlib import Path

from adacanon.experiments.images.chosen_crops import chosen_crops
from adacanon.experiments.images.cifar import CIFAR
from adacanon.experiments.images.window_features import NAMES
from adacanon.reports.crops_figure import draw

FIGURES = Path(__file__).parents[2] / "results" / "figures"


def main(folder: Path = FIGURES) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for column in CIFAR.columns:
        (folder / f"{NAMES[column]}-crops.png").write_bytes(draw(chosen_crops(column)))


if __name__ == "__main__":
    main()
