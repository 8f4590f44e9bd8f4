r"""Coefficients by the symmetric root of their Gram matrices: continuous in the node features.

:math:`C = QR` with a triangular R jumps where the rank of C changes: a channel that is zero, and then tiny, gets a row
of its own, and the rows after it move by one. The symmetric factor :math:`|C| = (C^\top C)^{1/2}` has no rows to move.
It is a function of the Gram matrix alone, as R is, and 1.42 times as steep as C at most, in the Frobenius norm
(Araki and Yamagami, 1981).

:math:`C = Q|C|` holds with an orthonormal Q of T columns if the band has :math:`M \ge T` dimensions. Then the first J
rows of :math:`U^\top C` are :math:`X|C|` for the blocks X of :math:`O(M)` with T columns: the same set of forms as with
R. If M < T there is no such Q that would depend on C continuously (for M = 1, it would be a choice of sign). There,
zero rows are added to C until M = T, and U may mix them in: the forms are those of a band of T dimensions, more than
the band itself has.
"""

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

from adacanon.graphs.bands import Partition
from adacanon.graphs.coefficients import BandCoefficients, list_of_graphs, padded_bands, spectra_and_signals
from adacanon.graphs.shift_operators import ShiftOperator
from adacanon.graphs.spectra import Spectrum
from adacanon.notices import warn_of_unread_features


def symmetric_factor(c: Tensor) -> Tensor:
    r""":math:`(C^\top C)^{1/2}`, (..., M, channels) -> (..., channels, channels).

    From the singular values of C, not from the Gram matrix, whose rounding would be that of C squared.

    Example:
        >>> symmetric_factor(torch.tensor([[0.0, 3.0], [0.0, 4.0]]))
        tensor([[0., 0.],
                [0., 5.]])
    """
    _, values, right = torch.linalg.svd(c, full_matrices=False)
    return right.mT @ (values.unsqueeze(-1) * right)


def symmetric_coefficients(
    graphs: Any, partition: Partition, *, operator: ShiftOperator = "normalized", dtype: torch.dtype = torch.float32
) -> BandCoefficients:
    """The coefficients of torch-geometric ``Data`` objects, a ``Batch``, or a sequence of graphs; spectra are cached.

    Example:
        >>> from torch_geometric.data import Data
        >>> from adacanon.graphs import dyadic
        >>> path = Data(x=torch.eye(3), edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
        >>> symmetric_coefficients([path, path], dyadic(4)).factors.shape
        torch.Size([2, 4, 3, 3])
    """
    graphs = list_of_graphs(graphs)
    warn_of_unread_features(graphs, edges=isinstance(operator, str))
    found = symmetric_coefficients_of(spectra_and_signals(graphs, operator), partition, dtype=dtype)
    return found.to(graphs[0].x.device)


def symmetric_coefficients_of(
    pairs: Iterable[tuple[Spectrum, Tensor]], partition: Partition, *, dtype: torch.dtype = torch.float32
) -> BandCoefficients:
    """The coefficients of signals on graphs whose spectra are known, with symmetric factors; the dimensions of bands
    are at least the number of channels.

    Example:
        >>> from adacanon.graphs import dyadic
        >>> from adacanon.graphs.spectra import spectra
        >>> spectrum = spectra([torch.tensor([[1.0, -1.0], [-1.0, 1.0]])], cache=False)[0]
        >>> found = symmetric_coefficients_of([(spectrum, torch.ones(2, 3))], dyadic(2))
        >>> found.factors.shape, found.sizes.tolist()
        (torch.Size([1, 2, 3, 3]), [[3, 3]])
    """
    bands = [padded_bands(spectrum, signal, partition) for spectrum, signal in pairs]
    factors = torch.stack([symmetric_factor(c) for c, _ in bands]).to(dtype)
    channels = factors.shape[-1]
    sizes = torch.stack([own for _, own in bands]).clamp(min=channels)
    return BandCoefficients(factors, sizes, torch.full_like(sizes, channels))
