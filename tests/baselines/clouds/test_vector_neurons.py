"""Vector neurons: every layer turns with its input, no network sees a rotation, and both are their definitions."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from adacanon.baselines.clouds import vector_activations
from adacanon.baselines.clouds.aligned_product import ALIGNED, product
from adacanon.baselines.clouds.vector_activations import (
    activate,
    activate_edges,
    edge_norm_statistics,
    norm_statistics,
)
from adacanon.baselines.clouds.vector_neurons import (
    VNBatchNorm,
    VNEdgeConvolution,
    VNInvariant,
    VNLayer,
    VNLeakyReLU,
    VNLinear,
    VNMaxPool,
    VNMeanPool,
)
from adacanon.baselines.clouds.vn_networks import VNDGCNN, VNPointNet
from adacanon.errors import InputError, ShapeError
from adacanon.spaces import SO3
from oracles import vector_neurons as oracle

ROWS, CHANNELS, K = 24, 6, 5
BATCH, POINTS, CLASSES = 4, 16, 5


@pytest.fixture
def vectors(generator: torch.Generator) -> Tensor:
    return torch.randn(3, ROWS, CHANNELS, generator=generator, dtype=torch.float64)


@pytest.fixture
def neighbours(generator: torch.Generator) -> Tensor:
    return torch.randint(ROWS, (ROWS, K), generator=generator)


@pytest.fixture
def rotation(generator: torch.Generator) -> Tensor:
    return SO3().sample(1, generator=generator)[0].double()


def turned(vectors: Tensor, rotation: Tensor) -> Tensor:
    return torch.tensordot(rotation, vectors, 1)


def seeded(build: Callable[[], nn.Module]) -> nn.Module:
    """In float64, with parameters of either sign."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        module = build().double()
        for parameter in module.parameters():
            parameter.data += 0.3 * torch.randn_like(parameter)
    return module


LAYERS: dict[str, Callable[[], nn.Module]] = {
    "VNLinear": lambda: VNLinear(CHANNELS, 4),
    "VNBatchNorm": lambda: VNBatchNorm(CHANNELS),
    "VNLeakyReLU": lambda: VNLeakyReLU(CHANNELS),
    "VNLayer": lambda: VNLayer(CHANNELS, 4),
    "VNLayer, shared": lambda: VNLayer(CHANNELS, 4, shared=True),
    "VNLayer, ReLU": lambda: VNLayer(CHANNELS, 4, slope=0.0),
    "VNMaxPool": lambda: VNMaxPool(CHANNELS),
    "VNMeanPool": VNMeanPool,
}


class TestEquivariance:
    @pytest.mark.parametrize("training", [True, False])
    @pytest.mark.parametrize("name", LAYERS)
    def test_layers_turn_with_their_input(self, vectors: Tensor, rotation: Tensor, name: str, training: bool) -> None:
        layer = seeded(LAYERS[name]).train(training)
        result, expected = layer(turned(vectors, rotation)), turned(layer(vectors), rotation)
        torch.testing.assert_close(result, expected, rtol=0, atol=1e-10)
        assert (layer(vectors) - result).abs().max() > 0.01

    @pytest.mark.parametrize("training", [True, False])
    def test_edge_convolutions_turn_with_their_input(
        self, vectors: Tensor, neighbours: Tensor, rotation: Tensor, training: bool
    ) -> None:
        layer = seeded(lambda: VNEdgeConvolution(CHANNELS, 4)).train(training)
        result = layer(turned(vectors, rotation), neighbours)
        torch.testing.assert_close(result, turned(layer(vectors, neighbours), rotation), rtol=0, atol=1e-10)

    @pytest.mark.parametrize("training", [True, False])
    def test_invariants_do_not_turn(self, vectors: Tensor, rotation: Tensor, training: bool) -> None:
        layer = seeded(lambda: VNInvariant(8)).train(training)
        x = torch.cat([vectors, vectors[..., :2].roll(1, 1)], 2)
        torch.testing.assert_close(layer(turned(x, rotation)), layer(x), rtol=0, atol=1e-10)
        assert layer(x).shape == (ROWS, 3, 8)

    def test_axes_matter(self, vectors: Tensor) -> None:
        """Stretching an axis is no rotation, and the invariants see it."""
        layer = seeded(lambda: VNInvariant(CHANNELS)).eval()
        stretched = vectors * torch.tensor([2.0, 1.0, 1.0])[:, None, None]
        assert (layer(stretched) - layer(vectors)).abs().max() > 0.1


