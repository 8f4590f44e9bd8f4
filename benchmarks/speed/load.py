"""Peak memory and processor time of large inputs.

Each case is a process of its own (Linux only), on one thread. 'peak' is all memory of the process, libraries and inputs
included; 'above' is what the call needs beyond what was there before it.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader

from adacanon import Canonicalized, Objective, RandomSearch, SampleAndRefine
from adacanon.data.labelled import load_labelled
from adacanon.data.node_tasks import triangulation
from adacanon.data.tu import read_tu
from adacanon.diagnosis import doctor
from adacanon.graphs import BandCoefficients, BandRotations, SpectralMLP, band_coefficients, uniform
from adacanon.graphs.shift_operators import shift_matrix
from adacanon.graphs.spectra import spectra
from adacanon.graphs.spectra_store import load_blobs, store_blobs
from adacanon.points import nearest_neighbours
from benchmarks.frame import measure
from benchmarks.speed.memory import megabytes

Case = Callable[[], Callable[[], object]]
"""Prepares inputs, and returns the call that is measured."""

BANDS, ROWS, CHANNELS = 4, 2, 4
FAMILY = BandRotations(uniform(BANDS), rows=ROWS)


def cloud() -> Callable[[], object]:
    """20 neighbours of each of 100,000 points."""
    points = torch.randn(1, 100_000, 3)
    return lambda: nearest_neighbours(points, 20)


def classes() -> Callable[[], object]:
    """32 graphs, 1,000 classes: a form for each class, one refinement step of every form."""
    sizes = torch.full((32, BANDS), 8)
    factors = torch.randn(32, BANDS, ROWS, CHANNELS)
    g = BandCoefficients(factors, sizes, sizes.clamp(max=ROWS))
    network = SpectralMLP(BANDS * ROWS, CHANNELS, classes=1000, hidden=64, layers=3)
    model = Canonicalized(network, FAMILY, SampleAndRefine(32, 1)).eval()
    return lambda: _without_gradients(model, g)


def trained_classes() -> Callable[[], object]:
    """32 graphs, 1,000 classes: a training step, with a form and its gradients for each class."""
    sizes = torch.full((32, BANDS), 8)
    g = BandCoefficients(torch.randn(32, BANDS, ROWS, CHANNELS), sizes, sizes.clamp(max=ROWS))
    network = SpectralMLP(BANDS * ROWS, CHANNELS, classes=1000, hidden=64, layers=3)
    objective = Objective(Canonicalized(network, FAMILY, SampleAndRefine(32, 1)))
    return lambda: objective(g, torch.arange(32)).loss.backward()


def batch() -> Callable[[], object]:
    """2,000 graphs of 30 nodes in one batch: coefficients, and a search with 32 candidates."""
    graphs = [_mesh(30, seed) for seed in range(2000)]
    network = SpectralMLP(BANDS * ROWS, CHANNELS, classes=6, hidden=64, layers=3)
    model = Canonicalized(network, FAMILY, RandomSearch(32)).eval()
    return lambda: _without_gradients(model, band_coefficients(graphs, FAMILY.partition, cache=False))


def graph() -> Callable[[], object]:
    """The whole spectrum of a graph with 5,000 nodes, stored and read again."""
    matrix = shift_matrix(_mesh(5000, 0))

    def stored_and_read() -> None:
        (first,), (again,) = spectra([matrix]), spectra([matrix])
        if not torch.equal(first.eigenvectors, again.eigenvectors):
            raise AssertionError("the spectrum that was read is another one")

    return stored_and_read


def large_graph() -> Callable[[], object]:
    """A made-up spectrum of 16,384 nodes, 2.1 GB of numbers, stored and read again."""
    numbers = np.random.default_rng(0).random(16_384 * 16_385)

    def stored_and_read() -> None:
        store_blobs({"made up": numbers.data.cast("B")})
        again = np.frombuffer(load_blobs(["made up"])["made up"])
        if not np.array_equal(numbers, again):
            raise AssertionError("the spectrum that was read is another one")

    return stored_and_read


def labels() -> Callable[[], object]:
    """2,000 graphs of 20 nodes with 20,000 kinds of labels: read from text files, and a search with 32 candidates."""
    place, count, size = Path(os.environ["ADACANON_CACHE"]), 2000, 20
    nodes = range(count * size)
    pairs = [(a, a + 1) for a in nodes if (a + 1) % size]
    texts = {
        "A": "".join(f"{a + 1}, {b + 1}\n{b + 1}, {a + 1}\n" for a, b in pairs),
        "graph_indicator": "".join(f"{a // size + 1}\n" for a in nodes),
        "graph_labels": "0\n1\n" * (count // 2),
        "node_labels": "".join(f"{a * 7919 % 20_000}\n" for a in nodes),
    }
    for name, text in texts.items():
        (place / f"MANY_{name}.txt").write_text(text, encoding="ascii")

    def read_and_searched() -> Tensor:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".* fixed codes of 256 channels")
            found = read_tu(place, "MANY")
        network = SpectralMLP(BANDS * ROWS, found.channels, classes=2, hidden=64, layers=3)
        model = Canonicalized(network, FAMILY, RandomSearch(32)).eval()
        parts = DataLoader(found.graphs, batch_size=100)
        with torch.no_grad():
            return torch.cat([model(band_coefficients(part, FAMILY.partition, cache=False)) for part in parts])

    return read_and_searched


def images() -> Callable[[], object]:
    """100,000 images of 8 x 8 pixels from a file through the doctor, reflections alone."""
    file = Path(os.environ["ADACANON_CACHE"]) / "images.npz"
    draw = np.random.default_rng(0)
    labels = np.arange(100_000) % 4
    np.savez_compressed(file, images=draw.integers(0, 255, (len(labels), 8, 8), dtype=np.uint8), labels=labels)
    network = nn.Sequential(nn.Flatten(), nn.Linear(64, 4))

    def examined() -> None:
        found = load_labelled(file)
        batches = zip(found.inputs.split(1000), found.labels.split(1000), strict=True)
        doctor(network, batches, families=["reflection"], candidates=(1, 2))

    return examined


CASES: dict[str, Case] = {
    "100,000 points": cloud,
    "1,000 classes": classes,
    "1,000 classes, trained": trained_classes,
    "2,000 graphs": batch,
    "5,000 nodes": graph,
    "16,384 nodes": large_graph,
    "20,000 labels": labels,
    "100,000 images": images,
}


def _mesh(nodes: int, seed: int) -> Data:
    generator = torch.Generator().manual_seed(seed)
    points = torch.rand(nodes, 2, generator=generator, dtype=torch.float64)
    return Data(x=torch.randn(nodes, CHANNELS, generator=generator), edge_index=triangulation(points), num_nodes=nodes)


@torch.no_grad()
def _without_gradients(model: nn.Module, g: BandCoefficients) -> object:
    return model(g)


def measured(case: Case) -> measure.Row:
    """In this process."""
    call = case()
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak starts anew
    before, begin = megabytes("VmRSS"), time.process_time()
    call()
    seconds, peak = time.process_time() - begin, megabytes("VmHWM")
    return {"peak, MB": round(peak), "above, MB": round(peak - before), "processor seconds": round(seconds, 1)}


def row(name: str, options: argparse.Namespace) -> measure.Row:
    """A fresh process with an empty cache."""
    command = [sys.executable, "-m", "benchmarks.speed.load", "--threads", str(options.threads), "--one", name]
    with tempfile.TemporaryDirectory() as cache:
        surroundings = {**os.environ, "ADACANON_CACHE": cache}
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=surroundings)
    found: measure.Row = json.loads(done.stdout.splitlines()[-1])
    return {"case": name, "what": (CASES[name].__doc__ or "").rstrip("."), **found}


def main(arguments: list[str] | None = None) -> None:
    parser = measure.options(__doc__ or "")
    parser.set_defaults(threads=1)
    parser.add_argument("--one", choices=CASES, help="measure in this process")
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES))
    options = measure.start(parser, arguments)
    torch.manual_seed(options.seed)
    if options.one:
        print(json.dumps(measured(CASES[options.one])))
        return
    rows: list[measure.Row] = []
    for name in options.cases:
        rows.append(row(name, options))
        measure.report(rows, title="Large inputs on one thread", path=options.json)


if __name__ == "__main__":
    main()
