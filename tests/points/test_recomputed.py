"""What is computed again for a gradient instead of kept: the same gradients to the last digit, and less memory."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from adacanon.points import DGCNN, recomputed
from adacanon.points.edges import largest_neighbours, maximum_and_mean


def gradients(points: Tensor) -> list[Tensor]:
    """Those of a loss, and the running statistics after it."""
    torch.manual_seed(0)
    network = DGCNN(5, widths=(8, 16), aggregation=32, head=(16,), dropout=0.0)
    network(points).logsumexp(1).sum().backward()
    found = [p.grad for p in network.parameters() if p.grad is not None]
    assert len(found) == len(list(network.parameters()))
    return [*found, *network.buffers()]


def kept_bytes(run: Callable[[], object]) -> int:
    """Of all tensors that are kept for gradients, each memory once."""
    kept: dict[int, int] = {}

    def pack(tensor: Tensor) -> Tensor:
        kept[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        result = run()
    assert result is not None
    return sum(kept.values())


def test_gradients_are_those_of_kept_tensors_up_to_rounding(monkeypatch: pytest.MonkeyPatch) -> None:
    points = torch.randn(4, 32, 3, generator=torch.Generator().manual_seed(0))
    kept = gradients(points)
    monkeypatch.setattr(recomputed, "KEPT_BYTES", 0)
    torch.testing.assert_close(gradients(points), kept, rtol=1e-4, atol=1e-5)


def test_large_batches_train_in_lower_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recomputed, "KEPT_BYTES", 0)
    with torch.autocast("cpu", torch.bfloat16):
        assert all(gradient.isfinite().all() for gradient in gradients(torch.randn(4, 32, 3)))


def test_large_tensors_are_computed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[None] = []
    x = torch.ones(3, requires_grad=True)
    y = x.detach() + 1
    for limit, expected in ((y.nbytes, 0), (0, 1)):
        monkeypatch.setattr(recomputed, "KEPT_BYTES", limit)
        with recomputed.recomputed(y, lambda: calls.append(None) or x.detach() + 1):
            z = x * y
        z.sum().backward()
        assert len(calls) == expected


def test_edges_keep_no_values_for_the_gradient_of_a_maximum() -> None:
    values = torch.randn(64, 16, requires_grad=True)
    neighbours = torch.randint(64, (64, 5), generator=torch.Generator().manual_seed(0))
    assert kept_bytes(lambda: largest_neighbours(values, neighbours)) == 64 * 16 * 4


def test_maximum_and_mean_have_the_gradients_of_the_two() -> None:
    values = torch.randn(3, 7, 5, dtype=torch.float64, requires_grad=True)
    weights = torch.randn(2, 3, 5, dtype=torch.float64)
    for slope in (1.0, 0.2):
        rectified = torch.nn.functional.leaky_relu(values, slope)
        expected = torch.stack([rectified.max(1).values, rectified.mean(1)])
        found = torch.stack(maximum_and_mean(values, slope))
        torch.testing.assert_close(found, expected, rtol=0, atol=0)
        torch.testing.assert_close(
            torch.autograd.grad((found * weights).sum(), values),
            torch.autograd.grad((expected * weights).sum(), values),
            rtol=0,
            atol=0,
        )
