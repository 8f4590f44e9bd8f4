"""The command that examines a network."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import tyro

from adacanon.commands.brought import Preparation, read_samples
from adacanon.commands.options import THREADS, Device, names_of, set_threads
from adacanon.reports.progress import passes_bar
from adacanon.reports.terminal import show_verdicts
from adacanon.runs.executors import Hardware


@dataclass(frozen=True)
class Doctor:
    """Examine a network that you have: what each symmetry costs it, and what adaptive canonicalization brings back.

    Nothing is trained. Writes a page and a file of figures.
    """

    model: tyro.conf.Positional[str]
    """file.py:function or package.module:function, or the file of a TorchScript or torch.export program (see
    --trust)."""
    data: Path
    """A folder CLASS/IMAGE.png or CLASS/CLOUD.ply (.off, .pcd), or an .npz file with images or points, and labels."""
    classes: tuple[str, ...] = ()
    """Names of all classes in the order of the network's outputs, separated by spaces, or one word with commas; or a
    file of them, one in a line or as JSON. Without it, the network's own names are taken, such as class_names; if it
    has none, folders in the natural order of their names, 2 before 10."""
    stated_accuracy: float | None = None
    """The accuracy that the network should have, such as 0.93; a warning says if it is far below."""
    output: Path = Path("build/doctor")
    """Folder of the page and the figures."""
    families: tuple[str, ...] = ()
    """Only these, separated by spaces or commas: rotation, reflection, translation, dilation, truncation."""
    candidates: tuple[int, ...] = (1, 4, 16, 64)
    """Numbers of candidates."""
    temperatures: tuple[float, ...] = (0, 0.3, 1, 3, math.inf)
    """Of the soft maximum over the candidates; 0 is the maximum, inf the mean. They cost no forward passes."""
    outside: Literal["reflection", "border", "zero", "disc"] = "reflection"
    """What lies outside an image that is turned, shifted or shrunk; disc cuts images to their inscribed disc first."""
    limit: int = 1000
    """Samples at most, drawn at random."""
    size: int | None = None
    """Resize images to this side first."""
    channels: int | None = None
    """3 gives grey images three channels, 1 makes colour images grey; both drop transparency."""
    points: int | None = None
    """Draw this many points of every cloud."""
    faces: bool = False
    """Draw points from the faces of meshes, uniformly by area, instead of from the vertices."""
    normalise: bool = False
    """Centre every cloud and scale it to radius 1."""
    weights: Path | None = None
    """Weights for the network of the function: .pth, .safetensors or .npz, never executed."""
    trust: bool = False
    """Run the program that a model file holds. Without it, no file of a model is executed."""
    device: Device = "cpu"
    """Where the network is computed: ``cpu``, ``cuda``, ``mps``, or ``auto``, the first of cuda, mps and cpu."""
    threads: int = THREADS
    """Threads of torch; two, or ``OMP_NUM_THREADS``."""
    seed: int = 0
    """Of the samples and the transformations."""

    def __call__(self) -> int:
        from adacanon.diagnosis import doctor, load_model
        from adacanon.diagnosis.devices import on_device

        set_threads(self.threads)
        kind = Hardware(self.device).checked().kind
        network = on_device(load_model(self.model, trust=self.trust, weights=self.weights), kind)
        preparation = Preparation(self.size, self.channels, self.points, self.faces, self.normalise)
        data, source = read_samples(self.data, self.classes, network, preparation, limit=self.limit, seed=self.seed)
        with passes_bar("forward passes") as on_progress:
            found = doctor(
                network,
                [(data.inputs, data.labels)],
                families=names_of(self.families),
                candidates=self.candidates,
                temperatures=self.temperatures,
                outside=self.outside,
                class_names=data.class_names,
                class_source=source,
                stated_accuracy=self.stated_accuracy,
                preparation=data.preparation,
                seed=self.seed,
                model_name=self.model,
                data_name=self.data.name,
                on_progress=on_progress,
            )
        page, figures = found.save(self.output)
        show_verdicts(found.as_json())
        print(f"The page: {page}\nThe figures: {figures}")
        return 0