class TestDefinition:
    """Values, gradients and running statistics of the chunked forms."""

    @pytest.fixture(autouse=True)
    def _several_pieces(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(vector_activations, "CACHED", 40)

    @pytest.mark.parametrize("training", [True, False])
    @pytest.mark.parametrize("shared", [True, False])
    def test_layer(self, vectors: Tensor, training: bool, shared: bool) -> None:
        ours, plain = (seeded(lambda: VNLayer(CHANNELS, 4, shared=shared)).train(training) for _ in range(2))
        assert_same(ours, plain, vectors, lambda x: ours(x), lambda x: oracle.layer(plain, x))  # type: ignore[arg-type]

    @pytest.mark.parametrize("training", [True, False])
    def test_edge_convolution(self, vectors: Tensor, neighbours: Tensor, training: bool) -> None:
        ours, plain = (seeded(lambda: VNEdgeConvolution(CHANNELS, 4)).train(training) for _ in range(2))

        def on_edges(x: Tensor) -> Tensor:
            joined = oracle.edges(x.unsqueeze(1), neighbours[None])
            return oracle.layer(plain, joined).mean(3).squeeze(1)  # type: ignore[arg-type]

        assert_same(ours, plain, vectors, lambda x: ours(x, neighbours), on_edges)

    def test_derivatives_are_those_of_finite_differences(self, vectors: Tensor, neighbours: Tensor) -> None:
        p, d, own_p, own_d = (x.clone().requires_grad_() for x in vectors[:, :20, :3].split(5, 1))
        common = d.detach()[..., :1].clone().requires_grad_()
        scale, shift = (x.clone().requires_grad_() for x in vectors[0, :2, :3])
        names = neighbours[:5, :2] % 5
        check = torch.autograd.gradcheck
        assert check(lambda *x: activate(*x, 0.2), (p, d, scale, shift))
        assert check(lambda *x: activate(*x, 0.2), (p, common, scale, shift))
        assert check(norm_statistics, (p,))
        assert check(lambda *x: edge_norm_statistics(*x, names), (p, own_p))
        assert check(lambda *x: activate_edges(*x, names, 0.2), (p, own_p, d, own_d, scale, shift))

    def test_maximum_takes_the_vector_that_goes_farthest_in_its_direction(self, vectors: Tensor) -> None:
        layer = seeded(lambda: VNMaxPool(CHANNELS))
        length = (vectors * layer.direction(vectors)).sum(0)  # type: ignore[operator]
        for channel in range(CHANNELS):
            winner = int(length[:, channel].argmax())
            assert torch.equal(layer(vectors)[:, channel], vectors[:, winner, channel])

    def test_activation_removes_what_points_against_its_direction(self, vectors: Tensor) -> None:
        layer = VNLeakyReLU(CHANNELS, slope=0.0).double()
        directions = layer.direction(vectors)
        inner = (layer(vectors) * directions).sum(0)
        assert inner.min() > -1e-4
        before = (vectors * directions).sum(0)
        torch.testing.assert_close(inner[before > 0], before[before > 0])


def assert_same(
    ours: nn.Module,
    plain: nn.Module,
    inputs: Tensor,
    forward: Callable[[Tensor], Tensor],
    definition: Callable[[Tensor], Tensor],
) -> None:
    x, y = inputs.clone().requires_grad_(), inputs.clone().requires_grad_()
    result, expected = forward(x), definition(y)
    torch.testing.assert_close(result, expected, rtol=1e-9, atol=1e-9)
    result.sin().sum().backward()
    expected.sin().sum().backward()
    torch.testing.assert_close(x.grad, y.grad, rtol=1e-7, atol=1e-8)
    for (key, a), (_, b) in zip(ours.named_parameters(), plain.named_parameters(), strict=True):
        assert a.grad is not None
        assert a.grad.abs().sum() > 0, key
        torch.testing.assert_close(a.grad, b.grad, rtol=1e-7, atol=1e-8, msg=lambda text, key=key: f"{key}: {text}")
    torch.testing.assert_close(ours.state_dict(), plain.state_dict())


SMALL = {
    "VNPointNet": lambda: VNPointNet(
        CLASSES, k=6, widths=(4, 5, 6, 8), context=((4, 6), (5, 4)), head=(12, 6), dropout=0.0
    ),
    "VNDGCNN": lambda: VNDGCNN(CLASSES, k=6, widths=(4, 5, 6), aggregation=8, head=(12, 6), dropout=0.0),
}
DEFINITIONS = {"VNPointNet": oracle.pointnet, "VNDGCNN": oracle.dgcnn}


class TestNetworks:
    @pytest.fixture
    def clouds(self, generator: torch.Generator) -> Tensor:
        return torch.randn(BATCH, POINTS, 3, generator=generator, dtype=torch.float64)

    @pytest.mark.parametrize("training", [True, False])
    @pytest.mark.parametrize("name", SMALL)
    def test_values_gradients_and_statistics_are_those_of_the_plain_network(
        self, clouds: Tensor, name: str, training: bool
    ) -> None:
        ours, plain = (seeded(SMALL[name]).train(training) for _ in range(2))
        assert_same(ours, plain, clouds, lambda x: ours(x), lambda x: DEFINITIONS[name](plain, x))  # type: ignore[arg-type]

    @pytest.mark.parametrize("build", [VNPointNet, VNDGCNN])
    def test_published_sizes_do_not_see_rotations_in_single_precision(
        self, build: Callable[[int], nn.Module], generator: torch.Generator
    ) -> None:
        torch.manual_seed(1)
        model, clouds = build(40), torch.randn(6, 48, 3, generator=generator)
        model(clouds)
        model.eval()
        scores = model(clouds)
        assert scores.std() > 0.01
        for _ in range(3):
            poses = SO3().sample(6, generator=generator).float()
            torch.testing.assert_close(model(clouds @ poses.mT), scores, rtol=0, atol=1e-4)

    @pytest.mark.parametrize("unit", [1e-3, 1e4])
    def test_near_points_in_any_unit_do_not_see_rotations(self, unit: float, generator: torch.Generator) -> None:
        """Pairs of points that are a thousandth of the cloud apart, whose products with each other nearly cancel."""
        torch.manual_seed(1)
        clouds = torch.randn(6, 24, 3, generator=generator).repeat(1, 2, 1)
        clouds = unit * (clouds + 1e-3 * torch.randn(6, 48, 3, generator=generator))
        model = VNPointNet(40)
        for module in model.modules():
            if isinstance(module, nn.BatchNorm1d):
                module.momentum = None
        model(clouds)
        scores = model.eval()(clouds)
        assert scores.std(0).mean() > 0.01
        pose = SO3().sample(1, generator=generator)[0]
        turned = (clouds.double() @ pose.mT).float()
        assert (model(turned) - scores).abs().max() < 0.1 * scores.std(0).mean()

    @pytest.mark.parametrize("name", SMALL)
    def test_a_second_derivative_is_refused(self, clouds: Tensor, name: str) -> None:
        """It would lack what goes through the tensors that the first one has saved."""
        clouds.requires_grad_()
        with pytest.raises(InputError, match=r"first derivatives only.*Hint: leave out create_graph=True"):
            torch.autograd.grad(seeded(SMALL[name])(clouds).sum(), clouds, create_graph=True)

    @pytest.mark.parametrize("name", SMALL)
    def test_an_empty_batch_leaves_the_statistics_as_they_are(self, clouds: Tensor, name: str) -> None:
        model = seeded(SMALL[name])
        before = {key: value.clone() for key, value in model.state_dict().items()}
        with pytest.raises(ShapeError, match="needs two of them, got 0"):
            model(clouds[:0])
        assert all(torch.equal(before[key], value) for key, value in model.state_dict().items())

    @pytest.mark.parametrize("name", SMALL)
    def test_the_order_of_points_does_not_matter(self, clouds: Tensor, name: str, generator: torch.Generator) -> None:
        model = seeded(SMALL[name])
        order = torch.randperm(POINTS, generator=generator)
        torch.testing.assert_close(model(clouds[:, order]), model(clouds))

    @pytest.mark.parametrize("name", SMALL)
    def test_reflections_may_matter_and_stretching_does(self, clouds: Tensor, name: str) -> None:
        model = seeded(SMALL[name]).eval()
        stretched = clouds * torch.tensor([2.0, 1.0, 1.0])
        assert (model(stretched) - model(clouds)).abs().max() > 1e-3

    @pytest.mark.parametrize("name", SMALL)
    def test_padding_is_not_seen(self, clouds: Tensor, name: str, generator: torch.Generator) -> None:
        mask = torch.rand(BATCH, POINTS, generator=generator) < 0.7
        mask[:, 1:8], mask[1, 0] = True, False
        model = seeded(SMALL[name]).eval()
        result = model(clouds.masked_fill(~mask[..., None], 1e6), mask)
        alone = torch.cat([model(cloud[real][None]) for cloud, real in zip(clouds, mask, strict=True)])
        torch.testing.assert_close(result, alone)

    @pytest.mark.parametrize("name", SMALL)
    def test_padding_is_seen_neither_by_statistics_nor_by_gradients(self, clouds: Tensor, name: str) -> None:
        padded = torch.cat([torch.full_like(clouds[:, :3], 1e6), clouds], 1)
        mask = torch.arange(POINTS + 3).expand(BATCH, -1) >= 3
        ours, plain = seeded(SMALL[name]), seeded(SMALL[name])
        assert_same(ours, plain, clouds, lambda x: ours(torch.cat([padded[:, :3], x], 1), mask), plain)

    @pytest.mark.parametrize("points", [torch.zeros(POINTS, 3), torch.ones(POINTS, 3), torch.eye(3)[:1] * 2.0])
    @pytest.mark.parametrize("name", SMALL)
    def test_degenerate_clouds_give_finite_values_and_gradients(self, name: str, points: Tensor) -> None:
        """All points at the origin, all at one place, all on a line."""
        line = torch.linspace(-1, 1, POINTS)[:, None] * points if len(points) == 1 else points
        clouds = line.expand(BATCH, -1, -1).double().clone().requires_grad_()
        model = seeded(SMALL[name])
        scores = model(clouds)
        scores.sum().backward()
        assert scores.isfinite().all()
        assert clouds.grad is not None
        assert clouds.grad.isfinite().all()

    @pytest.mark.parametrize("name", SMALL)
    def test_errors(self, clouds: Tensor, name: str) -> None:
        model = seeded(SMALL[name])
        with pytest.raises(InputError, match=f"{name} needs at least 6 points in every cloud, got 5.*Hint"):
            model(clouds[:, :5])
        with pytest.raises(ShapeError, match=rf"{name} expects points.*\(batch, points, 3\).*points.mT"):
            model(clouds.mT)
        with pytest.raises(ShapeError, match="needs two of them"):
            model(clouds[:1])


@pytest.mark.parametrize("build", [VNPointNet, VNDGCNN])
def test_reduced_precision_is_close(build: Callable[..., nn.Module], generator: torch.Generator) -> None:
    torch.manual_seed(0)
    model, clouds = build(10, k=8), torch.randn(4, 24, 3, generator=generator)
    with torch.autocast("cpu", torch.bfloat16):
        model(clouds).float().square().sum().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())
    model.eval()
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        low = model(clouds).float()
    assert (low - model(clouds)).abs().max() < 0.1 * model(clouds).std()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_weights_of_reduced_precision_are_refused(dtype: torch.dtype, generator: torch.Generator) -> None:
    clouds = torch.randn(4, 24, 3, generator=generator)
    with pytest.raises(InputError, match=f"float32 or float64, got {dtype}.*torch.autocast"):
        VNDGCNN(10, k=8).to(dtype)(clouds.to(dtype))


