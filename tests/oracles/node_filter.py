"""Node-level A-NLSF written down from the paper: one graph, one band, one whole orthogonal matrix at a time."""

import torch
from torch import Tensor

from adacanon.graphs import Partition, Spectrum
from adacanon.spaces import Orthogonal
from oracles.band_rotations import pad_or_truncate


def band_vectors(spectrum: Spectrum, partition: Partition) -> list[Tensor]:
    """V_k, (nodes, M_k) each."""
    band = partition.assign(spectrum.eigenvalues)
    return [spectrum.eigenvectors[:, band == k] for k in range(partition.bands)]


def random_rotations(spectrum: Spectrum, partition: Partition, generator: torch.Generator) -> list[Tensor]:
    """U_k in O(M_k), an empty matrix for an empty band."""
    sizes = [v.shape[1] for v in band_vectors(spectrum, partition)]
    return [Orthogonal(m).sample(1, generator=generator)[0] if m else torch.zeros(0, 0).double() for m in sizes]


def turned_basis(spectrum: Spectrum, partition: Partition, seed: int) -> Spectrum:
    """The same operator with a random orthonormal basis in every band."""
    rotations = random_rotations(spectrum, partition, torch.Generator().manual_seed(seed))
    band, vectors = partition.assign(spectrum.eigenvalues), spectrum.eigenvectors.clone()
    for k, (v, u) in enumerate(zip(band_vectors(spectrum, partition), rotations, strict=True)):
        vectors[:, band == k] = v @ u
    return Spectrum(spectrum.eigenvalues, vectors)


def analysis(v: Tensor, u: Tensor, signal: Tensor, rows: int) -> Tensor:
    """P_k(U_kᵀ V_kᵀ S), (J_k, channels)."""
    return pad_or_truncate(u.T @ v.T @ signal, rows)


def whole_frame(v: Tensor, u: Tensor, rows: int) -> Tensor:
    """The first J_k columns of V_k U_k as rows, (J_k, nodes)."""
    return pad_or_truncate((v @ u).T, rows)


def projected_frame(v: Tensor, u: Tensor, signal: Tensor, rows: int) -> Tensor:
    """The same, projected on the span of V_k V_kᵀ S by its pseudoinverse."""
    part = v @ v.T @ signal
    return whole_frame(v, u, rows) @ part @ torch.linalg.pinv(part, rtol=1e-9)


def filtered(frames: list[Tensor], learned: list[Tensor]) -> Tensor:
    """The node features sum_k F_k Ŝ_k, entry by entry."""
    nodes, features = frames[0].shape[1], learned[0].shape[1]
    out = torch.zeros(nodes, features, dtype=torch.float64)
    for frame, coefficients in zip(frames, learned, strict=True):
        for vector, row in zip(frame, coefficients, strict=True):
            out += vector[:, None] * row[None, :]
    return out
