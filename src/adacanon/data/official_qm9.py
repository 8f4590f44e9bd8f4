"""The official files of QM9, made into the one file of arrays that ``load_qm9`` reads.

Ramakrishnan et al., "Quantum chemistry structures and properties of 134 kilo molecules", Scientific Data 1 (2014),
https://doi.org/10.6084/m9.figshare.c.978904. The archive ``dsgdb9nsd.xyz.tar.bz2`` holds one text file for every
molecule: the number of atoms; "gdb", its number and 15 scalars; a line for every atom with its element, x, y, z and
Mulliken charge; and three lines that are not read.
"""

import re
from pathlib import Path
from typing import NamedTuple

import numpy as np

from adacanon.data.file_parts import HERE, Reading, read_in_parts
from adacanon.data.official import lines_of
from adacanon.data.qm9 import ELEMENTS, FILE, GAP, POLARIZABILITY
from adacanon.errors import DataError, InputError
from adacanon.files import write_whole
from adacanon.folders import cache_folder

MOLECULES, LIST = "dsgdb9nsd_*.xyz", "uncharacterized.txt"
"""Names of the official files."""

PART = 2000
"""Files that a process reads at a time."""

SYMBOLS = dict(zip("HCNOF", ELEMENTS, strict=True))
SCALARS, AT_POLARIZABILITY, AT_GAP = 15, 4, 7
"""Numbers of a molecule, and the places of two of them among these."""


class _Molecule(NamedTuple):
    numbers: list[int]
    atoms: np.ndarray
    scalars: tuple[float, float]


def import_qm9(
    source: str | Path,
    *,
    folder: Path | None = None,
    without: str | Path | None = None,
    validation: int = 3000,
    test: int = 5000,
    seed: int = 0,
) -> Path:
    """Read the official xyz files and write them as one file of arrays with a random split.

    Figures are comparable between networks on the same file. The subset of 38,000 molecules on which the committed
    results were computed has a split of its own.

    Args:
        source: the folder of the unpacked archive ``dsgdb9nsd.xyz.tar.bz2``.
        folder: of data sets, to which ``molecules/qm9_subset.npz`` is written; the cache folder if not given.
        without: the official list ``uncharacterized.txt`` of molecules that fell apart, which are left out.
        validation: molecules in the validation part.
        test: molecules in the test part; all others are for training.
        seed: of the split.

    Returns:
        the file, on the disk as a whole or not at all.

    Example:
        >>> import_qm9("dsgdb9nsd", without="uncharacterized.txt").name  # doctest: +SKIP
        'qm9_subset.npz'
        >>> import_qm9("no-such-folder")
        Traceback (most recent call last):
            ...
        adacanon.errors.DataError: no-such-folder holds no dsgdb9nsd_*.xyz. Hint: unpack dsgdb9nsd.xyz.tar.bz2 there
    """
    arrays = read_qm9(Path(source), without=without, validation=validation, test=test, seed=seed)
    file = (folder or cache_folder()) / FILE
    write_whole(file, lambda stream: np.savez_compressed(stream, **arrays))  # type: ignore[arg-type]
    return file


def read_qm9(
    source: Path,
    *,
    without: str | Path | None = None,
    validation: int = 3000,
    test: int = 5000,
    seed: int = 0,
    reading: Reading = HERE,
) -> dict[str, np.ndarray]:
    """The arrays of the file; arguments as in :func:`import_qm9`."""
    files = sorted(source.glob(MOLECULES))
    if not files:
        raise DataError(f"{source} holds no {MOLECULES}. Hint: unpack dsgdb9nsd.xyz.tar.bz2 there")
    left_out = set() if without is None else _listed(Path(without))
    kept = [file for file in files if _number(file) not in left_out]
    if min(validation, test) < 1 or validation + test >= len(kept):
        raise InputError(f"{len(kept)} molecules have no parts of validation={validation}, test={test} and the rest")
    molecules = read_in_parts(_molecules, kept, size=PART, reading=reading)
    order = np.random.default_rng(seed).permutation(len(kept))
    atoms = molecules["atoms"]
    return {
        "positions": atoms[:, :3].astype(np.float32),
        "mulliken_charges": atoms[:, 3].astype(np.float32),
        "atomic_numbers": molecules["numbers"].astype(np.uint8),
        "atom_counts": molecules["counts"].astype(np.uint8),
        "targets": molecules["scalars"],
        "target_names": np.array([POLARIZABILITY, GAP]),
        "molecule_index": np.array([_number(file) for file in kept], dtype=np.int32),
        "train": order[validation + test :],
        "validation": order[:validation],
        "test": order[validation : validation + test],
    }


def list_beside(folder: Path) -> Path | None:
    """The official list of molecules that fell apart, where it lies in the folder of the molecules or beside it."""
    return next((f for f in (folder / LIST, folder.parent / LIST) if f.is_file()), None)


def _number(file: Path) -> int:
    """By which a molecule is known, from dsgdb9nsd_000001.xyz."""
    digits = file.stem.rpartition("_")[2]
    if not digits.isdigit():
        raise DataError(f"{file}: expected a name such as dsgdb9nsd_000001.xyz")
    return int(digits)


def _listed(file: Path) -> set[int]:
    """The first number of every line that begins with one; the last line counts them, as "3054 compounds"."""
    found = {int(match[1]) for line in lines_of(file) if (match := re.match(r"(\d+)\s+(?!compounds)", line))}
    if not found:
        raise DataError(f"{file}: expected lines that begin with the number of a molecule, as in uncharacterized.txt")
    return found


def _molecules(files: list[Path]) -> dict[str, np.ndarray]:
    molecules = [_molecule(file) for file in files]
    return {
        "numbers": np.concatenate([molecule.numbers for molecule in molecules]),
        "atoms": np.concatenate([molecule.atoms for molecule in molecules]),
        "counts": np.array([len(molecule.numbers) for molecule in molecules]),
        "scalars": np.array([molecule.scalars for molecule in molecules]),
    }


def _molecule(file: Path) -> _Molecule:
    lines = lines_of(file)
    try:
        count = int(lines[0])
        scalars = [_value(word) for word in lines[1].split()[2:]]
        rows = [line.split() for line in lines[2 : 2 + count]]
        numbers = [SYMBOLS[row[0]] for row in rows]
        atoms = np.array([[_value(word) for word in row[1:]] for row in rows])
    except (ValueError, KeyError, IndexError) as error:
        raise DataError(f"{file}: expected the layout of QM9, got {error!r}. Hint: unpack the archive again") from error
    if len(scalars) != SCALARS or atoms.shape != (count, 4):
        raise DataError(
            f"{file}: expected {SCALARS} scalars and {count} atoms with x, y, z and charge, got {len(scalars)} and "
            f"{atoms.shape}"
        )
    return _Molecule(numbers, atoms, (scalars[AT_POLARIZABILITY], scalars[AT_GAP]))


def _value(word: str) -> float:
    """Some numbers are written as 6.5*^-6."""
    return float(word.replace("*^", "e"))
