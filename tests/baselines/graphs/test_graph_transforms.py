"""Products per graph: against the loop that they stand for, with gradients, for equal and unequal sizes."""

import pytest
import torch

from adacanon.baselines.graphs.graph_transforms import Sizes, to_nodes, to_spectrum

SIZES = [(3, 3), (1, 5, 2), (4,)]


@pytest.mark.parametrize("sizes", SIZES)
class TestAgainstSingleGraphs:
    def test_to_spectrum(self, sizes: Sizes) -> None:
        basis, x = torch.randn(sum(sizes), 3), torch.randn(sum(sizes), 2)
        expected = [b.T @ v for b, v in zip(basis.split(sizes), x.split(sizes), strict=True)]
        torch.testing.assert_close(to_spectrum(basis, x, sizes), torch.stack(expected))

    def test_to_nodes(self, sizes: Sizes) -> None:
        basis, coefficients = torch.randn(sum(sizes), 3), torch.randn(len(sizes), 3, 2)
        expected = [b @ c for b, c in zip(basis.split(sizes), coefficients, strict=True)]
        torch.testing.assert_close(to_nodes(basis, coefficients, sizes), torch.cat(expected))

    def test_gradients_of_both_arguments(self, sizes: Sizes) -> None:
        basis = torch.randn(sum(sizes), 3, dtype=torch.float64, requires_grad=True)
        x = torch.randn(sum(sizes), 2, dtype=torch.float64, requires_grad=True)
        coefficients = torch.randn(len(sizes), 3, 2, dtype=torch.float64, requires_grad=True)
        assert torch.autograd.gradcheck(lambda b, v: to_spectrum(b, v, sizes), (basis, x))
        assert torch.autograd.gradcheck(lambda b, c: to_nodes(b, c, sizes), (basis, coefficients))
