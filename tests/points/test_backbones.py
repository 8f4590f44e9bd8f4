"""What every network on clouds keeps: its plain definition, the order of points, masks, sizes, errors."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import pytest
import torch
from torch import Tensor, nn

from adacanon import Canonicalized, Objective, RandomSearch
from adacanon.errors import InputError, ShapeError, UnknownNameError
from adacanon.points import DGCNN, RSCNN, Balls, DeepSet, PointNet2, Rotations
from adacanon.points.normalized_linear import NormalizedLinear
from adacanon.points.pointnet2 import SetAbstraction
from oracles import backbones as oracle

BATCH, POINTS, CLASSES = 4, 30, 5
LEVELS = (Balls(12, 1.0, 8), Balls(5, 2.0, 6))


def deepset(model: DeepSet, points: Tensor) -> Tensor:
    x = points
    for layer in model.layers:
        assert isinstance(layer, NormalizedLinear)
        x = oracle.normalised(layer, x).relu()
    return model.head(x.sum(1))


@dataclass(frozen=True)
class Case:
    build: Callable[[], nn.Module]
    plain: Callable[..., Tensor]


CASES = {
    "DeepSet": Case(lambda: DeepSet(CLASSES, widths=(8, 16), head=(12,), dropout=0.0), deepset),
    "DGCNN": Case(
        lambda: DGCNN(CLASSES, k=6, widths=(8, 12, 16), aggregation=20, head=(12, 6), dropout=0.0), oracle.dgcnn
    ),
    "PointNet2": Case(
        lambda: PointNet2(
            CLASSES, levels=LEVELS, widths=((8, 8, 12), (12, 16)), last=(16, 20), head=(12, 6), dropout=0.0
        ),
        oracle.pointnet2,
    ),
    "RSCNN": Case(lambda: RSCNN(CLASSES, levels=LEVELS, widths=(8, 16, 20), head=(12, 6), dropout=0.0), oracle.rscnn),
}


def network(name: str, *, seed: int = 0) -> nn.Module:
    """In float64 and training mode, with normalizations that have been trained for some steps."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = CASES[name].build().double()
        for parameter in model.parameters():
            parameter.data += 0.3 * torch.randn_like(parameter)  # scales of either sign, shifts that are not zero
        for _ in range(5):
            model(2 * torch.randn(BATCH, POINTS, 3, dtype=torch.float64) + 1)
    return model


@pytest.fixture
def clouds(generator: torch.Generator) -> Tensor:
    return torch.randn(BATCH, POINTS, 3, generator=generator, dtype=torch.float64)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("name", CASES)
def test_values_gradients_and_statistics_are_those_of_the_plain_network(
    clouds: Tensor, name: str, training: bool
) -> None:
    ours, plain = network(name).train(training), network(name).train(training)
    x, y = clouds.clone().requires_grad_(), clouds.clone().requires_grad_()
    result, expected = ours(x), CASES[name].plain(plain, y)
    torch.testing.assert_close(result, expected, rtol=1e-9, atol=1e-9)
    result.sin().sum().backward()
    expected.sin().sum().backward()
    torch.testing.assert_close(x.grad, y.grad, rtol=1e-7, atol=1e-8)
    for (key, a), (_, b) in zip(ours.named_parameters(), plain.named_parameters(), strict=True):
        assert a.grad is not None
        assert a.grad.abs().sum() > 0, key
        torch.testing.assert_close(a.grad, b.grad, rtol=1e-7, atol=1e-8, msg=lambda text, key=key: f"{key}: {text}")
    torch.testing.assert_close(ours.state_dict(), plain.state_dict())


@pytest.mark.parametrize("name", CASES)
def test_single_precision_is_about_as_exact_as_the_plain_network(name: str, generator: torch.Generator) -> None:
    model = network(name)
    points = (0.3 * torch.randn(8, POINTS, 3, generator=generator) + 0.2).double()
    gradients = []
    for forward in (lambda model, x: model(x), CASES[name].plain):
        for dtype in (torch.float32, torch.float64):
            model.to(dtype).zero_grad()
            forward(model, points.to(dtype)).square().sum().backward()
            gradients.append(torch.cat([p.grad.double().flatten() for p in model.parameters() if p.grad is not None]))
    ours, _, simple, truth = gradients
    assert (ours - truth).norm() < 5 * (simple - truth).norm() + 1e-5 * truth.norm()


