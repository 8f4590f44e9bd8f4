"""Exported models give the answers of the model, whatever runs them."""

import sys
from pathlib import Path
from typing import Any

import onnxruntime
import pytest
import torch
from torch import Tensor, nn
from torch_geometric.data import Batch, Data

import adacanon
from adacanon import (
    AnchoredSearch,
    Canonicalized,
    CoarseToFine,
    Confidence,
    GridSearch,
    NegativeEntropy,
    RandomSearch,
    SampleAndRefine,
    images,
    points,
)
from adacanon.errors import ExportError, InputError, MissingPackageError, UnknownNameError
from adacanon.graphs import BandRotations, anlsf, dyadic
from adacanon.points.frames import SettledAxes, principal_axes

BATCHES = (1, 5)


def generator() -> torch.Generator:
    return torch.Generator().manual_seed(1)


def clouds(batch: int = 3) -> Tensor:
    return torch.randn(batch, 20, 3, generator=generator()) * torch.tensor([1.0, 2.0, 3.0])


def pictures(batch: int = 3) -> Tensor:
    return torch.rand(batch, 1, 12, 12, generator=generator())


def pointnet() -> nn.Module:
    """With statistics that evaluation mode uses and training mode does not."""
    torch.manual_seed(0)
    network = points.PointNet(4, widths=(8, 16), head=(8,))
    for module in network.modules():
        if isinstance(module, nn.BatchNorm1d):
            module.running_mean.uniform_(-0.2, 0.2)  # type: ignore[union-attr]
            module.running_var.uniform_(0.1, 0.3)  # type: ignore[union-attr]
    return network


def dgcnn() -> nn.Module:
    torch.manual_seed(0)
    return points.DGCNN(4, k=5, widths=(8, 16), aggregation=16, head=(8,))


def cnn(channels: int = 4) -> nn.Module:
    torch.manual_seed(0)
    layers = [nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, channels, 5), nn.Flatten(2)]
    return nn.Sequential(*layers, Largest())


class Largest(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return 10 * x.amax(2)


def segmenter() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 3, 3, padding=1))


