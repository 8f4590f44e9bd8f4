r"""QM9 (Ramakrishnan et al., 2014): molecules of up to 29 atoms in space, read from one compressed file of arrays.

The file ``molecules/qm9_subset.npz`` holds the atoms of all molecules one after the other (``positions`` in ångström,
``atomic_numbers``, ``mulliken_charges`` in units of the elementary charge, ``atom_counts`` of the molecules), scalars
(``targets`` with their ``target_names``), and the indices ``train``, ``validation`` and ``test``.
:func:`adacanon.data.official_qm9.import_qm9` makes it from the official files.

Charges are read for one target alone, the dipole :math:`\sum_i q_i x_i`. Molecules are neutral, so it does not depend
on the origin.
"""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from adacanon.data.arrays import Arrays, imported_file, opened
from adacanon.errors import DataError, InputError

FILE = Path("molecules") / "qm9_subset.npz"
ELEMENTS = (1, 6, 7, 8, 9)
"""Atomic numbers of H, C, N, O and F, in the order of the one-hot types."""

PARTS = ("train", "validation", "test")
KEYS = ("positions", "atomic_numbers", "mulliken_charges", "atom_counts", "targets", "target_names", *PARTS)
GAP, POLARIZABILITY = "HOMO_LUMO_gap_au", "Polarizability_bohr3"

ELECTRONVOLTS = 27.211386
"""In one hartree, the atomic unit of energy."""
DEBYES = 4.803205
"""In one elementary charge times one ångström."""
LARGEST_CHARGE = 1e-3
"""Of a neutral molecule, in units of the elementary charge: rounding of the charges."""


@dataclass(frozen=True)
class Molecules:
    """Molecules padded to a common number of atoms.

    Attributes:
        positions: (molecules, atoms, 3) in ångström, zero for padding.
        types: one-hot (molecules, atoms, 5) for H, C, N, O, F, zero for padding.
        mask: (molecules, atoms), True for atoms.
        gap: between the highest occupied and the lowest unoccupied orbital, (molecules,) in electronvolts.
        polarizability: isotropic, (molecules,) in cubic bohr.
        dipole: of the Mulliken charges, (molecules, 3) in debye; it turns with the molecule.

    Example:
        >>> water = Molecules(
        ...     torch.tensor([[[0.0, 0.0, 0.12], [0.0, 0.76, -0.48], [0.0, -0.76, -0.48]]]),
        ...     torch.eye(5)[torch.tensor([[3, 0, 0]])], torch.ones(1, 3, dtype=torch.bool),
        ...     torch.tensor([9.8]), torch.tensor([6.3]), torch.tensor([[0.0, 0.0, 1.6]]),
        ... )
        >>> len(water), water[torch.tensor([0, 0])].dipole.shape
        (1, torch.Size([2, 3]))
    """

    positions: Tensor
    types: Tensor
    mask: Tensor
    gap: Tensor
    polarizability: Tensor
    dipole: Tensor

    def __len__(self) -> int:
        return len(self.mask)

    def __getitem__(self, index: Tensor) -> "Molecules":
        """Some of the molecules; all keep their padding."""
        return Molecules(**{name: value[index] for name, value in vars(self).items()})


@dataclass(frozen=True)
class QM9:
    """Training, validation and test part.

    Example:
        >>> part = Molecules(
        ...     torch.zeros(2, 1, 3), torch.eye(5)[torch.tensor([[1], [3]])], torch.ones(2, 1, dtype=torch.bool),
        ...     torch.zeros(2), torch.zeros(2), torch.zeros(2, 3),
        ... )
        >>> len(QM9(part, part, part).limited(1).train)
        1
    """

    train: Molecules
    validation: Molecules
    test: Molecules

    def limited(self, train: int | None) -> "QM9":
        """The same with the first training molecules only; their order is random. None keeps all."""
        if train is None:
            return self
        if not 1 <= train <= len(self.train):
            raise InputError(f"There are {len(self.train)} training molecules, got train={train}")
        return replace(self, train=self.train[torch.arange(train)])


