"""Random elements of the frames of many graphs, drawn anew at every call, at the price of a few products."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from adacanon.baselines.graphs.frame_averaging import TOLERANCE, checked_spectrum, eigenspaces, random_bases
from adacanon.errors import InputError


@dataclass(frozen=True)
class FrameDraws:
    r"""Draws from the frames of :func:`batch_frame`: signs for all eigenvectors, and uniformly random bases for the
    eigenspaces of higher multiplicity. What does not change between draws is computed once.

    Attributes:
        columns: the eigenvectors 1, ..., p of every graph, (nodes of a graph, p), zero where it has fewer.
        repeated: for every graph its eigenspaces of dimension above one: where they begin among all columns, and a
            basis, (nodes of a graph, dimension).

    Example:
        >>> ring = torch.tensor([[2.0, -1, 0, -1], [-1, 2, -1, 0], [0, -1, 2, -1], [-1, 0, -1, 2]])
        >>> draws = FrameDraws.of([torch.linalg.eigh(ring)], 3)
        >>> draws.draw(torch.tensor([0, 0]), 5).shape
        torch.Size([5, 8, 3])
    """

    columns: tuple[Tensor, ...]
    repeated: tuple[tuple[tuple[int, Tensor], ...], ...]

    @classmethod
    def of(
        cls, spectra: Sequence[tuple[Tensor, Tensor]], encodings: int, *, tolerance: float = TOLERANCE
    ) -> "FrameDraws":
        """From eigenvalues (nodes,) and eigenvectors (nodes, nodes) of every graph, and p = ``encodings``."""
        columns, repeated = [], []
        for spectrum in spectra:
            values, vectors = checked_spectrum(*spectrum)
            spaces = eigenspaces(values, tolerance=tolerance)
            repeated.append(tuple((a, vectors[:, a:b].float()) for a, b in spaces if b - a > 1 and a <= encodings))
            kept = vectors[:, 1 : encodings + 1].float()
            columns.append(nn.functional.pad(kept, (0, encodings - kept.shape[1])))
        return cls(tuple(columns), tuple(repeated))

    def draw(self, index: Tensor, elements: int, *, generator: torch.Generator | None = None) -> Tensor:
        """Elements for some graphs, independent of one another, (elements, nodes of these graphs, p)."""
        if elements < 1:
            raise InputError(f"A frame needs one element at least, got elements={elements}")
        graphs = index.tolist()
        p = self.columns[graphs[0]].shape[1]
        signs = 2.0 * torch.randint(2, (elements, len(graphs), p), generator=generator) - 1.0
        sizes = torch.tensor([len(self.columns[graph]) for graph in graphs])
        found = torch.cat([self.columns[graph] for graph in graphs]).expand(elements, -1, -1).clone()
        for graph, end, size in zip(graphs, sizes.cumsum(0).tolist(), sizes.tolist(), strict=True):
            for first, basis in self.repeated[graph]:
                drawn = random_bases(basis, elements, p + 1 - first, generator=generator)
                skipped = max(1 - first, 0)  # column 0 is no encoding
                place = first + skipped - 1
                found[:, end - size : end, place : place + drawn.shape[2] - skipped] = drawn[:, :, skipped:]
        return found * signs.repeat_interleave(sizes, dim=1)
