"""The demo: what the library does for a network on clouds, the graph task, and a page about both."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import torch

from adacanon.experiments.clouds.furniture import NEAR, Shapes, Sizes, Trained, near_upright, train_all
from adacanon.experiments.clouds.shown_furniture import chair_record, first_of_each_class, shapes_record
from adacanon.experiments.toy.strict_demo import EPOCHS, SAMPLES, SHOWN, example_record, graph_records
from adacanon.files import write_whole
from adacanon.points import Rotations
from adacanon.reports.demo_page import page
from adacanon.reports.progress import progress_bars, progress_lines
from adacanon.training.records import Record, append_record, read_records, versions

EXPLAINED = ("chair", "lamp", "table")
RECORDS, PAGE, SHAPES_PAGE = "demo.jsonl", "index.html", "shapes.html"


@dataclass(frozen=True)
class DemoSizes:
    """How much the demo trains; the defaults take about a minute on two cores."""

    clouds: Sizes = field(default_factory=Sizes)
    graph_samples: int = SAMPLES
    graph_epochs: int = EPOCHS

    @property
    def epochs(self) -> int:
        """Of all trainings together."""
        return self.clouds.epochs + len(SHOWN) * self.graph_epochs


def demo(folder: Path, *, sizes: DemoSizes | None = None, show: bool = True) -> tuple[list[Record], Path]:
    """Train, measure, and write the records and two pages; what an earlier call has left there is replaced.

    Returns:
        the records, and the file of the page.
    """
    sizes = sizes or DemoSizes()
    begin, begin_processor = time.perf_counter(), time.process_time()
    with progress_bars(show=show) as bars:
        task, line = bars.add_task("Clouds: shapes are drawn", total=sizes.epochs + 1), progress_lines(bars)

        def step(doing: str) -> None:
            bars.update(task, advance=1, description=doing)
            line(f"{doing}, epoch {bars.tasks[task].completed:.0f} of {sizes.epochs} of all trainings")

        records = _measured(folder, sizes, step)
        bars.update(task, advance=1, description="Page")
    records[0] |= {"wall": time.perf_counter() - begin, "processor": time.process_time() - begin_processor}
    file = folder / RECORDS
    file.unlink(missing_ok=True)
    for record in records:
        append_record(file, record)
    write_whole(folder / PAGE, page(read_records(file)).encode())
    return records, folder / PAGE


def _measured(folder: Path, sizes: DemoSizes, step: Callable[[str], None]) -> list[Record]:
    """All records, the one about the demo itself first."""
    shapes = Shapes.drawn(sizes.clouds)
    trained = train_all(shapes, sizes.clouds, on_epoch=step)
    graphs = graph_records(samples=sizes.graph_samples, epochs=sizes.graph_epochs, on_epoch=step)
    shown = [chair_record(trained, shapes, sizes.clouds), shapes_record(trained, shapes, sizes.clouds)]
    about = _about(shapes, sizes, len(graphs[0]["hits"])) | _explained(folder, trained, shapes)
    return [about, *trained.records, *shown, *graphs, example_record(samples=sizes.graph_samples)]


def _about(shapes: Shapes, sizes: DemoSizes, graph_test: int) -> Record:
    return {
        "kind": "about",
        "classes": list(shapes.furniture.class_names),
        "training": sizes.clouds.training,
        "test": sizes.clouds.test,
        "points": sizes.clouds.points,
        "undetermined": int((~Rotations().determined(shapes.turned)).sum()),
        "near": NEAR,
        "near_upright": near_upright(shapes),
        "graph_test": graph_test,
        "threads": torch.get_num_threads(),
        "versions": versions(),
    }


def _explained(folder: Path, trained: Trained, shapes: Shapes) -> Record:
    """Write the page on single answers; what the first page needs for its link to it."""
    names = shapes.furniture.class_names
    index = first_of_each_class(shapes)
    index = index[[names.index(name) for name in EXPLAINED]]
    found = trained.tuned.canonicalize(shapes.turned[index])
    title = "What the fine-tuned network saw"
    folder.mkdir(parents=True, exist_ok=True)
    found.save(folder / SHAPES_PAGE, classes=names, labels=shapes.labels[index], title=title)
    return {"explained": SHAPES_PAGE, "explained_shapes": [f"a {name}" for name in EXPLAINED]}
