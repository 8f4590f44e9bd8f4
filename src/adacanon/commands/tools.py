"""Commands on figures and data: draw, show, import."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import tyro

from adacanon.commands.options import RESULTS, THREADS, Device, Place, Preset, names_of, set_threads
from adacanon.experiments.figures import write_figure
from adacanon.experiments.import_data import describe_import
from adacanon.reports.progress import passes_bar
from adacanon.reports.terminal import show_demo
from adacanon.runs.executors import Hardware, executor_named


@dataclass(frozen=True)
class Figure:
    """Draw a figure; a network that no run has left in the cache folder is trained first."""

    name: tyro.conf.Positional[Literal["stability", "continuity", "chairs", "temperature", "learning-curve"]]
    """``stability``, ``temperature`` and ``learning-curve`` are drawn from records, the others from networks of
    ``modelnet``."""
    rows: tuple[str, ...] = ()
    """Only these rows of ``continuity`` or ``learning-curve``, separated by spaces or commas."""
    preset: Preset = "cpu"
    """Whose runs are meant."""
    device: Device = "cpu"
    """Where a missing network is trained: ``cpu``, ``cuda``, ``mps``, or ``auto``, the first of cuda, mps and cpu."""
    threads: int = THREADS
    """Threads of torch; two, or ``OMP_NUM_THREADS``."""
    results: Path = RESULTS
    """Folder of the records; pictures go to ``figures`` in it."""
    pages: Path = Path("build")
    """Folder of pages; they hold points of the data sets, which may not be passed on."""

    def __call__(self) -> int:
        set_threads(self.threads)
        rows, hardware = names_of(self.rows), Hardware(self.device).checked()
        for path in write_figure(self.name, self.results, self.pages, preset=self.preset, rows=rows, hardware=hardware):
            print(path)
        return 0


@dataclass(frozen=True)
class Demo:
    """Show in about a minute what the library does: furniture in any pose, a task on graphs, and a page about both.

    No data is needed. What an earlier call has left in the folder is replaced.
    """

    folder: Path = Path("build/demo")
    """Where the pages and the records go."""
    threads: int = THREADS
    """Threads of torch; two, or ``OMP_NUM_THREADS``."""

    def __call__(self) -> int:
        from adacanon.experiments.demo import demo

        set_threads(self.threads)
        records, page = demo(self.folder)
        show_demo(records)
        print(f"The page: {page}")
        return 0


@dataclass(frozen=True)
class Data:
    """Turn an official folder or archive of data into the one file that is read from then on.

    Known are, of point clouds, modelnet40_normal_resampled, modelnet40_ply_hdf5_2048 (which needs h5py) and the
    ShapeNet part benchmark, shapenetcore_partanno_segmentation_benchmark_v0_normal; of images, cifar-10-python.tar.gz,
    cifar-100-python.tar.gz (both packed or unpacked) and the four files of MNIST; of molecules, the unpacked xyz files
    of QM9, and the folder of Peptides-func (train.pt, val.pt, test.pt). Graphs of OGB need no import. Which of them it
    is, is told by the files. An import that is stopped goes on with the files that are missing, when the same command
    is given again.
    """

    action: tyro.conf.Positional[Literal["import"]]
    """What to do."""
    source: tyro.conf.Positional[Path]
    """The official folder, or an archive of CIFAR."""
    output: Path
    """The folder of data sets, to which ADACANON_DATA may point from then on."""
    points: int = 1024
    """Points of every shape of a point cloud."""
    jobs: int | None = None
    """Parts of a release of many files that are read at a time, each in a process; one, or all that a cluster has room
    for. Images, HDF5 files and peptides are few files, which the command reads itself."""
    executor: Place = "local"
    """``local``: processes of this machine; ``ray``: a Ray cluster, which needs ``adacanon[cluster]``."""
    address: str = ""
    """HOST:PORT of a running Ray cluster, or auto; without it, one is started for the command and stopped after it."""
    cpus_per_run: float = 1.0
    """Processors that Ray reserves for a part."""

    def __call__(self) -> int:
        executor = executor_named(self.executor, address=self.address, jobs=self.jobs, cpus=self.cpus_per_run)
        with executor, passes_bar("files read") as on_progress:
            done = describe_import(
                self.source, self.output, points=self.points, on_progress=on_progress, executor=executor
            )
        print(done)
        return 0
