"""Eigenvectors by Jacobi's method, against LAPACK."""

import pytest
import torch
from torch import Tensor

from adacanon.points.jacobi import proper_eigenvectors


def symmetric(*eigenvalues: float) -> Tensor:
    """Matrices with these eigenvalues in a hundred random bases."""
    basis = torch.linalg.qr(torch.randn(100, 3, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))).Q
    return basis @ torch.tensor(eigenvalues, dtype=torch.float64).diag() @ basis.mT


CASES = {
    "apart": symmetric(1.0, 2.0, 5.0),
    "two nearly equal": symmetric(1.0, 1.0 + 1e-9, 3.0),
    "two equal": symmetric(1.0, 3.0, 3.0),
    "three equal": symmetric(2.0, 2.0, 2.0),
    "of many sizes": symmetric(1e-12, 1e-6, 1.0),
    "tiny": 1e-200 * symmetric(1.0, 2.0, 5.0),
    "huge": 1e150 * symmetric(1.0, 2.0, 5.0),
    "diagonal already": torch.tensor([3.0, 1.0, 2.0], dtype=torch.float64).diag()[None],
    "of rank one": torch.ones(1, 3, 3, dtype=torch.float64),
    "zero": torch.zeros(1, 3, 3, dtype=torch.float64),
}


@pytest.mark.parametrize("matrices", CASES.values(), ids=CASES.keys())
class TestEigenvectors:
    def test_they_are_proper_rotations(self, matrices: Tensor) -> None:
        vectors = proper_eigenvectors(matrices)
        assert torch.allclose(vectors.mT @ vectors, torch.eye(3, dtype=torch.float64).expand_as(vectors), atol=1e-12)
        assert torch.allclose(torch.linalg.det(vectors), torch.ones(len(vectors), dtype=torch.float64))

    def test_they_diagonalise_with_the_eigenvalues_of_lapack_in_order(self, matrices: Tensor) -> None:
        vectors = proper_eigenvectors(matrices)
        diagonal = vectors.mT @ matrices @ vectors
        expected = torch.linalg.eigvalsh(matrices).diag_embed()
        size = float(matrices.abs().max())
        assert float((diagonal - expected).abs().max()) <= 1e-13 * size