def test_levels_far_from_the_origin_are_as_exact_as_near_it(generator: torch.Generator) -> None:
    """They see differences alone, also in the statistics of a batch whose clouds lie at a hundred times their size."""
    level = SetAbstraction(Balls(12, 1.0, 8), 0, (8, 8, 12))
    near = torch.randn(BATCH, POINTS, 3, generator=generator)
    far = near + (100 * torch.randn(BATCH, 1, 3, generator=generator)).round()
    near = (far.double() - far.double().mean(1, keepdim=True)).float()
    _, expected = level(near, None)
    statistics = level.norm.running_var.clone()  # type: ignore[union-attr]
    level.norm.reset_running_stats()
    _, found = level(far, None)
    torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-3)
    torch.testing.assert_close(level.norm.running_var, statistics, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("name", CASES)
def test_the_order_of_points_does_not_matter(
    clouds: Tensor, generator: torch.Generator, name: str, training: bool
) -> None:
    model = network(name).train(training)
    order = torch.randperm(POINTS, generator=generator)
    torch.testing.assert_close(model(clouds[:, order]), model(clouds))


@pytest.mark.parametrize("name", CASES)
def test_values_without_gradients_are_the_same(clouds: Tensor, name: str) -> None:
    model = network(name).eval()
    with torch.no_grad():
        silent = model(clouds)
    torch.testing.assert_close(silent, model(clouds))


@pytest.mark.parametrize("name", CASES)
def test_rotations_do_matter(clouds: Tensor, name: str) -> None:
    model = network(name).eval()
    assert (model(clouds.flip(-1)) - model(clouds)).abs().max() > 0.01


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("name", CASES)
def test_a_point_that_is_not_finite_is_refused(clouds: Tensor, name: str, training: bool) -> None:
    clouds[2, 5, 1] = math.nan
    with pytest.raises(InputError, match=r"expects finite coordinates, 1 points have .* the first in cloud 2"):
        network(name).train(training)(clouds)


class TestMask:
    @pytest.mark.parametrize("padding", [1e6, math.nan])
    @pytest.mark.parametrize("name", CASES)
    def test_padding_is_not_seen_in_evaluation(
        self, clouds: Tensor, generator: torch.Generator, name: str, padding: float
    ) -> None:
        mask = torch.rand(BATCH, POINTS, generator=generator) < 0.7
        mask[0], mask[1, 0] = True, False
        model = network(name).eval()
        result = model(clouds.masked_fill(~mask[..., None], padding), mask)
        alone = torch.cat([model(cloud[real][None]) for cloud, real in zip(clouds, mask, strict=True)])
        torch.testing.assert_close(result, alone)

    @pytest.mark.parametrize("name", CASES)
    def test_padding_is_seen_neither_by_values_nor_by_statistics_nor_by_gradients(
        self, clouds: Tensor, name: str
    ) -> None:
        padded = torch.cat([torch.full_like(clouds[:, :9], 1e6), clouds, torch.full_like(clouds[:, :4], -1e6)], 1)
        mask = torch.zeros(padded.shape[:2], dtype=torch.bool)
        mask[:, 9:-4] = True
        with_mask, without = network(name), network(name)
        x, y = padded.clone().requires_grad_(), clouds.clone().requires_grad_()
        a, b = with_mask(x, mask), without(y)
        torch.testing.assert_close(a, b)
        torch.testing.assert_close(with_mask.state_dict(), without.state_dict())
        a.sin().sum().backward()
        b.sin().sum().backward()
        assert x.grad is not None
        assert (x.grad[~mask] == 0).all()
        torch.testing.assert_close(x.grad[:, 9:-4], y.grad)

    def test_a_cloud_with_too_few_real_points_is_named(self, clouds: Tensor) -> None:
        mask = torch.ones(BATCH, POINTS, dtype=torch.bool)
        mask[2, 5:] = False
        with pytest.raises(InputError, match="DGCNN needs at least 6 real points in every cloud, cloud 2 has 5"):
            network("DGCNN")(clouds, mask)


def parameters(model: nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())


class TestPublishedSizes:
    """A bias before a batch normalization has no effect, and ours have none; what published counts add is stated."""

    def test_dgcnn(self) -> None:
        """WangYueFt/dgcnn, issue 39: 1.8M. The code there counts 1,809,576, of which 256 are one such bias."""
        assert parameters(DGCNN(40)) == 1_809_576 - 256

    def test_pointnet2(self) -> None:
        """charlesq34/pointnet2, models/pointnet2_cls_ssg.py: 1,475,688, of which 3,328 are such biases."""
        biases = 64 + 64 + 128 + 128 + 128 + 256 + 256 + 512 + 1024 + 512 + 256
        assert parameters(PointNet2(40)) + biases == 1_475_688

    def test_rscnn(self) -> None:
        """Yochengliu/Relation-Shape-CNN, models/rscnn_ssn_cls.py: 1,289,473, of which 1,872 are such biases."""
        biases = (64 + 16 + 128) + (128 + 512) + 1024
        assert parameters(RSCNN(40)) + biases == 1_289_473

    def test_deepset(self) -> None:
        """No count is published; the layers are 3 x 256 and 256 as in the reference, without its second maps."""
        layers = 3 * 256 + 3 * 256 * 256 + 2 * 4 * 256 + 256 * 40 + 40
        assert parameters(DeepSet(40)) == layers


@pytest.mark.parametrize("name", CASES)
def test_a_search_over_rotations_takes_it_as_it_is(clouds: Tensor, name: str) -> None:
    model = Canonicalized(network(name), Rotations(), RandomSearch(5))
    loss = Objective(model)(clouds, torch.arange(BATCH)).loss
    loss.backward()
    assert loss.isfinite()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())


