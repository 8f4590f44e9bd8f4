"""Time and peak memory of eigenpairs against the number of nodes, on meshes and on random graphs.

Every measurement is a process of its own (Linux only), which first solves a small graph, so that what libraries set up
once is there. 'memory' is the peak above what the process had before. The exponents are slopes of a line through the
logarithms, from a thousand nodes on. Where the dense solver was run too, 'eigenvalues' is the largest difference from
its eigenvalues, and 'projection' that of the projections on the span of all pairs.
"""

import argparse
import json
import math
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from adacanon.data.node_tasks import block_model, triangulation
from adacanon.graphs import Spectrum, partial_spectrum
from benchmarks.frame import measure
from benchmarks.speed.memory import megabytes

FITTED_FROM = 1000
CASES = {"dense": ("mesh",), "factorized": ("mesh",), "lanczos": ("random",)}
"""The graphs that every solver is for."""


def graph_of(kind: str, nodes: int, *, seed: int) -> Data:
    """A Delaunay mesh of random points, or a random graph with ten edges per node."""
    generator = torch.Generator().manual_seed(seed)
    if kind == "mesh":
        points = torch.rand(nodes, 2, generator=generator, dtype=torch.float64)
        return Data(edge_index=triangulation(points), num_nodes=nodes)
    task = block_model(nodes, degree=10.0, within=0.2, channels=1, generator=generator)
    return Data(edge_index=task.edge_index, num_nodes=nodes)


def measured(solver: Any, kind: str, nodes: int, options: argparse.Namespace) -> measure.Row:
    """In this process."""
    small = graph_of(kind, 90, seed=options.seed)
    partial_spectrum(small, lowest=4, solver=solver, cache=False)
    graph = graph_of(kind, nodes, seed=options.seed)
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak starts anew
    before, begin = megabytes("VmRSS"), time.process_time()
    found = partial_spectrum(graph, lowest=options.pairs, solver=solver, cache=False)
    seconds, peak = time.process_time() - begin, megabytes("VmHWM")
    row = {"edges": graph.num_edges // 2, "seconds": seconds, "memory, MB": peak - before}
    return {**row, **_errors(graph, found, dense=solver == "dense" or nodes > options.compared)}


def _errors(graph: Data, found: Spectrum, *, dense: bool) -> measure.Row:
    if dense:
        return {"eigenvalues": None, "projection": None}
    whole = partial_spectrum(graph, lowest=len(found.eigenvalues), solver="dense", cache=False)
    difference = projection(found.eigenvectors) - projection(whole.eigenvectors)
    return {
        "eigenvalues": float((found.eigenvalues - whole.eigenvalues).abs().max()),
        "projection": float(difference.abs().max()),
    }


def projection(vectors: Tensor) -> Tensor:
    return vectors @ vectors.T


def row(solver: str, kind: str, nodes: int, options: argparse.Namespace) -> measure.Row:
    """From a fresh process."""
    shared = [
        w for name in ("threads", "seed", "pairs", "compared") for w in (f"--{name}", str(getattr(options, name)))
    ]
    command = [sys.executable, "-m", "benchmarks.graphs.eigensolver", *shared, "--one", solver, kind, str(nodes)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return {"solver": solver, "graph": kind, "nodes": nodes, **json.loads(done.stdout)}


def exponent(rows: list[measure.Row], name: str) -> float:
    """The slope of the logarithm of a figure over that of the nodes."""
    points = [(math.log(one["nodes"]), math.log(max(one[name], 1e-3))) for one in rows if one["nodes"] >= FITTED_FROM]
    mean_x, mean_y = (sum(values) / len(points) for values in zip(*points, strict=True))
    above = sum((x - mean_x) * (y - mean_y) for x, y in points)
    return above / sum((x - mean_x) ** 2 for x, _ in points)


def slopes(rows: list[measure.Row]) -> measure.Row:
    """The line below the rows of one solver."""
    first = rows[0]
    blank = {name: None for name in first if name not in ("solver", "graph")}
    found = {name: f"~ n^{exponent(rows, name):.2f}" for name in ("seconds", "memory, MB")}
    return {"solver": first["solver"], "graph": first["graph"], **blank, "nodes": "exponent", **found}


def parser() -> argparse.ArgumentParser:
    parser = measure.options(__doc__ or "")
    parser.add_argument("--nodes", type=int, nargs="+", default=[100, 316, 1000, 3162, 10_000, 31_623, 100_000])
    parser.add_argument("--pairs", type=int, default=64)
    parser.set_defaults(largest={"dense": 3162})
    parser.add_argument("--compared", type=int, default=2000, help="compare with the dense solver up to this size")
    parser.add_argument("--one", nargs=3, metavar=("SOLVER", "GRAPH", "NODES"), help="measure in this process")
    return parser


def main() -> None:
    options = measure.start(parser())
    if options.one:
        solver, kind, nodes = options.one
        print(json.dumps(measured(solver, kind, int(nodes), options)))
        return
    title = f"{options.pairs} eigenpairs of the normalized Laplacian, processor seconds on {options.threads} thread(s)"
    found: list[measure.Row] = []
    cases = [(n, solver, kind) for solver, kinds in CASES.items() for kind in kinds for n in options.nodes]
    for nodes, solver, kind in sorted(cases):
        if nodes <= options.largest.get(solver, nodes):
            found.append(row(solver, kind, nodes, options))
            measure.report(
                arranged(found), title=title, path=options.json
            )  # large graphs take long: keep what there is


def arranged(rows: list[measure.Row]) -> list[measure.Row]:
    """Solver by solver, each with its exponents once they can be fitted."""
    ordered = []
    for solver in CASES:
        own = [one for one in rows if one["solver"] == solver]
        fitted = sum(one["nodes"] >= FITTED_FROM for one in own) > 1
        ordered += [*own, slopes(own)] if fitted else own
    return ordered


if __name__ == "__main__":
    main()
