"""Commands on figures, networks and data: draw, show, import, examine."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import tyro

from adacanon.commands.options import RESULTS, THREADS, Preset, names_of, report_failures, set_threads
from adacanon.experiments.catalogue import table_named
from adacanon.experiments.figures import write_figure
from adacanon.experiments.import_data import describe_import
from adacanon.reports.progress import passes_bar
from adacanon.reports.terminal import show_classes, show_summary, show_verdicts


@dataclass(frozen=True)
class Figure:
    """Draw a figure; a network that no run has left in the cache folder is trained first."""

    name: tyro.conf.Positional[Literal["stability", "continuity", "chairs", "temperature"]]
    """``stability`` and ``temperature`` are drawn from their records, the others from networks of ``modelnet``."""
    rows: tuple[str, ...] = ()
    """Only these rows of ``continuity``, separated by spaces or commas."""
    preset: Preset = "cpu"
    """Whose runs are meant."""
    threads: int = THREADS
    """Threads of torch; two, or ``OMP_NUM_THREADS``."""
    results: Path = RESULTS
    """Folder of the records; pictures go to ``figures`` in it."""
    pages: Path = Path("build")
    """Folder of pages; they hold points of the data sets, which may not be passed on."""

    def __call__(self) -> int:
        set_threads(self.threads)
        rows = names_of(self.rows)
        for path in write_figure(self.name, self.results, self.pages, preset=self.preset, rows=rows):
            print(path)
        return 0


@dataclass(frozen=True)
class Demo:
    """Train every method on a small version of the toy problem and write a page about it."""

    folder: Path = Path("build/demo")
    """Where records and the page go."""
    threads: int = THREADS
    """Threads of torch; two, or ``OMP_NUM_THREADS``."""

    def __call__(self) -> int:
        from adacanon.experiments.toy.demo import demo

        set_threads(self.threads)
        summary, page, failures = demo(self.folder, published=table_named("toy").published)
        show_summary(summary)
        print(f"The page with the picture: {page}")
        return report_failures(failures)


@dataclass(frozen=True)
class Data:
    """Turn an official folder of point clouds into the one file that is read from then on.

    Known are modelnet40_normal_resampled, modelnet40_ply_hdf5_2048 (which needs h5py) and the ShapeNet part benchmark,
    shapenetcore_partanno_segmentation_benchmark_v0_normal.
    """

    action: tyro.conf.Positional[Literal["import"]]
    """What to do."""
    source: tyro.conf.Positional[Path]
    """The unpacked official folder."""
    output: Path
    """The folder of data sets, to which ADACANON_DATA may point from then on."""
    points: int = 1024
    """Points of every shape."""

    def __call__(self) -> int:
        print(describe_import(self.source, self.output, points=self.points))
        return 0


@dataclass(frozen=True)
class Doctor:
    """Examine a network that you have: what each symmetry costs it, and what adaptive canonicalization brings back.

    Nothing is trained. Writes a page and a file of figures.
    """

    model: tyro.conf.Positional[str]
    """package.module:factory, or the file of a TorchScript or torch.export program (see --trust)."""
    data: Path
    """A folder CLASS/IMAGE.png, or an .npz file with images or points, and labels."""
    classes: tuple[str, ...] = ()
    """Names of all classes in the order of the network's outputs, separated by spaces, or one word with commas. Without
    it, folders are taken in the natural order of their names, 2 before 10."""
    output: Path = Path("build/doctor")
    """Folder of the page and the figures."""
    families: tuple[str, ...] = ()
    """Only these, separated by spaces or commas: rotation, reflection, translation, dilation, truncation."""
    candidates: tuple[int, ...] = (1, 4, 16, 64)
    """Numbers of candidates."""
    outside: Literal["reflection", "border", "zero", "disc"] = "reflection"
    """What lies outside an image that is turned, shifted or shrunk; disc cuts images to their inscribed disc first."""
    limit: int = 1000
    """Samples at most, drawn at random."""
    size: int | None = None
    """Resize images to this side first."""
    channels: int | None = None
    """3 gives grey images three channels, 1 averages those of colour images."""
    weights: Path | None = None
    """Weights for the network of the factory: .pth, .safetensors or .npz, never executed."""
    trust: bool = False
    """Run the program that a model file holds. Without it, no file is executed."""
    threads: int = THREADS
    """Threads of torch; two, or ``OMP_NUM_THREADS``."""
    seed: int = 0
    """Of the samples and the transformations."""

    def __call__(self) -> int:

        from adacanon.data.labelled import load_labelled
        from adacanon.diagnosis import doctor, load_model

        set_threads(self.threads)
        network = load_model(self.model, trust=self.trust, weights=self.weights)
        data = load_labelled(
            self.data,
            classes=_classes(self.classes),
            limit=self.limit,
            size=self.size,
            channels=self.channels,
            seed=self.seed,
        )
        if data.class_names is not None:
            show_classes(data.class_names)
        with passes_bar("forward passes") as on_progress:
            found = doctor(
                network,
                [(data.inputs, data.labels)],
                families=names_of(self.families),
                candidates=self.candidates,
                outside=self.outside,
                class_names=data.class_names,
                seed=self.seed,
                model_name=self.model,
                data_name=self.data.name,
                on_progress=on_progress,
            )
        page, figures = found.save(self.output)
        show_verdicts(found.as_json())
        print(f"The page: {page}\nThe figures: {figures}")
        return 0


def _classes(words: tuple[str, ...]) -> tuple[str, ...]:
    """As they are, because names of classes may hold commas; a single word is split at its commas."""
    return tuple(name.strip() for name in words[0].split(",")) if len(words) == 1 else words