@pytest.mark.parametrize("name", CASES)
def test_reduced_precision_is_close(clouds: Tensor, name: str) -> None:
    model = network(name).float()
    with torch.autocast("cpu", torch.bfloat16):
        model(clouds.float()).float().square().sum().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())
    model.eval()
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        low = model(clouds.float()).float()
    assert (low - model(clouds.float())).abs().max() < 0.5 * model(clouds.float()).std()


@pytest.mark.parametrize("name", CASES)
def test_identical_points_give_finite_values_and_gradients(name: str) -> None:
    model = network(name)
    points = torch.ones(BATCH, POINTS, 3, dtype=torch.float64, requires_grad=True)
    scores = model(points)
    scores.sum().backward()
    assert scores.isfinite().all()
    assert points.grad is not None
    assert points.grad.isfinite().all()


class TestErrors:
    @pytest.mark.parametrize("name", CASES)
    def test_shapes(self, name: str) -> None:
        with pytest.raises(ShapeError, match=rf"{name} expects points.*\(batch, points, 3\).*points.mT"):
            network(name)(torch.zeros(2, 3, 40, dtype=torch.float64))
        with pytest.raises(ShapeError, match=r"points\[None\]"):
            network(name)(torch.zeros(40, 3, dtype=torch.float64))

    @pytest.mark.parametrize(("name", "least"), [("DGCNN", 6), ("PointNet2", 12), ("RSCNN", 12)])
    def test_too_few_points(self, clouds: Tensor, name: str, least: int) -> None:
        with pytest.raises(InputError, match=f"{name} needs at least {least} points in every cloud, got 5.*Hint"):
            network(name)(clouds[:, :5])

    @pytest.mark.parametrize("name", CASES)
    def test_one_cloud_in_training(self, clouds: Tensor, name: str) -> None:
        with pytest.raises(ShapeError, match="needs two of them"):
            network(name)(clouds[:1])
        assert network(name).eval()(clouds[:1]).shape == (1, CLASSES)

    def test_sizes_that_do_not_fit_one_another(self) -> None:
        with pytest.raises(InputError, match="for every level"):
            PointNet2(CLASSES, levels=LEVELS[:1])
        with pytest.raises(InputError, match="two levels and three widths"):
            RSCNN(CLASSES, widths=(8, 16))
        with pytest.raises(InputError, match="at least one layer and one neighbour"):
            DGCNN(CLASSES, k=0)
        with pytest.raises(InputError, match="above zero"):
            Balls(0, 0.2, 5)
        with pytest.raises(InputError, match="at least one layer"):
            DeepSet(CLASSES, widths=())
        with pytest.raises(UnknownNameError, match="sum or mean"):
            DeepSet(CLASSES, pooling="max")


def test_pooling_by_the_mean_is_the_sum_over_equal_clouds(clouds: Tensor) -> None:
    model = network("DeepSet").eval()
    total = model.features(clouds)
    model.pooling = "mean"  # type: ignore[assignment]
    torch.testing.assert_close(total / POINTS, model.features(clouds))
