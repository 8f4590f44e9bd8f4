"""Networks with one answer per point: their plain definition, the order of points, masks, rotations, sizes."""

from collections.abc import Callable
from itertools import pairwise

import pytest
import torch
from torch import Tensor, nn

from adacanon.baselines.clouds.learned_canonicalization import LearnedCanonicalization
from adacanon.baselines.clouds.pca_frames import PCAFrameAveraged
from adacanon.baselines.clouds.vn_segmentation import VNDGCNNSegmentation, VNPointNetSegmentation
from adacanon.errors import InputError, ShapeError
from adacanon.points.segmentation import DGCNNSegmentation, PointNetSegmentation
from adacanon.spaces import SO3
from oracles import segmentation as oracle

BATCH, POINTS, PARTS, CATEGORIES, K = 4, 16, 7, 5, 6

BUILDERS: dict[str, Callable[[], nn.Module]] = {
    "PointNetSegmentation": lambda: PointNetSegmentation(
        PARTS, categories=CATEGORIES, widths=(8, 12, 16), head=(12, 8), dropout=0.0
    ),
    "DGCNNSegmentation": lambda: DGCNNSegmentation(
        PARTS, categories=CATEGORIES, k=K, width=8, aggregation=16, head=(12, 8), dropout=0.0
    ),
    "VNPointNetSegmentation": lambda: VNPointNetSegmentation(
        PARTS, categories=CATEGORIES, k=K, widths=(4, 4, 5, 6, 7, 8), context=((4, 6), (5,)), head=(12, 8)
    ),
    "VNDGCNNSegmentation": lambda: VNDGCNNSegmentation(
        PARTS, categories=CATEGORIES, k=K, width=4, aggregation=8, embedded=6, head=(12, 8), dropout=0.0
    ),
}
PLAIN: dict[str, Callable[..., Tensor]] = {
    "PointNetSegmentation": oracle.pointnet,
    "DGCNNSegmentation": oracle.dgcnn,
    "VNPointNetSegmentation": oracle.vn_pointnet,
    "VNDGCNNSegmentation": oracle.vn_dgcnn,
}
INVARIANT = [name for name in BUILDERS if name.startswith("VN")]


