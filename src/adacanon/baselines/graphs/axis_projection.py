r"""OAP+GIN: eigenvectors made canonical by orthogonalized axis projection.

The conventions on spectra and encodings are those of ``frame_averaging``.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from adacanon.baselines.graphs.frame_averaging import TOLERANCE, checked_spectrum, eigenspaces, first_encodings
from adacanon.baselines.graphs.graph_networks import GraphNetwork
from adacanon.errors import ShapeError

SHIFT = 10.0
"""The constant c that is added to every summed axis; 10 in a public implementation of Ma et al. (2024)."""


@dataclass(frozen=True)
class CanonicalEigenvectors:
    """Eigenvectors as columns, and which of them are canonical; the others are as they came.

    Shape:
        eigenvectors (nodes, nodes), canonical (nodes,) of bool

    Example:
        >>> spectrum = torch.linalg.eigh(torch.tensor([[1.0, -1, 0], [-1, 2, -1], [0, -1, 1]]))
        >>> canonical_eigenvectors(*spectrum).canonical.tolist()
        [True, False, True]
    """

    eigenvectors: Tensor
    canonical: Tensor


class WithEncodings(nn.Module):
    r"""The graph network :math:`(x, v) \mapsto f(x \,\|\, v)` on node features next to positional encodings.

    Args:
        network: :math:`f`, from (x, edge_index, graph) to (graphs, classes).

    Shape:
        x (nodes, channels), edge_index (2, edges), graph (nodes,), encodings (nodes, p) -> (graphs, classes)

    Example:
        >>> edges, graph = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), torch.zeros(3, dtype=torch.int64)
        >>> model = WithEncodings(GraphNetwork("gin", 4 + 2, classes=2))
        >>> model(torch.ones(3, 4), edges, graph, torch.rand(3, 2)).shape
        torch.Size([1, 2])
    """

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, x: Tensor, edge_index: Tensor, graph: Tensor, encodings: Tensor) -> Tensor:
        if encodings.dim() != 2 or encodings.shape[0] != x.shape[0]:
            raise ShapeError(
                f"WithEncodings expects encodings of shape ({x.shape[0]}, p), got {tuple(encodings.shape)}. "
                "Hint: axis_projection_encodings gives those of a batch from the spectra of its graphs, in order"
            )
        return self.network(torch.cat([x, encodings.to(x)], dim=1), edge_index, graph)


def axis_projection_gin(
    channels: int, *, classes: int, encodings: int, hidden: int = 64, layers: int = 3
) -> WithEncodings:
    """OAP+GIN: a GIN on node features and p = ``encodings`` canonical eigenvectors.

    Example:
        >>> spectrum = torch.linalg.eigh(torch.tensor([[1.0, -1, 0], [-1, 2, -1], [0, -1, 1]]))
        >>> model = axis_projection_gin(4, classes=2, encodings=2)
        >>> edges, graph = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), torch.zeros(3, dtype=torch.int64)
        >>> model(torch.ones(3, 4), edges, graph, axis_projection_encodings([spectrum], 2)).shape
        torch.Size([1, 2])
    """
    network = GraphNetwork("gin", channels + encodings, classes=classes, hidden=hidden, layers=layers)
    return WithEncodings(network)


def axis_projection_encodings(
    spectra: Sequence[tuple[Tensor, Tensor]], encodings: int, *, tolerance: float = TOLERANCE
) -> Tensor:
    """The canonical eigenvectors 1, ..., p of every graph in a batch, (nodes of all graphs, p) in float64.

    They do not depend on the network: computing them once for a data set is enough. A public implementation takes the
    same end of the spectrum, as the last eigenvectors of :math:`I + D^{-1/2} A D^{-1/2}`, but keeps the first of them,
    cuts an eigenspace before and not after making it canonical, and scales each vector with the root of its
    eigenvalue; none of this is done here, so that FA and OAP see the same eigenvectors.

    Example:
        >>> spectrum = torch.linalg.eigh(torch.tensor([[1.0, -1, 0], [-1, 2, -1], [0, -1, 1]]))
        >>> axis_projection_encodings([spectrum, spectrum], 2).shape
        torch.Size([6, 2])
    """
    found = [canonical_eigenvectors(*spectrum, columns=encodings + 1, tolerance=tolerance) for spectrum in spectra]
    return torch.cat([first_encodings(one.eigenvectors, encodings) for one in found])


def canonical_eigenvectors(
    eigenvalues: Tensor, eigenvectors: Tensor, *, columns: int | None = None, tolerance: float = TOLERANCE
) -> CanonicalEigenvectors:
    r"""In every eigenspace with projector :math:`P = V V^\top`, Gram-Schmidt of
    :math:`P x_1, P x_2, \dots` with :math:`x_j = \sum_{i \in B_j} e_i + c\,\mathbf 1`.

    The groups :math:`B_j` hold the axes :math:`e_i` that their projections cannot tell apart, so that all this
    depends on the eigenspace alone, and moves with the nodes when they are permuted. Eigenspaces of dimension one and
    above follow ``canonical_sign`` and ``canonical_basis``.

    Where these find nothing, the eigenvectors stay as they came, marked in the record, as in a public implementation.
    For a simple eigenvalue this happens exactly when a permutation of the nodes takes :math:`v` to :math:`-v`: no
    equivariant choice of sign exists. For higher multiplicity it happens when the projections span less than the
    eigenspace, for example on graphs whose automorphisms act transitively on the nodes.

    Args:
        eigenvalues: in increasing order.
        eigenvectors: as columns.
        columns: leave alone the eigenspaces that begin at this column or later.
        tolerance: values closer than this are equal: eigenvalues, lengths of projections, and zero.

    Shape:
        (nodes,), (nodes, nodes) -> CanonicalEigenvectors

    Example:
        >>> spectrum = torch.linalg.eigh(torch.tensor([[1.0, -1, 0], [-1, 2, -1], [0, -1, 1]]))
        >>> found = canonical_eigenvectors(*spectrum)
        >>> found.eigenvectors.shape, found.canonical.tolist()
        (torch.Size([3, 3]), [True, False, True])

    Reference:
        Ma et al., "A Canonicalization Perspective on Invariant and Equivariant Learning", NeurIPS 2024.
    """
    values, vectors = checked_spectrum(eigenvalues, eigenvectors)
    vectors, canonical = vectors.clone(), torch.zeros(len(values), dtype=torch.bool)
    limit = len(values) if columns is None else columns
    for start, stop in eigenspaces(values, tolerance=tolerance):
        if start < limit and (found := _canonical(vectors[:, start:stop], tolerance)) is not None:
            vectors[:, start:stop], canonical[start:stop] = found, True
    return CanonicalEigenvectors(vectors, canonical)


def canonical_sign(v: Tensor, *, tolerance: float = TOLERANCE) -> Tensor | None:
    r""":math:`\mathrm{sign}(v^\top x_j)\, v` with the first j for which :math:`v^\top x_j \ne 0`.

    The axes are grouped by :math:`\|P e_i\| = |v_i|`, shortest first.

    Shape:
        (nodes,) -> (nodes,), or None if all products are zero
    """
    products = v @ _summed_axes(v.abs().unsqueeze(1), tolerance)
    decisive = products[products.abs() > tolerance]
    return decisive[0].sign() * v if len(decisive) else None


def canonical_basis(basis: Tensor, *, tolerance: float = TOLERANCE) -> Tensor | None:
    r"""Gram-Schmidt of the projections :math:`P x_j`, leaving out those that depend on the ones before.

    The axes are grouped by the pair of :math:`P_{ii} = \|P e_i\|^2` and the multiset
    :math:`\{P_{ij}\}_{j}`, in decreasing order. A public implementation compares a hash of this pair,
    :math:`\sum_j P_{ij}^3 + P_{ii}` in five digits; here the pairs themselves are compared, which merges no groups by
    accident.

    Shape:
        (nodes, dimension) -> (nodes, dimension), or None if the projections do not span the eigenspace
    """
    projector = basis @ basis.T
    signature = torch.cat([projector.diagonal().unsqueeze(1), projector.sort(dim=1, descending=True).values], dim=1)
    axes = _summed_axes(-signature, tolerance)
    if axes.shape[1] < basis.shape[1]:
        return None
    return _gram_schmidt(projector @ axes, basis.shape[1], tolerance)


def _canonical(basis: Tensor, tolerance: float) -> Tensor | None:
    if basis.shape[1] > 1:
        return canonical_basis(basis, tolerance=tolerance)
    vector = canonical_sign(basis[:, 0], tolerance=tolerance)
    return None if vector is None else vector.unsqueeze(1)


def _summed_axes(signature: Tensor, tolerance: float) -> Tensor:
    """The vectors x_j as columns, one for each group of nodes with equal rows, in increasing order of the rows."""
    _, group = torch.unique(_levels(signature, tolerance), dim=0, return_inverse=True)
    return nn.functional.one_hot(group).to(signature) + SHIFT


def _levels(values: Tensor, tolerance: float) -> Tensor:
    """Integers that order the entries of each column, the same for entries that are equal up to rounding."""
    ordered, order = values.sort(dim=0)
    # Counting gaps, unlike rounding to a grid, cannot separate two equal numbers that straddle a grid point.
    steps = (ordered.diff(dim=0, prepend=ordered[:1]) > tolerance).long().cumsum(0)
    return torch.zeros_like(order).scatter(0, order, steps)


def _gram_schmidt(vectors: Tensor, dimension: int, tolerance: float) -> Tensor | None:
    """An orthonormal basis from the first independent columns, or None if there are too few."""
    basis = vectors[:, :0]
    for vector in vectors.T:
        length = vector.norm()
        if length <= tolerance:
            continue
        rest = vector / length
        for _ in range(2):  # once more removes the rounding of the first time
            rest = rest - basis @ (basis.T @ rest)
        if rest.norm() > tolerance:
            basis = torch.cat([basis, (rest / rest.norm()).unsqueeze(1)], dim=1)
        if basis.shape[1] == dimension:
            return basis
    return None