class Turning(nn.Module):
    """Vectors that depend on the pose, and a confidence."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layers = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 4))

    def forward(self, x: Tensor) -> Tensor:
        return 10 * self.layers(x).mean(1)


class WithCategory(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first, self.last = nn.Linear(3, 8), nn.Linear(10, 4)

    def forward(self, x: Tensor, category: Tensor) -> Tensor:
        return self.last(torch.cat([self.first(x).relu().amax(1), category], 1))


MODELS: dict[str, tuple[Canonicalized, Any]] = {
    "clouds, 24 anchors": (Canonicalized(pointnet(), points.Rotations()), clouds),
    "clouds, 24 anchors, soft": (Canonicalized(pointnet(), points.Rotations(), temperature=0.7), clouds),
    "clouds, four anchors": (Canonicalized(pointnet(), points.Rotations(), AnchoredSearch(4, whole=False)), clouds),
    "clouds, draws on anchors": (Canonicalized(pointnet(), points.Rotations(), AnchoredSearch(72)), clouds),
    "clouds about an axis": (Canonicalized(pointnet(), points.AxisRotations((0, 1, 0))), clouds),
    "clouds, neighbourhoods": (Canonicalized(dgcnn(), points.Rotations(), GridSearch(4)), clouds),
    "clouds, random": (Canonicalized(pointnet(), points.Rotations(), RandomSearch(7)), clouds),
    "clouds, vectors, blended": (
        Canonicalized(Turning(), points.Rotations(), prior=Confidence(), answers="vectors", temperature=0.5),
        clouds,
    ),
    "clouds, vectors, one form": (
        Canonicalized(Turning(), points.Rotations(), prior=Confidence(), answers="vectors"),
        clouds,
    ),
    "clouds with a category": (
        Canonicalized(points.Unpacked(WithCategory()), points.Rotations()),
        lambda batch=3: (clouds(batch), torch.eye(2)[torch.arange(batch) % 2]),
    ),
    "images, 48 angles": (Canonicalized(cnn(), images.Rotations("disc")), pictures),
    "images, 48 angles, soft": (Canonicalized(cnn(), images.Rotations("disc"), temperature=1.0), pictures),
    "images, quarter turns": (Canonicalized(cnn(), images.Rotations(), GridSearch(4)), pictures),
    "images, two symmetries": (
        Canonicalized(cnn(), images.Composed(images.Rotations(), images.Dilations()), RandomSearch(6)),
        pictures,
    ),
    "windows": (Canonicalized(cnn(), images.Windows(), temperature=0), pictures),
    "maps, blended": (
        Canonicalized(
            segmenter(), images.Rotations(), GridSearch(8), prior=NegativeEntropy(axis=1), answers="maps", temperature=1
        ),
        pictures,
    ),
    "maps, one form": (
        Canonicalized(segmenter(), images.Rotations(), GridSearch(8), prior=NegativeEntropy(axis=1), answers="maps"),
        pictures,
    ),
}


def run_onnx(file: Path, g: Any) -> Tensor:
    session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
    leaves = g if isinstance(g, tuple) else (g,)
    given = {node.name: leaf.numpy() for node, leaf in zip(session.get_inputs(), leaves, strict=True)}
    return torch.from_numpy(session.run(None, given)[0])


def run_torch(file: Path, g: Any) -> Tensor:
    return torch.export.load(file).module()(g)


RUN = {".onnx": run_onnx, ".pt2": run_torch}


IN_TORCH = ("clouds, 24 anchors", "clouds, vectors, one form", "images, 48 angles, soft", "maps, one form")
"""An export takes seconds, so some models are written in one format only."""

IN_ONNX = [name for name in MODELS if name not in IN_TORCH[1:]]
CASES = [(name, ".onnx") for name in IN_ONNX] + [(name, ".pt2") for name in IN_TORCH]


@pytest.mark.parametrize(("name", "suffix"), CASES)
def test_a_file_gives_the_answers_of_its_model_for_any_batch(name: str, suffix: str, tmp_path: Path) -> None:
    model, inputs = MODELS[name]
    exported = adacanon.export(model, inputs(), tmp_path / f"model{suffix}")
    with torch.no_grad():
        for batch in BATCHES:
            expected = model.eval()(inputs(batch))
            found = RUN[suffix](exported.file, inputs(batch))
            assert found.shape == expected.shape
            assert torch.allclose(found, expected, atol=1e-4), name
            assert float(expected.std()) > 1e-2, name  # answers that could differ


def test_the_answers_are_invariant_under_onnxruntime_too(tmp_path: Path) -> None:
    model, inputs = MODELS["clouds, 24 anchors"]
    file = adacanon.export(model, inputs(), tmp_path / "model.onnx").file
    turn = torch.linalg.qr(torch.randn(3, 3, generator=generator())).Q
    turn = turn * torch.linalg.det(turn).sign()
    assert torch.allclose(run_onnx(file, inputs(5)), run_onnx(file, inputs(5) @ turn.T), atol=1e-4)
    assert not torch.allclose(model.network.eval()(inputs(5)), model.network(inputs(5) @ turn.T), atol=1e-2)


def test_symmetric_inputs_have_finite_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program does not look for further moments: a cube, a line and a point have axes that the solver chooses."""
    model, _ = MODELS["clouds, 24 anchors"]
    file = adacanon.export(model, clouds()[:, :8], tmp_path / "model.onnx").file
    cube = torch.cartesian_prod(*[torch.tensor([-1.0, 1.0])] * 3)
    line = torch.arange(8.0)[:, None] * torch.tensor([0.0, 1.0, 0.0])
    symmetric = torch.stack([cube, line, torch.ones(8, 3), 1e-30 * cube])
    assert bool(run_onnx(file, symmetric).isfinite().all())

    def of_the_solver(points: Tensor, mask: Tensor | None = None) -> SettledAxes:
        known = torch.ones(len(points), dtype=torch.bool)
        return SettledAxes(principal_axes(points, mask), known, known)

    monkeypatch.setattr("adacanon.points.rotations.settled_axes", of_the_solver)
    cubes = torch.stack([cube, cube[:, [1, 2, 0]]])  # its axes are those of the coordinates in both solvers
    with torch.no_grad():
        assert torch.allclose(run_onnx(file, cubes), model.eval()(cubes), atol=1e-4)


