"""PointNet and its folded layers, against the same network written plainly."""

import pytest
import torch
from torch import Tensor, nn

from adacanon import Canonicalized, RandomSearch
from adacanon.errors import InputError, ShapeError
from adacanon.points import PointNet, Rotations
from adacanon.points.largest_products import CACHED_ROWS, largest_products
from adacanon.points.normalized_linear import NormalizedLinear

BATCH, POINTS, CLASSES = 4, 30, 5


def network(*, batch_norm: bool = True, dropout: float = 0.0, seed: int = 0) -> PointNet:
    """In float64 and training mode, with normalizations that have been trained for some steps."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = PointNet(CLASSES, widths=(8, 16, 32), head=(12, 6), dropout=dropout, batch_norm=batch_norm).double()
        for parameter in model.parameters():
            parameter.data += 0.3 * torch.randn_like(parameter)  # scales of either sign, shifts that are not zero
        for _ in range(5):
            model(2 * torch.randn(BATCH, POINTS, 3, dtype=torch.float64) + 1)
    return model


def plain(model: PointNet, points: Tensor) -> Tensor:
    """The definition: every layer normalised by ``nn.BatchNorm1d`` and cut by ReLU, then the maximum."""
    rows = points.flatten(0, 1)
    for layer in [*model.layers, model.last]:
        rows = layer.linear(rows) if layer.norm is None else layer.norm(layer.linear(rows))
        rows = rows.relu()
    return model.head(rows.unflatten(0, points.shape[:2]).amax(1))


@pytest.fixture
def clouds(generator: torch.Generator) -> Tensor:
    return torch.randn(BATCH, POINTS, 3, generator=generator, dtype=torch.float64)


@pytest.fixture
def mask(generator: torch.Generator) -> Tensor:
    """A padded cloud may have its real points anywhere, and the first place may be padding."""
    mask = torch.rand(BATCH, POINTS, generator=generator) < 0.6
    mask[0], mask[1, 0], mask[2] = True, False, torch.arange(POINTS) == 7
    return mask


@pytest.mark.parametrize("batch_norm", [True, False])
@pytest.mark.parametrize("training", [True, False])
def test_values_gradients_and_statistics_are_those_of_the_plain_network(
    clouds: Tensor, training: bool, batch_norm: bool
) -> None:
    ours, oracle = network(batch_norm=batch_norm).train(training), network(batch_norm=batch_norm).train(training)
    x, y = clouds.clone().requires_grad_(), clouds.clone().requires_grad_()
    result, expected = ours(x), plain(oracle, y)
    torch.testing.assert_close(result, expected, rtol=1e-10, atol=1e-10)
    result.sin().sum().backward()
    expected.sin().sum().backward()
    torch.testing.assert_close(x.grad, y.grad, rtol=1e-8, atol=1e-9)
    for (name, a), (_, b) in zip(ours.named_parameters(), oracle.named_parameters(), strict=True):
        torch.testing.assert_close(a.grad, b.grad, rtol=1e-8, atol=1e-9, msg=lambda text, name=name: f"{name}: {text}")
        assert a.grad is not None
        assert a.grad.abs().sum() > 0
    torch.testing.assert_close(ours.state_dict(), oracle.state_dict())


@pytest.mark.parametrize("training", [True, False])
def test_values_without_gradients_are_the_same(clouds: Tensor, training: bool) -> None:
    model = network().train(training)
    with torch.no_grad():
        silent = model(clouds)
    torch.testing.assert_close(silent, model(clouds))


def test_single_precision_is_as_exact_as_the_plain_network(generator: torch.Generator) -> None:
    torch.manual_seed(0)
    model = PointNet(10, dropout=0.0)
    points = 0.3 * torch.randn(8, 128, 3, generator=generator) + 0.2
    errors = []
    for forward in (lambda model, x: model(x), plain):
        for dtype in (torch.float32, torch.float64):
            model.to(dtype).zero_grad()
            forward(model, points.to(dtype)).square().sum().backward()
            errors.append(torch.cat([p.grad.double().flatten() for p in model.parameters() if p.grad is not None]))
    ours, exact, simple, truth = errors
    torch.testing.assert_close(exact, truth, rtol=1e-6, atol=1e-9)
    assert (ours - truth).norm() < 3 * (simple - truth).norm()


@pytest.mark.parametrize("training", [True, False])
def test_the_order_of_points_does_not_matter(clouds: Tensor, generator: torch.Generator, training: bool) -> None:
    model = network().train(training)
    order = torch.randperm(POINTS, generator=generator)
    torch.testing.assert_close(model(clouds[:, order]), model(clouds))


def test_rotations_do_matter(clouds: Tensor) -> None:
    model = network().eval()
    assert (model(clouds.flip(-1)) - model(clouds)).abs().max() > 0.01


def test_forty_classes_need_as_many_parameters_as_published() -> None:
    """Qi et al., CVPR 2017, table of time and space complexity: PointNet (vanilla) has 0.8M parameters."""
    count = sum(parameter.numel() for parameter in PointNet(40).parameters())
    assert count == 817_512  # a bias before a batch normalization would have no effect; with them it is 819,624
    assert round(count / 1e6, 1) == 0.8


class TestMask:
    def test_padding_is_not_seen_in_evaluation(self, clouds: Tensor, mask: Tensor) -> None:
        model = network().eval()
        result = model(clouds.masked_fill(~mask[..., None], 1e6), mask)
        alone = torch.cat([model(cloud[real][None]) for cloud, real in zip(clouds, mask, strict=True)])
        torch.testing.assert_close(result, alone)

    @pytest.mark.parametrize("training", [True, False])
    def test_padding_is_seen_neither_by_values_nor_by_statistics(self, clouds: Tensor, training: bool) -> None:
        padded = torch.cat([torch.full_like(clouds[:, :9], 1e6), clouds, torch.full_like(clouds[:, :4], -1e6)], 1)
        mask = torch.zeros(padded.shape[:2], dtype=torch.bool)
        mask[:, 9:-4] = True
        with_mask, without = network().train(training), network().train(training)
        x, y = padded.clone().requires_grad_(), clouds.clone().requires_grad_()
        a, b = with_mask(x, mask), without(y)
        torch.testing.assert_close(a, b)
        torch.testing.assert_close(with_mask.state_dict(), without.state_dict())
        a.sum().backward()
        b.sum().backward()
        assert x.grad is not None
        assert (x.grad[~mask] == 0).all()
        torch.testing.assert_close(x.grad[:, 9:-4], y.grad)

    def test_statistics_are_those_of_the_real_points(self, clouds: Tensor, mask: Tensor) -> None:
        model, layer = network(), network().layers[0]
        model(clouds.masked_fill(~mask[..., None], 1e6), mask)
        layer.norm(layer.linear(clouds[mask]))  # type: ignore[operator, union-attr]
        torch.testing.assert_close(model.layers[0].norm.state_dict(), layer.norm.state_dict())  # type: ignore[union-attr]

    def test_a_mask_of_real_points_only_changes_nothing(self, clouds: Tensor) -> None:
        model = network()
        torch.testing.assert_close(model(clouds, torch.ones(BATCH, POINTS, dtype=torch.bool)), model(clouds))


class TestLargestProducts:
    @pytest.mark.parametrize("points", [1, 7, CACHED_ROWS // 3, CACHED_ROWS + 1])
    def test_any_number_of_points(self, points: int, generator: torch.Generator) -> None:
        clouds = torch.randn(5, points, 4, generator=generator)
        weight = torch.randn(6, 4, generator=generator, requires_grad=True)
        expected = (clouds @ weight.T).amax(1)
        torch.testing.assert_close(largest_products(clouds, weight), expected)
        with torch.no_grad():
            torch.testing.assert_close(largest_products(clouds, weight), expected)

    def test_gradients_are_right(self, generator: torch.Generator) -> None:
        clouds = torch.randn(3, 5, 4, generator=generator, dtype=torch.float64, requires_grad=True)
        weight = torch.randn(6, 4, generator=generator, dtype=torch.float64, requires_grad=True)
        assert torch.autograd.gradcheck(largest_products, (clouds, weight))
        assert torch.autograd.gradgradcheck(largest_products, (clouds, weight))


class TestNormalizedLinear:
    def rows(self, generator: torch.Generator) -> Tensor:
        return torch.randn(50, 3, generator=generator) @ torch.tensor([[1.0, 2, 0], [0, 0.1, 1], [0, 0, 3]]) + 5

    @pytest.mark.parametrize("momentum", [0.1, 0.7, None])
    def test_running_statistics_are_those_of_batch_norm(
        self, generator: torch.Generator, momentum: float | None
    ) -> None:
        layer, norm = NormalizedLinear(3, 6), nn.BatchNorm1d(6, momentum=momentum)
        assert layer.norm is not None
        layer.norm.momentum = momentum
        for _ in range(3):
            rows = self.rows(generator)
            torch.testing.assert_close(layer(rows), norm(layer.linear(rows)), rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(layer.norm.state_dict(), norm.state_dict())

    def test_a_frozen_normalization_stays_frozen(self, generator: torch.Generator) -> None:
        layer = NormalizedLinear(3, 6)
        assert layer.norm is not None
        layer.norm.eval()
        before = {name: value.clone() for name, value in layer.norm.state_dict().items()}
        layer(self.rows(generator))
        torch.testing.assert_close(layer.norm.state_dict(), before, rtol=0, atol=0)

    def test_a_constant_input_has_no_variance(self) -> None:
        layer = NormalizedLinear(3, 6)
        assert layer(torch.full((10, 3), 0.3)).abs().max() < 1e-2

    def test_statistics_stay_in_single_precision_under_autocast(self, generator: torch.Generator) -> None:
        rows, layer = self.rows(generator), NormalizedLinear(3, 6)
        expected = layer.folded(rows)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            torch.testing.assert_close(layer.folded(rows), expected)

    def test_synchronised_statistics_are_refused(self, generator: torch.Generator) -> None:
        layer = nn.SyncBatchNorm.convert_sync_batchnorm(NormalizedLinear(3, 6))
        with pytest.raises(InputError, match=r"folds BatchNorm1d, got SyncBatchNorm.*Hint"):
            layer(self.rows(generator))


def test_dropout_acts_in_training_only(clouds: Tensor) -> None:
    model = network(dropout=0.5)
    assert not torch.equal(model(clouds), model(clouds))
    assert torch.equal(model.eval()(clouds), model(clouds))


def test_half_precision_by_autocast(clouds: Tensor) -> None:
    model = network().float().eval()
    expected = model(clouds.float())
    with torch.autocast("cpu", dtype=torch.bfloat16):
        result = model(clouds.float())
    assert (result - expected).abs().max() < 0.1 * expected.abs().max()


def test_an_empty_batch_gives_an_empty_answer() -> None:
    model = network().eval()
    assert model(torch.zeros(0, POINTS, 3, dtype=torch.float64)).shape == (0, CLASSES)
    with torch.no_grad():
        assert model(torch.zeros(0, POINTS, 3, dtype=torch.float64)).shape == (0, CLASSES)


def test_it_is_a_network_like_any_other_to_the_wrapper(clouds: Tensor) -> None:
    model = Canonicalized(network(), Rotations(), RandomSearch(4))
    model(clouds).sum().backward()
    assert all(parameter.grad is not None for parameter in model.parameters())


@pytest.mark.parametrize(
    ("points", "mask", "message"),
    [
        (torch.zeros(4, 3, 30), None, r"\(batch, points, 3\), got \(4, 3, 30\). Hint: move the coordinates last, .*mT"),
        (torch.zeros(30, 3), None, r"got \(30, 3\). Hint: add the batch, points\[None\]"),
        (torch.zeros(4, 30, 6), None, r"got \(4, 30, 6\). Hint: .*channels=6"),
        (torch.zeros(4, 0, 3), None, r"clouds without points"),
        ("cloud", None, r"got str. Hint: torch.as_tensor"),
        ((torch.zeros(2, 5, 3), torch.ones(2, 5)), None, r"got tuple. Hint: .*Unpacked\(network\)"),
        (torch.zeros(4, 30, 3).int(), None, r"got torch.int32. Hint: points.float\(\)"),
        (torch.zeros(1, 30, 3), None, r"needs two of them, got 1. Hint: model.eval\(\)"),
        (torch.zeros(4, 30, 3), torch.ones(4, 29).bool(), r"mask of shape \(4, 30\).*got \(4, 29\)"),
        (torch.zeros(4, 30, 3), torch.ones(4, 30), r"got \(4, 30\) of torch.float32. Hint: mask.bool\(\)"),
        (torch.zeros(4, 30, 3), torch.arange(4)[:, None].expand(4, 30) != 2, r"real point in every.* cloud 2 has 0"),
    ],
)
def test_bad_inputs_get_an_error_with_a_hint(points: Tensor, mask: Tensor | None, message: str) -> None:
    with pytest.raises((ShapeError, InputError), match=message):
        PointNet(CLASSES)(points, mask)


def test_a_network_without_shared_layers_is_refused() -> None:
    with pytest.raises(InputError, match="at least one layer before the maximum"):
        PointNet(CLASSES, widths=())


@pytest.mark.parametrize("rows", [1, 4, 7, 10, 64])
def test_pieces_of_clouds_give_the_products_of_whole_clouds(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adacanon.points.largest_products.CACHED_ROWS", rows)
    generator = torch.Generator().manual_seed(0)
    clouds = torch.randint(-2, 3, (5, 10, 3), generator=generator).double().requires_grad_()  # with many ties
    weight = torch.randint(-2, 3, (6, 3), generator=generator).double().requires_grad_()
    products = clouds @ weight.T
    expected = products.gather(1, products.argmax(1, keepdim=True)).squeeze(1)
    found = largest_products(clouds, weight)
    assert torch.equal(found, expected)
    assert torch.equal(largest_products(clouds.detach(), weight.detach()), expected)
    for gradient, other in zip(
        *(torch.autograd.grad(out.square().sum(), (clouds, weight)) for out in (found, expected)), strict=True
    ):
        torch.testing.assert_close(gradient, other)


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("training", [False, True])
def test_rows_in_several_tensors_give_the_same_values_gradients_and_statistics(
    monkeypatch: pytest.MonkeyPatch, masked: bool, training: bool
) -> None:
    def outcome(limit: int) -> list[torch.Tensor]:
        monkeypatch.setattr("adacanon.points.pointnet.ROWS_BYTES", limit)
        torch.manual_seed(0)
        network = PointNet(4, widths=(8, 6, 12), head=(5,), dropout=0.0).double().train(training)
        clouds = torch.randn(5, 9, 3, dtype=torch.float64, requires_grad=True)
        mask = torch.arange(9) < torch.tensor([[9], [4], [7], [9], [1]]) if masked else None
        scores = network(clouds, mask)
        scores.square().sum().backward()
        gradients = [clouds.grad, *(parameter.grad for parameter in network.parameters())]
        return [scores.detach(), *gradients, *network.state_dict().values()]

    whole = outcome(2**24)
    for limit in (1, 2 * 9 * 8 * 8):  # one cloud at a time, two at a time
        for found, expected in zip(outcome(limit), whole, strict=True):
            torch.testing.assert_close(found, expected)
