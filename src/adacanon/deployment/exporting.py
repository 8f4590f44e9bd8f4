"""Export of a model to a file, checked against the model."""

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor
from torch.export import ExportedProgram

from adacanon.arguments import real_number, whole_number
from adacanon.core.canonicalized import Canonicalized
from adacanon.core.evaluation_mode import in_evaluation_mode
from adacanon.core.pytree import batch_size, map_tensors, slice_rows, tensors
from adacanon.deployment.candidates import candidates_of
from adacanon.deployment.formats import Format, format_of
from adacanon.deployment.program import Program, SomeForms
from adacanon.deployment.traced import as_module, quietly, traced, two_or_more
from adacanon.errors import ExportError, InputError
from adacanon.files import write_whole

AT_A_TIME = 4
"""Candidates that go through the network together: for one input nearly as fast as all of them, for many inputs the
memory of four plain passes.
"""


@dataclass(frozen=True)
class Exported:
    """An exported model, and how far its answers are from those of the model.

    Attributes:
        file: where it is.
        inputs: names of its inputs, ("input",), or ("input0", "input1", ...) for a batch of several tensors.
        output: name of its output, "scores" or for answers of another kind "answers".
        candidates: transformations per input.
        difference: the largest difference between an answer of the file and of the model, on the example.

    Example:
        >>> Exported(Path("model.onnx"), ("input",), "scores", candidates=24, difference=1e-7).output
        'scores'
    """

    file: Path
    inputs: tuple[str, ...]
    output: str
    candidates: int
    difference: float


def export(
    model: Canonicalized, example: Any, file: str | Path, *, at_a_time: int = AT_A_TIME, tolerance: float = 1e-4
) -> Exported:
    """Write a model to a file that runs without adacanon, for batches of any size, and compare the two.

    A file that ends with ``.onnx`` is for onnxruntime and other runtimes of ONNX; one that ends with ``.pt2`` is a
    program of torch, ``torch.export.load(file).module()``. The search is part of it: GridSearch, RandomSearch, and
    AnchoredSearch without refinement steps can be exported, at any temperature.

    A program does not check its inputs: NaN goes through it, and shapes without axes of their own cause no warning.

    Args:
        model: as it is in evaluation mode; it stays as it is.
        example: a batch as the model takes it. Sizes other than that of the batch are those of the example.
        at_a_time: candidates of an input that go through the network together, at most.
        tolerance: largest difference between the answers of file and model, relative to the largest answer if that is
            above 1. If it is larger, nothing is written, and a file that was there stays.

    Example:
        >>> import tempfile
        >>> from torch import nn
        >>> from adacanon.images import Rotations
        >>> model = Canonicalized(nn.Sequential(nn.Flatten(), nn.Linear(16, 3)), Rotations())
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     exported = export(model, torch.rand(2, 1, 4, 4), f"{folder}/model.pt2")
        ...     answers = torch.export.load(exported.file).module()(torch.rand(5, 1, 4, 4))
        >>> exported.candidates, answers.shape
        (48, torch.Size([5, 3]))
    """
    if not isinstance(model, Canonicalized):
        raise InputError(f"export takes a Canonicalized model, got {type(model).__name__}. Hint: torch.onnx.export")
    at_a_time = whole_number("export", "at_a_time", at_a_time, least=1)
    tolerance = real_number("export", "tolerance", tolerance, least=0)
    path = Path(file)
    form = format_of(path)
    with torch.no_grad(), in_evaluation_mode(model) as twin:
        model = cast(Canonicalized, twin)
        expected = model(example)
        program, count = program_of(model, two_or_more(example), at_a_time=at_a_time)
        names = _input_names(example)
        output = "answers" if model.prior.shared else "scores"
        with tempfile.TemporaryDirectory() as folder:  # a file that is there already stays until this one is right
            trial = Path(folder) / path.name
            form.write(program, trial, names, output, about=repr(model))
            difference = _largest_difference(form, trial, example, expected, tolerance)
            write_whole(path, trial.read_bytes())
    return Exported(path, tuple(names), output, count, difference)


def program_of(model: Canonicalized, example: Any, *, at_a_time: int) -> tuple[ExportedProgram, int]:
    """A model in evaluation mode as a program, and its number of candidates per input."""
    g = model.prepare(example)
    with model.searching(g, None, None) as (_, landscape):
        candidates = candidates_of(model, landscape)
    u = candidates(g)
    count = batch_size(u)
    together = max(size for size in range(1, min(at_a_time, count) + 1) if count % size == 0)
    some = map_tensors(lambda leaf: leaf[:together].contiguous(), u)
    with quietly():
        forms = traced(SomeForms(model), (g, 0), (some, 1), what="The network on transformed inputs")
        program = Program(model, as_module(forms), candidates, at_a_time=together)
        return traced(program, (example, 0), what="The model"), count


def _input_names(example: Any) -> list[str]:
    count = len(tensors(example))
    return ["input"] if count == 1 else [f"input{index}" for index in range(count)]


def _largest_difference(form: Format, path: Path, example: Any, expected: Tensor, tolerance: float) -> float:
    """On the example, and on its first row alone; an error if it is above what is tolerated."""
    alone = form.run(path, slice_rows(example, 0, 1))
    pairs = ((form.run(path, example), expected), (alone, expected[:1]))
    difference = max(float((found - right.cpu()).abs().max()) for found, right in pairs)
    allowed = tolerance * max(1.0, float(expected.abs().max()))
    if not difference <= allowed:
        raise ExportError(
            f"Answers of {path.name} differ from those of the model by {difference:.2g} on the example, more than "
            f"{allowed:.2g}; nothing was written. Hint: inputs with axes of their own, and a network without random "
            "numbers in evaluation mode; tolerance= for what you can accept"
        )
    return difference
