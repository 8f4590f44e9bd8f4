"""The file formats of exported models: how each is written and run."""

import io
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.export import ExportedProgram

from adacanon.core.pytree import Tree, tensors
from adacanon.deployment.traced import quietly
from adacanon.errors import ExportError, UnknownNameError
from adacanon.extras import optional

OPSET = 18
"""Of ONNX. Later ones are made of it by conversion, which leaves out what is inside loops."""


class Format(ABC):
    """A way to keep a program in a file."""

    @abstractmethod
    def write(self, program: ExportedProgram, path: Path, inputs: list[str], output: str, about: str) -> None:
        """Write the program.

        Args:
            inputs: names of its inputs, and ``output`` that of its output.
            about: a line that is kept with it.
        """

    @abstractmethod
    def run(self, path: Path, g: Tree) -> Tensor:
        """What the file answers for a batch."""


class PT2(Format):
    """A program of torch, ``torch.export.load(path).module()``."""

    def write(self, program: ExportedProgram, path: Path, inputs: list[str], output: str, about: str) -> None:
        content = io.BytesIO()
        with quietly():
            torch.export.save(program, content, extra_files={"adacanon.txt": about})
        path.write_bytes(content.getbuffer())

    def run(self, path: Path, g: Tree) -> Tensor:
        with quietly(), torch.no_grad():
            return torch.export.load(path).module()(g)


class ONNX(Format):
    """A program for onnxruntime and other runtimes."""

    def write(self, program: ExportedProgram, path: Path, inputs: list[str], output: str, about: str) -> None:
        with optional("Writing ONNX files"):
            import onnx_ir
            import onnxscript  # noqa: F401  torch needs it
            from onnx_ir.passes import common
        with quietly():
            model = _translated(program, inputs, output).model
            common.ClearMetadataAndDocStringPass()(model)  # it names files of this machine
            common.RemoveUnusedNodesPass()(model)
        model.metadata_props["adacanon"] = about
        path.write_bytes(onnx_ir.to_proto(model).SerializeToString())

    def run(self, path: Path, g: Tree) -> Tensor:
        with optional("Checking ONNX files"):
            import onnxruntime
        try:
            session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        except Exception as error:  # onnxruntime raises errors of its own that share no base
            raise ExportError(f"onnxruntime cannot run the file: {error}. Hint: a file that ends with .pt2") from error
        names = [given.name for given in session.get_inputs()]
        given = {name: leaf.detach().cpu().numpy() for name, leaf in zip(names, tensors(g), strict=True)}
        return torch.from_numpy(session.run(None, given)[0])


FORMATS: dict[str, Format] = {".onnx": ONNX(), ".pt2": PT2()}


def format_of(path: Path) -> Format:
    """By the end of the file's name."""
    if path.suffix not in FORMATS:
        raise UnknownNameError(
            f"A model is exported to a file that ends with {' or '.join(FORMATS)}, got {path.name!r}"
        )
    return FORMATS[path.suffix]


def _translated(program: ExportedProgram, inputs: list[str], output: str) -> Any:
    try:
        translated = torch.onnx.export(
            program, dynamo=True, input_names=inputs, output_names=[output], opset_version=OPSET, verbose=False
        )
    except torch.onnx.errors.OnnxExporterError as error:
        reason = str(error.__cause__ or error).splitlines()[0]
        raise ExportError(
            f"ONNX has no way to write a part of this model: {reason}. Hint: a file that ends with .pt2 holds what "
            "torch can do; for ONNX, replace the operation that is named"
        ) from error
    assert translated is not None
    return translated
