"""All figures by name."""

from pathlib import Path

from adacanon.errors import DataError
from adacanon.experiments.clouds import figures as clouds
from adacanon.experiments.clouds.figures import Draw, Files, check_no_rows
from adacanon.experiments.temperature import TEMPERATURE, curves_of
from adacanon.files import write_whole
from adacanon.reports import temperature_figure
from adacanon.runs.executors import Hardware
from adacanon.runs.room import check_room
from adacanon.runs.runner import summary_of


def draw_temperature(results: Path, preset: str, rows: tuple[str, ...], hardware: Hardware) -> Files:
    """From the records of `temperature`."""
    check_no_rows("temperature", rows)
    summary = summary_of(TEMPERATURE, TEMPERATURE.runs(preset=preset), results / f"{TEMPERATURE.name}.jsonl")
    temperatures, panels, metrics = curves_of(summary)
    if not panels:
        raise DataError(f"There are no records of `temperature` in {results}. Hint: adacanon run temperature")
    return {"temperature.png": temperature_figure.draw(temperatures, panels, metrics)}


FIGURES: dict[str, Draw] = {
    **clouds.FIGURES,
    "temperature": draw_temperature,
}

WITH_PAGES = {"chairs"}
"""Figures that come with a page."""


def write_figure(
    name: str,
    results: Path,
    pages: Path,
    *,
    preset: str,
    rows: tuple[str, ...] = (),
    hardware: Hardware | None = None,
) -> list[Path]:
    """Draw a figure, of all rows if none are named; pictures go to the results, pages elsewhere. Returns where.

    Args:
        hardware: where networks that are missing are trained.
    """
    check_room("Pictures", results / "figures" / name, option="--results")
    if name in WITH_PAGES:
        check_room("Pages", pages / name, option="--pages")
    written = []
    for file, content in FIGURES[name](results, preset, rows, hardware or Hardware()).items():
        path = (pages if file.endswith(".html") else results / "figures") / file
        write_whole(path, content)
        written.append(path)
    return written