def test_layers_on_single_vectors_and_on_tables_of_them(generator: torch.Generator) -> None:
    vectors = torch.randn(3, 4, 5, CHANNELS, generator=generator)
    for layer in (VNLeakyReLU(CHANNELS), VNBatchNorm(CHANNELS).eval()):
        torch.testing.assert_close(layer(vectors)[:, 2, 3], layer(vectors[:, 2, 3]))


@pytest.mark.parametrize("channels", [1, 2, 3])
def test_invariants_of_few_channels_depend_on_the_input(channels: int, generator: torch.Generator) -> None:
    torch.manual_seed(0)
    numbers = VNInvariant(channels).eval()(torch.randn(3, ROWS, channels, generator=generator))
    assert numbers.flatten(1).std(0).max() > 1e-5


@pytest.mark.parametrize(("inputs", "outputs"), [(5, 11), (8, 11), (5, 16), (8, 16), (1, 1)])
def test_products_into_wider_arrays_are_linear_layers(inputs: int, outputs: int, generator: torch.Generator) -> None:
    sizes = (3, ROWS, inputs), (outputs, inputs), (3, ROWS, outputs)
    rows, weight, direction = (torch.randn(size, generator=generator, dtype=torch.float64) for size in sizes)
    rows.requires_grad_()
    weight.requires_grad_()
    found, expected = product(rows, weight), nn.functional.linear(rows, weight)
    torch.testing.assert_close(found, expected)
    gradients = (torch.autograd.grad((y * direction).sum(), (rows, weight)) for y in (found, expected))
    torch.testing.assert_close(*gradients)
    assert found.stride(1) % ALIGNED == 0


