"""Arguments, graphs and states of the wrong kind: what the campaign of ``make fuzz`` found, and how it is refused."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from benchmarks.fuzz.draw import Draw
from benchmarks.fuzz.models import CASES, model_of
from torch import nn
from torch_geometric.data import Data

from adacanon import Canonicalized, CoarseToFine, Composition, GridSearch, LargestScore, Objective, RandomSearch
from adacanon.errors import AdacanonError, DataError, InputError, ShapeError
from adacanon.graphs import BandRotations, EncodedANLSF, NodeFilter, NodeLabeller, SpectralMLP, anlsf, dyadic
from adacanon.images import Preprocessing, ResNet18, UNet, Windows, load_weights
from adacanon.images import Rotations as Turns
from adacanon.maximizers import Calibration
from adacanon.points import DGCNN, Balls, DeepSet, PointNet, PointNet2, Rotations
from adacanon.spaces import Box, Finite, Orthogonal, Product
from cases.networks import cloud_network, clouds

WRONG: dict[str, Callable[[], object]] = {
    "widths that are no sequence": lambda: PointNet(3, widths=64),  # type: ignore[arg-type]
    "widths as a text": lambda: DeepSet(3, widths="64"),
    "a dropout above one": lambda: DGCNN(3, dropout=1.5),
    "a fraction of a class": lambda: PointNet(2.5),  # type: ignore[arg-type]
    "more classes than memory": lambda: ResNet18(10**12),
    "levels that are no balls": lambda: PointNet2(3, levels=(1, 2)),  # type: ignore[arg-type]
    "a radius as a text": lambda: Balls(4, "0.5", 2),  # type: ignore[arg-type]
    "channels as a list": lambda: UNet(2, channels=[1]),  # type: ignore[arg-type]
    "a mean that is a number": lambda: Preprocessing(mean=0.5, std=(1.0,)),  # type: ignore[arg-type]
    "hidden as a text": lambda: SpectralMLP(2, 2, classes=2, hidden="8"),  # type: ignore[arg-type]
    "a filter that is none": lambda: NodeLabeller(nn.Linear(2, 2), 2, classes=2),  # type: ignore[arg-type]
    "a family that is none": lambda: anlsf(dyadic(3), 2, classes=2),  # type: ignore[arg-type]
    "features of zero": lambda: NodeFilter(2, 2, features=0),
    "a billion bands": lambda: dyadic(10**9),
    "low that is a list": lambda: dyadic(3, low=[0.0]),  # type: ignore[arg-type]
    "a corner that is a number": lambda: Box(0.0, 1.0),  # type: ignore[arg-type]
    "factors that are no spaces": lambda: Product(Finite(2), 3),  # type: ignore[arg-type]
    "parts that are no families": lambda: Composition(Turns(), "Dilations"),  # type: ignore[arg-type]
    "frames that are proper": lambda: Orthogonal(3, columns=2, proper=True),
    "sizes that are fractions": lambda: Orthogonal(torch.tensor([2.5, 3.0])),
    "a flag as a tensor": lambda: CoarseToFine(RandomSearch(2), 3, pilot=torch.tensor([1, 2])),  # type: ignore[arg-type]
    "a calibration that is a number": lambda: CoarseToFine(RandomSearch(2), 3, calibration=1),  # type: ignore[arg-type]
    "infinitely many forms": lambda: Objective(Canonicalized(nn.Flatten(), Rotations()), forms=float("inf")),
    "a seed beyond 64 bits": lambda: Canonicalized(nn.Flatten(), Rotations(), seed=2**63),
    "mirrors in an array": lambda: Windows(resize=np.array(["area", "bilinear"])),  # type: ignore[arg-type]
    "a generator that is a seed": lambda: Canonicalized(cloud_network(), Rotations())(clouds(), generator=3),  # type: ignore[call-arg]
    "points of another space": lambda: Canonicalized(
        cloud_network(), Rotations(), GridSearch(points=torch.tensor([1.0, 2.0]))
    )(clouds()),
    "sparse clouds": lambda: Canonicalized(cloud_network(), Rotations())(clouds().to_sparse()),
    "clouds without values": lambda: Canonicalized(cloud_network(), Rotations())(clouds().to("meta")),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_of_the_wrong_kind_is_refused_by_name(name: str) -> None:
    with pytest.raises(AdacanonError, match=r"[a-z]"):
        WRONG[name]()


def test_an_axis_may_be_a_number_of_numpy() -> None:
    assert LargestScore(np.int64(1)) == LargestScore(1)  # type: ignore[arg-type]


# Graphs


def path(**changes: Any) -> Data:
    graph = Data(x=torch.eye(3)[:, :2], edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), num_nodes=3)
    for name, value in changes.items():
        setattr(graph, name, value)
    return graph


GRAPHS = {
    "edges between nodes": {"edge_index": torch.tensor([[0.4, 1.4], [1.4, 0.4]])},
    "edges as booleans": {"edge_index": torch.tensor([[True, False], [False, True]])},
    "edges as a list": {"edge_index": [[0, 1], [1, 0]]},
    "complex features": {"x": torch.ones(3, 2) + 1j},
    "features as a list": {"x": [[1.0, 2.0]] * 3},
}


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize(
    "model",
    [
        lambda: anlsf(BandRotations(dyadic(3), 2), 2, classes=2, hidden=4),
        lambda: EncodedANLSF(2, classes=2, features=4, width=4, hidden=4, walk_steps=2),
    ],
    ids=["anlsf", "encoded"],
)
def test_graphs_whose_edges_or_features_are_no_numbers_of_theirs_are_refused(
    name: str, model: Callable[[], nn.Module]
) -> None:
    with pytest.raises((InputError, ShapeError), match=r"edge_index|node features"):
        model().eval()(path(**GRAPHS[name]))


@pytest.mark.parametrize("name", CASES)
def test_every_default_search_keeps_a_budget(name: str) -> None:
    found = model_of(name).canonicalize(CASES[name].inputs(Draw("budget")), budget=5)
    assert found.evaluations <= 5


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64], ids=str)
@pytest.mark.parametrize("name", [name for name in CASES if name.startswith(("graphs", "nodes"))])
def test_models_of_graphs_run_in_every_precision(name: str, dtype: torch.dtype) -> None:
    g = CASES[name].inputs(Draw("precision"))
    with torch.no_grad():
        answer = copy.deepcopy(model_of(name)).to(dtype)(g)
    assert bool(answer.isfinite().all())


# States and files


EMPTY = torch.frombuffer(bytearray(b"{}"), dtype=torch.uint8)


@pytest.mark.parametrize("state", [3, torch.zeros(2, 2), torch.tensor([1, 2]), EMPTY], ids=str)
def test_a_checkpoint_whose_names_cannot_be_read_is_refused(state: Any) -> None:
    model = Canonicalized(cloud_network(), Rotations())
    with pytest.raises(InputError, match="does not name its family and search in a way that can be read"):
        model.load_state_dict({**model.state_dict(), "_extra_state": state})


@pytest.mark.parametrize("state", [3, {}, {"moments": torch.tensor([torch.nan]), "batches": 1}], ids=str)
def test_a_calibration_does_not_take_what_is_not_its_state(state: Any) -> None:
    with pytest.raises(InputError, match="state of a calibration cannot be read"):
        Calibration().set_extra_state(state)


def test_a_flipped_bit_in_weights_is_noticed(tmp_path: Path) -> None:
    file, module = tmp_path / "w.pth", nn.Linear(8, 8)
    torch.save(module.state_dict(), file)
    content = bytearray(file.read_bytes())
    place = content.find(module.weight.detach().numpy().tobytes()[:16])
    assert place > 0
    content[place] ^= 1
    file.write_bytes(content)
    with pytest.raises(DataError, match="checksum"):
        load_weights(nn.Linear(8, 8), file)