def network(name: str) -> nn.Module:
    """In float64 and training mode, with parameters of either sign and statistics of some batches."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = BUILDERS[name]().double()
        for parameter in model.parameters():
            parameter.data += 0.3 * torch.randn_like(parameter)
        for _ in range(3):
            model(torch.randn(BATCH, POINTS, 3, dtype=torch.float64), shapes())
    return model


def shapes() -> Tensor:
    return torch.eye(CATEGORIES, dtype=torch.float64)[[0, 3, 3, 1]]


@pytest.fixture
def clouds(generator: torch.Generator) -> Tensor:
    return torch.randn(BATCH, POINTS, 3, generator=generator, dtype=torch.float64)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("name", BUILDERS)
def test_values_gradients_and_statistics_are_those_of_the_plain_network(
    clouds: Tensor, name: str, training: bool
) -> None:
    ours, plain = network(name).train(training), network(name).train(training)
    x, y = clouds.clone().requires_grad_(), clouds.clone().requires_grad_()
    result, expected = ours(x, shapes()), PLAIN[name](plain, y, shapes())
    assert result.shape == (BATCH, POINTS, PARTS)
    torch.testing.assert_close(result, expected, rtol=1e-9, atol=1e-9)
    result.sin().sum().backward()
    expected.sin().sum().backward()
    assert (x.grad - y.grad).norm() < 1e-8 * (1 + y.grad.norm())
    for (key, a), (_, b) in zip(ours.named_parameters(), plain.named_parameters(), strict=True):
        assert a.grad is not None
        assert a.grad.abs().sum() > 0, key
        assert (a.grad - b.grad).norm() < 1e-8 * (1 + b.grad.norm()), key
    torch.testing.assert_close(ours.state_dict(), plain.state_dict())


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("name", BUILDERS)
def test_answers_follow_the_order_of_points(
    clouds: Tensor, name: str, training: bool, generator: torch.Generator
) -> None:
    model = network(name).train(training)
    order = torch.randperm(POINTS, generator=generator)
    torch.testing.assert_close(model(clouds[:, order], shapes()), model(clouds, shapes())[:, order])


@pytest.mark.parametrize("name", BUILDERS)
def test_the_category_matters(clouds: Tensor, name: str) -> None:
    model = network(name).eval()
    assert (model(clouds, shapes()) - model(clouds, shapes().roll(1, 1))).abs().amax((1, 2)).min() > 1e-3


@pytest.mark.parametrize("name", INVARIANT)
def test_rotations_do_not_matter_to_vector_neurons(clouds: Tensor, name: str, generator: torch.Generator) -> None:
    model = network(name).eval()
    poses = SO3().sample(BATCH, generator=generator).double()
    torch.testing.assert_close(model(clouds @ poses.mT, shapes()), model(clouds, shapes()), rtol=0, atol=1e-9)


@pytest.mark.parametrize("build", [VNPointNetSegmentation, VNDGCNNSegmentation])
def test_published_sizes_do_not_see_rotations_in_single_precision(
    build: Callable[..., nn.Module], generator: torch.Generator
) -> None:
    torch.manual_seed(1)
    model, clouds, shapes = build(k=20), torch.randn(3, 40, 3, generator=generator), torch.eye(16)[:3]
    model(clouds, shapes)
    model.eval()
    poses = SO3().sample(3, generator=generator).float()
    torch.testing.assert_close(model(clouds @ poses.mT, shapes), model(clouds, shapes), rtol=0, atol=1e-4)


@pytest.mark.parametrize("wrapper", [lambda net: LearnedCanonicalization(net, k=K, channels=5), PCAFrameAveraged])
@pytest.mark.parametrize("name", ["PointNetSegmentation", "DGCNNSegmentation"])
def test_canonicalizing_wrappers_take_them(
    clouds: Tensor, name: str, wrapper: Callable[[nn.Module], nn.Module], generator: torch.Generator
) -> None:
    model = wrapper(network(name)).double().eval()
    poses = SO3().sample(BATCH, generator=generator).double()
    scores = model(clouds, shapes())
    assert scores.shape == (BATCH, POINTS, PARTS)
    torch.testing.assert_close(model(clouds @ poses.mT, shapes()), scores, rtol=1e-7, atol=1e-7)


class TestMask:
    @pytest.mark.parametrize("name", BUILDERS)
    def test_padding_is_not_seen_and_answered_by_zero(
        self, clouds: Tensor, name: str, generator: torch.Generator
    ) -> None:
        mask = torch.rand(BATCH, POINTS, generator=generator) < 0.7
        mask[:, 1:8], mask[1, 0] = True, False
        model = network(name).eval()
        result = model(clouds.masked_fill(~mask[..., None], 1e6), shapes(), mask)
        assert (result[~mask] == 0).all()
        for cloud, real, shape, found in zip(clouds, mask, shapes(), result, strict=True):
            torch.testing.assert_close(found[real], model(cloud[real][None], shape[None])[0])

    @pytest.mark.parametrize("name", BUILDERS)
    def test_padding_is_seen_neither_by_statistics_nor_by_gradients(self, clouds: Tensor, name: str) -> None:
        padded = torch.cat([torch.full_like(clouds[:, :3], 1e6), clouds], 1)
        mask = torch.arange(POINTS + 3).expand(BATCH, -1) >= 3
        with_mask, without = network(name), network(name)
        x, y = padded.clone().requires_grad_(), clouds.clone().requires_grad_()
        a, b = with_mask(x, shapes(), mask), without(y, shapes())
        torch.testing.assert_close(a[:, 3:], b)
        torch.testing.assert_close(with_mask.state_dict(), without.state_dict())
        a.sin().sum().backward()
        b.sin().sum().backward()
        assert x.grad is not None
        assert (x.grad[:, :3] == 0).all()
        torch.testing.assert_close(x.grad[:, 3:], y.grad)


class TestErrors:
    @pytest.mark.parametrize("name", BUILDERS)
    def test_categories(self, clouds: Tensor, name: str) -> None:
        with pytest.raises(ShapeError, match=rf"{name} expects categories of shape \(4, 5\), one-hot.*one_hot"):
            network(name)(clouds, torch.tensor([0, 3, 3, 1]))

    @pytest.mark.parametrize("build", [DGCNNSegmentation, VNDGCNNSegmentation, VNPointNetSegmentation])
    def test_a_point_has_neighbours(self, build: type) -> None:
        with pytest.raises(InputError, match=f"{build.__name__} needs at least one neighbour.*got k=0"):
            build(k=0)

    @pytest.mark.parametrize("name", BUILDERS)
    def test_shapes(self, clouds: Tensor, name: str) -> None:
        with pytest.raises(ShapeError, match=rf"{name} expects points.*\(batch, points, 3\).*points.mT"):
            network(name)(clouds.mT, shapes())

    @pytest.mark.parametrize("name", [name for name in BUILDERS if name != "PointNetSegmentation"])
    def test_too_few_points_and_clouds(self, clouds: Tensor, name: str) -> None:
        with pytest.raises(InputError, match=f"{name} needs at least 6 points in every cloud, got 5.*Hint"):
            network(name)(clouds[:, :5], shapes())
        with pytest.raises(ShapeError, match="needs two of them"):
            network(name)(clouds[:1], shapes()[:1])

    def test_widths(self) -> None:
        with pytest.raises(InputError, match="at least one layer"):
            PointNetSegmentation(widths=())
        with pytest.raises(InputError, match="six widths"):
            VNPointNetSegmentation(widths=(3, 4))


class TestPublishedSizes:
    """The layers of published code, counted one by one; biases before batch normalizations have no effect, and ours
    have none.
    """

    @staticmethod
    def layers(*widths: int) -> int:
        """Linear layers without biases, each with a batch normalization."""
        return sum(a * b + 2 * b for a, b in pairwise(widths))

    @staticmethod
    def vn_layer(inputs: int, outputs: int, *, directions: int | None = None) -> int:
        return inputs * outputs + inputs * (directions or outputs) + 2 * outputs

    def test_pointnet(self) -> None:
        """charlesq34/pointnet, part_seg/pointnet_part_seg.py, without its two transforms and its category head."""
        expected = self.layers(3, 64, 128, 128, 512, 2048) + self.layers(4944, 256, 256, 128) + 128 * 50 + 50
        assert parameters(PointNetSegmentation()) == expected == 2_516_338

    def test_dgcnn(self) -> None:
        """antao97/dgcnn.pytorch, model.py (DGCNN_partseg), without its spatial transformer."""
        edges = self.layers(6, 64, 64) + self.layers(128, 64, 64) + self.layers(128, 64)
        clouds = self.layers(192, 1024) + self.layers(16, 64)
        expected = edges + clouds + self.layers(1280, 256, 256, 128) + 128 * 50
        assert parameters(DGCNNSegmentation()) == expected == 659_072

    def test_vn_pointnet(self) -> None:
        """FlyingGiraffe/vnn, models/vn_pointnet_partseg.py."""
        points = [(3, 21), (21, 21), (21, 42), (42, 42), (84, 170)]
        whole = [(42, 21), (21, 42), (42, 341), (341, 170), (170, 85)]
        frames = [(1364, 682), (682, 341)]
        layers = sum(self.vn_layer(*sizes) for sizes in [*points, *whole, *frames])
        expected = layers + 85 * 42 + 170 * 682 + 2 * 682 + 3 * 341
        expected += self.layers(9025, 256, 256, 128) + 128 * 50 + 50
        assert parameters(VNPointNetSegmentation()) == expected == 5_079_779

    def test_vn_dgcnn(self) -> None:
        """FlyingGiraffe/vnn, models/vn_dgcnn_partseg.py."""
        layers = [(2, 21), (21, 21), (42, 21), (21, 21), (42, 21), (682, 341), (341, 170)]
        expected = sum(self.vn_layer(*sizes) for sizes in layers) + self.vn_layer(63, 341, directions=1) + 3 * 170
        expected += self.layers(16, 64) + self.layers(2299, 256, 256, 128) + 128 * 50
        assert parameters(VNDGCNNSegmentation()) == expected == 1_306_090


def parameters(model: nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())