def test_layers_say_what_they_expect() -> None:
    with pytest.raises(ShapeError, match=r"VNLinear expects vectors of shape \(3, ..., 4\), got \(8, 4, 3\).*Hint"):
        VNLinear(4, 2)(torch.zeros(8, 4, 3))
    with pytest.raises(InputError, match="four widths"):
        VNPointNet(CLASSES, widths=(3, 4))
    with pytest.raises(InputError, match="at least one layer and one neighbour"):
        VNDGCNN(CLASSES, widths=())


class TestPublishedSizes:
    """The layers of FlyingGiraffe/vnn, models/vn_pointnet_cls.py and models/vn_dgcnn_cls.py, counted one by one.

    The two biases of 512 and 256 that they have before batch normalizations have no effect; ours have none.
    """

    BIASES = 512 + 256

    @staticmethod
    def layer(inputs: int, outputs: int, *, directions: int | None = None) -> int:
        return inputs * outputs + inputs * (directions or outputs) + 2 * outputs

    def invariant(self, channels: int) -> int:
        half, quarter = channels // 2, channels // 4
        return self.layer(channels, half) + self.layer(half, quarter) + 3 * quarter

    def head(self, inputs: int) -> int:
        return inputs * 512 + 512 + 2 * 512 + 512 * 256 + 256 + 2 * 256 + 256 * 40 + 40

    def test_vn_pointnet(self) -> None:
        transform = (
            sum(self.layer(*sizes) for sizes in [(21, 21), (21, 42), (42, 341), (341, 170), (170, 85)]) + 85 * 21
        )
        points = self.layer(3, 21) + self.layer(21, 21) + transform + self.layer(42, 42) + 42 * 341 + 2 * 341
        published = points + self.invariant(682) + self.head(2046)
        assert parameters(VNPointNet(40)) == published - self.BIASES == 1_971_977

    def test_vn_dgcnn(self) -> None:
        edges = sum(self.layer(*sizes) for sizes in [(2, 21), (42, 21), (42, 42), (84, 85)])
        published = edges + self.layer(169, 341, directions=1) + self.invariant(682) + self.head(4092)
        assert parameters(VNDGCNN(40)) == published - self.BIASES == 2_899_062


def parameters(model: nn.Module) -> int:
    return sum(parameter.numel() for parameter in model.parameters())
