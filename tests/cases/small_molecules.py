"""Molecules that no file is needed for, with targets that a small network can learn."""

import torch

from adacanon.data import QM9, Molecules

ATOMS = 8
CHARGES = torch.tensor([0.3, -0.1, -0.2, -0.5, -0.4])
"""Of the five elements, before a molecule is made neutral."""


def molecules(count: int, *, seed: int) -> Molecules:
    """Of three to eight atoms, stretched so that principal axes are determined."""
    generator = torch.Generator().manual_seed(seed)
    sizes = torch.randint(3, ATOMS + 1, (count, 1), generator=generator)
    mask = torch.arange(ATOMS) < sizes
    real = mask.unsqueeze(2)
    positions = torch.randn(count, ATOMS, 3, generator=generator) * torch.tensor([1.0, 1.7, 3.0]) * real
    types = torch.eye(5)[torch.randint(5, (count, ATOMS), generator=generator)] * real
    charges = (types @ CHARGES).unsqueeze(2)
    charges = (charges - charges.sum(1, keepdim=True) / sizes.unsqueeze(2)) * real
    size = positions.square().sum((1, 2)).sqrt()
    return Molecules(positions, types, mask, 5 + size, 10 * types.sum((1, 2)), (charges * positions).sum(1))


def small_qm9(train: int = 24, tested: int = 10) -> QM9:
    """All three parts are different molecules."""
    return QM9(molecules(train, seed=0), molecules(tested, seed=1), molecules(tested, seed=2))
