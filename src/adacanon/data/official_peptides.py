"""The files of Peptides-func that torch-geometric downloads, made into the one file of arrays that is read here.

Dwivedi et al., "Long Range Graph Benchmark", NeurIPS 2022. A folder holds ``train.pt``, ``val.pt`` and ``test.pt``,
each a list of peptides: atoms (nodes, 9), bonds (edges, 3), edges (2, edges) in both directions, and labels (1, 10).
"""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import torch

from adacanon.data.graph_checks import check_categories
from adacanon.data.official import OnProgress, silent
from adacanon.data.ogb import ATOMS, BONDS
from adacanon.data.peptides import LABELS, PARTS
from adacanon.errors import DataError

FILES = {"train": "train.pt", "validation": "val.pt", "test": "test.pt"}
SHAPES = (("atoms", -1, len(ATOMS)), ("bonds", -1, len(BONDS)), ("edges", 2, -1), ("labels", 1, LABELS))
"""What a peptide consists of; -1 stands for any length."""

Peptide = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
"""Atoms, bonds and edges, each once, and labels."""


def read_peptides(source: Path, on_progress: OnProgress = silent) -> dict[str, np.ndarray]:
    """The arrays of the file, the three parts one after the other."""
    parts = {}
    for number, (part, name) in enumerate(FILES.items(), 1):
        parts[part] = _peptides(source / name)
        on_progress(number, len(FILES))
    peptides = [peptide for part in PARTS for peptide in parts[part]]
    atoms, bonds, edges, labels = (list(values) for values in zip(*peptides, strict=True))
    ends = np.cumsum([len(parts[part]) for part in PARTS])
    numbers = np.split(np.arange(ends[-1]), ends[:-1])
    return {
        "node_features": np.concatenate(atoms).astype(np.uint8),
        "node_counts": np.array([len(one) for one in atoms]),
        "edges": np.concatenate(edges).astype(np.uint16),
        "edge_features": np.concatenate(bonds).astype(np.uint8),
        "edge_counts": np.array([len(one) for one in edges]),
        "labels": np.concatenate(labels).astype(np.float32),
        **dict(zip(PARTS, numbers, strict=True)),
    }


def _peptides(file: Path) -> list[Peptide]:
    try:
        content = torch.load(file, weights_only=True)
    except FileNotFoundError as error:
        raise DataError(f"{file} is missing. Hint: the folder holds {', '.join(FILES.values())}") from error
    except (OSError, RuntimeError, EOFError, ValueError, pickle.UnpicklingError) as error:
        reason = str(error).partition("\n")[0]
        raise DataError(f"{file} is damaged or no file of tensors: {reason}. Hint: download it again") from error
    if not isinstance(content, list) or not content:
        raise DataError(f"{file}: expected a list of peptides, got {type(content).__name__}")
    return [_peptide(file, number, one) for number, one in enumerate(content)]


def _peptide(file: Path, number: int, one: Any) -> Peptide:
    fits = isinstance(one, tuple | list) and len(one) == len(SHAPES) and all(map(_fits, one, SHAPES))
    if not fits or one[1].shape[0] != one[2].shape[1]:
        raise DataError(
            f"{file}, peptide {number}: expected tensors of atoms (nodes, {len(ATOMS)}), bonds (edges, {len(BONDS)}), "
            f"edges (2, edges) and labels (1, {LABELS})"
        )
    atoms, bonds, edges, labels = (tensor.numpy() for tensor in one)
    check_categories(file, atoms, ATOMS)
    check_categories(file, bonds, BONDS)
    once = edges[0] < edges[1]
    if 2 * once.sum() != edges.shape[1]:
        raise DataError(f"{file}, peptide {number}: expected every edge in both directions")
    return atoms, bonds[once], edges.T[once], labels


def _fits(tensor: Any, shape: tuple[str, int, int]) -> bool:
    if not isinstance(tensor, torch.Tensor) or tensor.dim() != 2:
        return False
    return all(wanted in (-1, length) for wanted, length in zip(shape[1:], tensor.shape, strict=True))