def load_qm9(*, folder: Path | None = None) -> QM9:
    """The molecules from ``molecules/qm9_subset.npz`` in a folder of data sets.

    Args:
        folder: of data sets; ``ADACANON_DATA`` or, for imported ones, the cache folder, if not given.

    Example:
        >>> load_qm9().train.positions.shape  # doctest: +SKIP
        torch.Size([30000, 29, 3])
        >>> load_qm9(folder=Path("nowhere"))  # doctest: +ELLIPSIS
        Traceback (most recent call last):
            ...
        adacanon.errors.MissingDataError: nowhere/molecules/qm9_subset.npz is missing. Hint: set ADACANON_DATA to ...
    """
    file = imported_file(FILE, folder, make="adacanon data import FOLDER --output DATA")
    with opened(file, KEYS) as arrays:
        molecules = _molecules(arrays)
        parts = [_index(arrays, part, len(molecules)) for part in PARTS]
    if len(torch.cat(parts).unique()) < sum(map(len, parts)):
        raise DataError(f"{arrays.file}: expected every molecule in one of {', '.join(PARTS)}, some come twice")
    return QM9(*(molecules[part] for part in parts))


def _molecules(arrays: Arrays) -> Molecules:
    counts = arrays.array("atom_counts", "iu", (None,)).astype(np.int64)
    atoms = int(counts.sum())
    positions = arrays.array("positions", "f", (atoms, 3))
    charges = arrays.array("mulliken_charges", "f", (atoms,))
    numbers = arrays.array("atomic_numbers", "iu", (atoms,))
    scalars = _scalars(arrays, len(counts))
    _check(arrays, counts, numbers, finite=[positions, charges, *scalars.values()])
    mask = np.arange(counts.max()) < counts[:, None]
    places = _padded(positions, mask)
    padded = _padded(charges.astype(np.float64), mask)
    _check_neutral(arrays, padded.sum(1))
    types = _padded(numbers, mask)[..., None] == np.array(ELEMENTS)
    return Molecules(
        positions=torch.from_numpy(places).float(),
        types=torch.from_numpy(types).float(),
        mask=torch.from_numpy(mask),
        gap=torch.from_numpy(ELECTRONVOLTS * scalars[GAP]).float(),
        polarizability=torch.from_numpy(scalars[POLARIZABILITY]).float(),
        dipole=torch.from_numpy(DEBYES * (padded[..., None] * places).sum(1)).float(),
    )


def _padded(values: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Values of all atoms (atoms, ...) as (molecules, most atoms, ...), with zeros for padding."""
    padded = np.zeros((*mask.shape, *values.shape[1:]), dtype=values.dtype)
    padded[mask] = values
    return padded


def _scalars(arrays: Arrays, molecules: int) -> dict[str, np.ndarray]:
    """The two that are read, by name."""
    names = arrays.array("target_names", "U", (None,)).tolist()
    missing = [name for name in (GAP, POLARIZABILITY) if name not in names]
    if missing:
        raise DataError(f"{arrays.file}: expected {' and '.join(missing)} among target_names, got {', '.join(names)}")
    table = arrays.array("targets", "f", (molecules, len(names)))
    return {name: table[:, names.index(name)] for name in (GAP, POLARIZABILITY)}


def _check(arrays: Arrays, counts: np.ndarray, numbers: np.ndarray, *, finite: list[np.ndarray]) -> None:
    if counts.min() < 1:
        raise DataError(f"{arrays.file}: molecule {int(counts.argmin())} has no atoms")
    strange = sorted(set(np.unique(numbers).tolist()) - set(ELEMENTS))
    if strange:
        raise DataError(f"{arrays.file}: expected atomic numbers {ELEMENTS}, got {strange}")
    if not all(np.isfinite(values).all() for values in finite):
        raise DataError(f"{arrays.file}: expected finite positions, charges and targets. Hint: make the file again")


def _check_neutral(arrays: Arrays, charge: np.ndarray) -> None:
    """A charged molecule has no dipole of its own: it would depend on the origin."""
    worst = int(np.abs(charge).argmax())
    if abs(charge[worst]) > LARGEST_CHARGE:
        raise DataError(
            f"{arrays.file}: expected neutral molecules, the charges of molecule {worst} sum to {charge[worst]:.3g}"
        )


def _index(arrays: Arrays, part: str, molecules: int) -> Tensor:
    return torch.from_numpy(arrays.labels(part, molecules))