class TestFile:
    def test_it_says_what_it_is(self, tmp_path: Path) -> None:
        model, inputs = MODELS["images, quarter turns"]
        exported = adacanon.export(model, inputs(), tmp_path / "model.onnx")
        session = onnxruntime.InferenceSession(exported.file, providers=["CPUExecutionProvider"])
        assert "Rotations" in session.get_modelmeta().custom_metadata_map["adacanon"]
        assert ([node.name for node in session.get_inputs()], session.get_outputs()[0].name) == (["input"], "scores")
        assert (exported.inputs, exported.output, exported.candidates) == (("input",), "scores", 4)
        assert exported.difference < 1e-4

    def test_it_names_no_path_of_the_machine_that_wrote_it(self, tmp_path: Path) -> None:
        model, inputs = MODELS["images, quarter turns"]
        content = adacanon.export(model, inputs(), tmp_path / "model.onnx").file.read_bytes()
        assert b"adacanon/" not in content
        assert b".py" not in content

    def test_the_model_stays_as_it_is(self, tmp_path: Path) -> None:
        model = Canonicalized(pointnet(), points.Rotations(), RandomSearch(3)).train()
        before = {key: value.clone() for key, value in model.state_dict().items()}
        adacanon.export(model, clouds(), tmp_path / "model.pt2")
        assert all(module.training for module in model.modules())
        assert all(torch.equal(value, before[key]) for key, value in model.state_dict().items())

    def test_one_row_is_example_enough(self, tmp_path: Path) -> None:
        model, inputs = MODELS["images, quarter turns"]
        file = adacanon.export(model, inputs(1), tmp_path / "model.onnx").file
        assert run_onnx(file, inputs(7)).shape == (7, 4)

    @pytest.mark.parametrize("at_a_time", [3, 1000])
    def test_how_many_go_together_changes_no_answer(self, at_a_time: int, tmp_path: Path) -> None:
        model, inputs = MODELS["clouds, random"]
        file = adacanon.export(model, inputs(), tmp_path / "model.onnx", at_a_time=at_a_time).file
        with torch.no_grad():
            assert torch.allclose(run_onnx(file, inputs(5)), model.eval()(inputs(5)), atol=1e-5)


class Branching(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.mean(1) if bool(x.sum() > 0) else x.amax(1)


class TestRefusals:
    @pytest.mark.parametrize(
        "search", [SampleAndRefine(5, steps=1), CoarseToFine(RandomSearch(5)), AnchoredSearch(24, steps=1)], ids=repr
    )
    def test_a_search_that_looks_first_is_refused_with_those_that_can_be_exported(
        self, search: Any, tmp_path: Path
    ) -> None:
        model = Canonicalized(pointnet(), points.Rotations(), search)
        with pytest.raises(InputError, match="GridSearch, RandomSearch, and AnchoredSearch without refinement"):
            adacanon.export(model, clouds(), tmp_path / "model.onnx")

    def test_another_file_name(self, tmp_path: Path) -> None:
        with pytest.raises(UnknownNameError, match=r"ends with \.onnx or \.pt2, got 'model\.pth'"):
            adacanon.export(MODELS["clouds, random"][0], clouds(), tmp_path / "model.pth")

    def test_a_network_without_a_symmetry(self, tmp_path: Path) -> None:
        with pytest.raises(InputError, match="takes a Canonicalized model, got PointNet"):
            adacanon.export(pointnet(), clouds(), tmp_path / "model.onnx")  # type: ignore[arg-type]

    def test_a_network_that_looks_at_values(self, tmp_path: Path) -> None:
        model = Canonicalized(Branching(), points.Rotations())
        with pytest.raises(ExportError, match="The network on transformed inputs cannot be turned into a program") as e:
            adacanon.export(model, clouds(), tmp_path / "model.onnx")
        assert "branches and loops" in str(e.value)

    def test_a_file_that_differs_is_not_kept(self, tmp_path: Path) -> None:
        model, inputs = MODELS["images, 48 angles"]
        with pytest.raises(ExportError, match="differ from those of the model"):
            adacanon.export(model, inputs(), tmp_path / "model.onnx", tolerance=0)
        assert list(tmp_path.iterdir()) == []

    def test_an_earlier_file_stays_if_the_new_one_differs(self, tmp_path: Path) -> None:
        model, inputs = MODELS["images, quarter turns"]
        (tmp_path / "model.onnx").write_text("an earlier model")
        with pytest.raises(ExportError, match="nothing was written"):
            adacanon.export(model, inputs(), tmp_path / "model.onnx", tolerance=0)
        assert (tmp_path / "model.onnx").read_text() == "an earlier model"

    def test_graphs_whose_spaces_follow_from_each_of_them(self, tmp_path: Path) -> None:
        path = Data(x=torch.eye(3), edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
        model = anlsf(BandRotations(dyadic(4), rows=2), channels=3, classes=2, search=RandomSearch(3))
        with pytest.raises(InputError, match="has another space for every input"):
            adacanon.export(model, Batch.from_data_list([path, path]), tmp_path / "model.onnx")

    def test_a_missing_package_is_named(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setitem(sys.modules, "onnx_ir", None)
        model, inputs = MODELS["images, quarter turns"]
        with pytest.raises(MissingPackageError, match=r'pip install "adacanon\[export\]"'):
            adacanon.export(model, inputs(), tmp_path / "model.onnx")
