"""The doctor's page of a small network that has only seen upright shapes, and a picture of its beginning.

``python -m benchmarks.images.doctor_page`` trains for seconds, writes ``build/doctor-shapes`` and, where Chromium is
installed, ``docs/images/doctor.png``.
"""

import math
import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from torch import Tensor, nn

from adacanon.data.convex_shapes import ConvexShapes, hexagons, rectangles, triangles
from adacanon.data.scenes import Layer, Scenes
from adacanon.diagnosis import Diagnosis, doctor

NAMES = ("triangle", "square", "hexagon", "plank", "house")
SIDE = 24
TRAINED, TESTED = 3000, 400
PICTURE = Path("docs/images/doctor.png")


def main() -> None:
    page, _ = examined().save("build/doctor-shapes")
    print(page)
    if shutil.which("chromium"):
        print(pictured(page))


def examined() -> Diagnosis:
    """All samples are drawn from one seed."""
    generator = torch.Generator().manual_seed(0)
    network = trained(*drawn(TRAINED, generator), generator=generator)
    return doctor(
        network,
        [drawn(TESTED, generator)],
        families=("rotation", "reflection"),
        outside="disc",
        class_names=NAMES,
        stated_accuracy=0.95,
        model_name="shapes.py:network",
        data_name="upright shapes",
        preparation=("drawn from a seed",),
    )


def drawn(samples: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Upright shapes of every class, up to ten degrees, in front of uneven grounds."""
    each = samples // len(NAMES)
    images = torch.cat([_of_class(name, each, generator) for name in NAMES])
    labels = torch.arange(len(NAMES)).repeat_interleave(each)
    order = torch.randperm(len(labels), generator=generator)
    return images[order], labels[order]


def _of_class(name: str, samples: int, generator: torch.Generator) -> Tensor:
    def between(low: float, high: float, *more: int) -> Tensor:
        return low + (high - low) * torch.rand(samples, *more, generator=generator)

    size, zero, ground = between(0.6, 0.9), torch.zeros(samples), between(0.2, 0.8)
    parts: dict[str, list[ConvexShapes]] = {
        "triangle": [triangles(-size / 2, 1.1 * size, size)],
        "square": [rectangles(zero, zero, size, size)],
        "hexagon": [hexagons(size)],
        "plank": [rectangles(zero, zero, 1.3 * size, 0.5 * size)],
        "house": [rectangles(zero, -0.2 * size, 0.8 * size, 0.6 * size), triangles(0.1 * size, size, 0.5 * size)],
    }
    centre, tilt = between(-0.2, 0.2, 2), between(-math.pi / 18, math.pi / 18)
    grey = (ground + between(0.3, 0.7)) % 1
    layers = tuple(Layer(part.placed(centre, tilt), grey, 1) for part in parts[name])
    waves = torch.cat([between(-9, 9, 6, 2), between(0, 6, 6, 1), between(0, 0.06, 6, 1)], -1)
    return Scenes(layers, ground, waves).draw(side=SIDE)[0]


def trained(images: Tensor, labels: Tensor, *, generator: torch.Generator) -> nn.Module:
    """Six passes over upright shapes."""
    torch.manual_seed(0)
    network = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(),
        nn.MaxPool2d(2), nn.Flatten(), nn.Linear(32 * (SIDE // 4) ** 2, 64), nn.ReLU(), nn.Linear(64, len(NAMES)),
    )  # fmt: skip
    optimizer = torch.optim.Adam(network.parameters(), 2e-3)
    for _ in range(6):
        for rows in torch.randperm(len(labels), generator=generator).split(50):
            optimizer.zero_grad()
            nn.functional.cross_entropy(network(images[rows]), labels[rows]).backward()
            optimizer.step()
    return network.eval()


def pictured(page: Path) -> Path:
    """The first screens of the page, in few colours."""
    from PIL import Image

    with TemporaryDirectory() as folder:
        flags = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run")
        shown = (f"--user-data-dir={folder}/profile", "--window-size=1200,1900", "--hide-scrollbars")
        shot = f"{folder}/page.png"
        address = page.resolve().as_uri()
        subprocess.run(["chromium", *flags, *shown, f"--screenshot={shot}", address], check=True, capture_output=True)
        PICTURE.parent.mkdir(exist_ok=True)
        with Image.open(shot) as image:
            image.convert("RGB").quantize(128, dither=Image.Dither.NONE).save(PICTURE, optimize=True)
    return PICTURE


if __name__ == "__main__":
    main()
