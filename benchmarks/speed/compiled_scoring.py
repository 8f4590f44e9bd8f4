"""What torch.compile gains where a search spends its time: a network on many coarse views, and on whole clouds.

The PointNet of this library, and the same layers from torch's own modules, without gradients and in evaluation mode, in
both precisions; medians of interleaved passes in one run. It needs a C++ compiler.
"""

import torch
from torch import nn

from adacanon.core.precision import in_precision, reduced_precision
from adacanon.points.pointnet import PointNet
from benchmarks.clouds.pointnet_step import OrdinaryPointNet
from benchmarks.frame import measure

SHAPES = {"512 views of 64 points": (512, 64, 3), "32 clouds of 1024 points": (32, 1024, 3)}


def row(name: str, network: nn.Module, what: str, dtype: torch.dtype | None, repetitions: int) -> measure.Row:
    """Eager and compiled in turn."""
    clouds = torch.randn(*SHAPES[what])
    eager, compiled = (in_precision(one, "cpu", dtype) for one in (network, torch.compile(network)))
    with torch.no_grad():
        actions = {"eager": lambda: eager(clouds), "compiled": lambda: compiled(clouds)}
        seconds = measure.medians(actions, repetitions=repetitions)
    return {
        "network": name,
        "on": what,
        "precision": str(dtype or torch.float32),
        "eager, ms": 1000 * seconds["eager"],
        "eager over compiled": seconds["eager"] / seconds["compiled"],
    }


def main() -> None:
    parser = measure.options(__doc__ or "")
    parser.add_argument("--repetitions", type=int, default=9)
    options = measure.start(parser)
    torch.manual_seed(options.seed)
    networks = {"PointNet": PointNet(40).eval(), "ordinary PointNet": OrdinaryPointNet(40).eval()}
    precisions = dict.fromkeys((None, reduced_precision("cpu")))
    rows = [
        row(name, network, what, dtype, options.repetitions)
        for name, network in networks.items()
        for what in SHAPES
        for dtype in precisions
    ]
    measure.report(rows, title=f"{options.threads} threads", path=options.json)


if __name__ == "__main__":
    main()
