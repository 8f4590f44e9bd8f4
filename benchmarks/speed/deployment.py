"""Exported models beside the models: largest difference of the answers, and milliseconds per batch, on the same inputs.

AC-PointNet with its 24 anchors and a small CNN under 48 angles, with random weights and statistics. 'plain' is the
network alone in torch. Actions take turns, so that all see the same state of the machine; times are medians.
"""

import argparse
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import onnxruntime
import torch
from torch import Tensor, nn

import adacanon
from adacanon import Canonicalized, images
from adacanon.points import PointNet, Rotations
from benchmarks.frame import measure

RUNTIMES = ("plain", "model", "onnxruntime", "torch.export")


def subjects(points: int, side: int) -> Iterator[tuple[str, Canonicalized, Callable[[int], Tensor]]]:
    """Names, models in evaluation mode, and how to draw a batch."""
    yield "AC-PointNet, 24 anchors", _model(PointNet(40), Rotations()), lambda batch: torch.randn(batch, points, 3)
    yield "CNN, 48 angles", _model(cnn(), images.Rotations("disc")), lambda batch: torch.rand(batch, 1, side, side)


def cnn() -> nn.Module:
    """Two layers of convolution and a head."""
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.BatchNorm2d(32),
        nn.ReLU(),
        nn.AdaptiveMaxPool2d(1),
        nn.Flatten(),
        nn.Linear(32, 10),
    )


def runs(model: Canonicalized, example: Tensor, folder: Path, threads: int) -> dict[str, Callable[[Tensor], Tensor]]:
    """How each of ``RUNTIMES`` answers for a batch."""
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = threads
    file = adacanon.export(model, example, folder / "model.onnx").file
    session = onnxruntime.InferenceSession(file, settings, providers=["CPUExecutionProvider"])
    program = torch.export.load(adacanon.export(model, example, folder / "model.pt2").file).module()
    answers = (
        model.network,
        model,
        lambda g: torch.from_numpy(session.run(None, {"input": g.numpy()})[0]),
        program,
    )
    return dict(zip(RUNTIMES, answers, strict=True))


@torch.no_grad()
def rows(options: argparse.Namespace) -> Iterator[measure.Row]:
    """One for every subject and batch."""
    for name, model, draw in subjects(options.points, options.side):
        with tempfile.TemporaryDirectory() as folder:
            answer = runs(model, draw(2), Path(folder), options.threads)
            for batch in options.batches:
                g = draw(batch)
                expected = model(g)
                actions = {runtime: lambda run=run, g=g: run(g) for runtime, run in answer.items()}
                seconds = measure.medians(actions, repetitions=options.repetitions, clock=measure.CLOCKS["wall"])
                exported = [answer[runtime](g) for runtime in RUNTIMES[2:]]
                yield {
                    "model": name,
                    "batch": batch,
                    **{f"{runtime}, ms": 1e3 * seconds[runtime] for runtime in RUNTIMES},
                    "largest difference": max(float((found - expected).abs().max()) for found in exported),
                    "spread of scores": float(expected.std()),
                }


def _model(network: nn.Module, family: adacanon.Family) -> Canonicalized:
    for module in network.modules():
        if isinstance(module, nn.BatchNorm1d | nn.BatchNorm2d):
            module.running_mean.uniform_(-0.1, 0.1)  # type: ignore[union-attr]
            module.running_var.uniform_(0.05, 0.2)  # type: ignore[union-attr]
    return Canonicalized(network, family).eval()


def main() -> None:
    parser = measure.options(__doc__ or "")
    parser.add_argument("--points", type=int, default=1024)
    parser.add_argument("--side", type=int, default=28)
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 64])
    parser.add_argument("--repetitions", type=int, default=5)
    options = measure.start(parser)
    torch.manual_seed(options.seed)
    title = f"Clouds of {options.points} points, images of {options.side} x {options.side}; {options.threads} threads"
    measure.report(list(rows(options)), title=title, path=options.json)


if __name__ == "__main__":
    main()
