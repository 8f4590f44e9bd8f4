"""Draw turned test scenes and what the rows of `segmentation` say of them, into results/figures.

Takes the network that the table has left in the cache folder, or trains it (a minute).
"""

from pathlib import Path

from adacanon.experiments.images.shown_masks import first_runs, shown_masks
from adacanon.files import write_whole
from adacanon.reports.masks_figure import draw

FIGURES = Path(__file__).parents[2] / "results" / "figures"


def main(folder: Path = FIGURES) -> None:
    write_whole(folder / "segmentation.png", draw(shown_masks(first_runs())))


if __name__ == "__main__":
    main()
