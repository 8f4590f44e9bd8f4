"""The command that explains the answers of a network."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import tyro

from adacanon.commands.brought import Preparation, read_samples
from adacanon.commands.options import THREADS, set_threads
from adacanon.errors import InputError


@dataclass(frozen=True)
class Explain:
    """Canonicalize a network that you have, and write a page about what it saw and chose for some inputs.

    Nothing is trained.
    """

    model: tyro.conf.Positional[str]
    """file.py:function or package.module:function, or the file of a TorchScript or torch.export program (see
    --trust)."""
    data: Path
    """A folder CLASS/IMAGE.png or CLASS/CLOUD.ply (.off, .pcd), or an .npz file with images or points, and labels."""
    family: str = "rotation"
    """The symmetry: rotation, and for images also reflection, translation, dilation or truncation."""
    output: Path = Path("build/explain.html")
    """The page."""
    samples: int = 4
    """This many inputs are shown, drawn at random."""
    index: tuple[int, ...] = ()
    """Show these inputs instead, by their numbers in the data, from 0."""
    top: int = 3
    """Canonical forms of this many leading classes are shown."""
    moves: int = 8
    """Random transformations that every input is moved by, to see whether the answer stays."""
    classes: tuple[str, ...] = ()
    """Names of all classes in the order of the network's outputs, as ``adacanon doctor`` takes them."""
    temperature: float | None = None
    """From the maximum over transformed versions (0) to their mean (inf); that of the symmetry if not given."""
    outside: Literal["reflection", "border", "zero", "disc"] = "reflection"
    """What lies outside an image that is turned, shifted or shrunk; disc cuts images to their inscribed disc first."""
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
    """Run the program that a model file holds. Without it, no file is executed."""
    threads: int = THREADS
    """Threads of torch; two, or ``OMP_NUM_THREADS``."""
    seed: int = 0
    """Of the samples that are drawn."""

    def __call__(self) -> int:
        from adacanon.core import Canonicalized
        from adacanon.diagnosis import load_model, own_names
        from adacanon.diagnosis.candidates import applicable
        from adacanon.diagnosis.class_names import names_of_outputs
        from adacanon.diagnosis.probing import check_classes, probed

        set_threads(self.threads)
        network = load_model(self.model, trust=self.trust, weights=self.weights)
        preparation = Preparation(self.size, self.channels, self.points, self.faces, self.normalise)
        limit = None if self.index else self.samples
        data, source = read_samples(self.data, self.classes, network, preparation, limit=limit, seed=self.seed)
        rows = _checked(self.index, len(data.labels)) or tuple(range(len(data.labels)))
        inputs, labels = data.inputs[list(rows)], data.labels[list(rows)]
        family = applicable(inputs, (self.family,), outside=self.outside)[self.family]
        model = Canonicalized(network, family, temperature=self.temperature).eval()
        outputs = probed(network, inputs).shape[1]
        names, source = names_of_outputs(outputs, data.class_names, source, own_names(network))
        check_classes(outputs, labels, names, source)
        page = model.canonicalize(inputs).save(
            self.output,
            classes=names,
            labels=labels,
            names=[f"{'Sample' if self.index else 'Random sample'} {row}" for row in rows],
            title=f"What {self.model} saw in {self.data.name}",
            samples=len(rows),
            top=self.top,
            moves=self.moves,
        )
        print(f"The page: {page}")
        return 0


def _checked(index: tuple[int, ...], count: int) -> tuple[int, ...]:
    """Numbers of samples that there are."""
    if any(not 0 <= row < count for row in index):
        raise InputError(f"--index takes numbers from 0 to {count - 1}, got {', '.join(map(str, index))}")
    return index
