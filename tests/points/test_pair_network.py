"""Networks on all pairs of points, plain and equivariant: their definition, padding, order, place and pose."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from adacanon.baselines.clouds import EGNN
from adacanon.errors import InputError, ShapeError, UnknownNameError
from adacanon.points import PairNetwork
from adacanon.spaces import SO3
from oracles import pair_networks as oracle

BATCH, ATOMS, ELEMENTS = 3, 7, 4
BUILDERS: dict[str, Callable[[], nn.Module]] = {
    "PairNetwork": lambda: PairNetwork(2, features=ELEMENTS, width=6, filters=3, layers=2, hidden=5),
    "EGNN": lambda: EGNN(2, features=ELEMENTS, width=6, layers=2),
    "EGNN, vectors": lambda: EGNN(3, features=ELEMENTS, width=6, layers=2, answers="vectors"),
}
PLAIN: dict[str, Callable[..., Tensor]] = {
    "PairNetwork": oracle.pair_network,
    "EGNN": oracle.egnn,
    "EGNN, vectors": oracle.egnn,
}


@pytest.fixture(params=BUILDERS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def points(generator: torch.Generator) -> Tensor:
    return 2 * torch.randn(BATCH, ATOMS, 3, generator=generator, dtype=torch.float64)


@pytest.fixture
def types(generator: torch.Generator) -> Tensor:
    return torch.eye(ELEMENTS, dtype=torch.float64)[torch.randint(ELEMENTS, (BATCH, ATOMS), generator=generator)]


@pytest.fixture
def mask() -> Tensor:
    """Of 7, 5 and 2 atoms, not all of them in front."""
    return torch.stack([(torch.arange(ATOMS) < n).roll(k) for n, k in ((7, 0), (5, 1), (2, 4))])


def network(name: str) -> nn.Module:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(2)
        return BUILDERS[name]().double()


def test_the_definition_pair_by_pair(name: str, points: Tensor, types: Tensor, mask: Tensor) -> None:
    model = network(name)
    found = model(points, types, mask=mask)
    alone = [PLAIN[name](model, x[real], a[real]) for x, a, real in zip(points, types, mask, strict=True)]
    torch.testing.assert_close(found, torch.stack(alone))
    assert found.std() > 1e-3


def test_what_padding_holds_is_not_seen(name: str, points: Tensor, types: Tensor, mask: Tensor) -> None:
    model = network(name)
    other = points.masked_fill(~mask.unsqueeze(2), 1e3), types.masked_fill(~mask.unsqueeze(2), 5.0)
    torch.testing.assert_close(model(*other, mask=mask), model(points, types, mask=mask))


def test_without_a_mask_all_points_are_real(name: str, points: Tensor, types: Tensor) -> None:
    model, every = network(name), torch.ones(BATCH, ATOMS, dtype=torch.bool)
    torch.testing.assert_close(model(points, types), model(points, types, every))


def test_neither_order_nor_place_matter(
    name: str, points: Tensor, types: Tensor, mask: Tensor, generator: torch.Generator
) -> None:
    model, order = network(name), torch.randperm(ATOMS, generator=generator)
    shifted = points + torch.tensor([3.0, -1.0, 2.0], dtype=torch.float64)
    expected = model(points, types, mask=mask)
    torch.testing.assert_close(model(shifted[:, order], types[:, order], mask=mask[:, order]), expected)


def test_types_matter(name: str, points: Tensor, types: Tensor) -> None:
    model = network(name)
    assert (model(points, types.roll(1, 2)) - model(points, types)).abs().max() > 1e-3


def test_the_plain_network_sees_a_rotation_and_the_equivariant_ones_answer_with_one(
    name: str, points: Tensor, types: Tensor, mask: Tensor, generator: torch.Generator
) -> None:
    model, poses = network(name), SO3().sample(BATCH, generator=generator).double()
    before, after = model(points, types, mask=mask), model(points @ poses.mT, types, mask=mask)
    if name == "PairNetwork":
        assert (after - before).abs().max() > 1e-2
    elif name == "EGNN":
        torch.testing.assert_close(after, before)
    else:
        torch.testing.assert_close(after, (poses @ before.unsqueeze(2)).squeeze(2))
        assert (after - before).abs().max() > 1e-2


def test_every_parameter_is_trained(name: str, points: Tensor, types: Tensor) -> None:
    model = network(name)
    model(points, types).square().sum().backward()
    idle = [key for key, p in model.named_parameters() if p.grad is None or not bool((p.grad != 0).any())]
    last = ["layers.1.gate", "layers.1.update"] if name == "EGNN, vectors" else []
    assert [key for key in idle if not key.startswith(tuple(last) or ("none",))] == []


class TestErrors:
    def test_features_of_another_shape(self, name: str, points: Tensor, types: Tensor) -> None:
        expected = r"expects features of shape \(3, 7, 4\), a row for every point, got \(3, 7, 3\)\. Hint"
        with pytest.raises(ShapeError, match=expected):
            network(name)(points, types[..., :3])

    def test_a_mask_in_the_place_of_features(self, name: str, points: Tensor, mask: Tensor) -> None:
        with pytest.raises(ShapeError, match=r"got \(3, 7\)\. Hint: network\(points, features, mask=mask\)"):
            network(name)(points, mask)

    def test_sizes(self) -> None:
        with pytest.raises(InputError, match=r"at least one output.*layers=0"):
            PairNetwork(1, features=2, layers=0)
        with pytest.raises(InputError, match=r"one vector of 3 numbers, got outputs=1\. Hint"):
            EGNN(1, features=2, answers="vectors")
        with pytest.raises(UnknownNameError, match="got 'maps'"):
            EGNN(1, features=2, answers="maps")  # type: ignore[arg-type]
