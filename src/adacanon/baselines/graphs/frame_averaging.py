r"""FA+GIN: frame averaging over the signs and bases of Laplacian eigenvectors.

Conventions, shared with ``axis_projection``: eigenvalues increase, eigenvectors are columns, and the positional
encoding of a graph is made of the columns 1, ..., p, since column 0 belongs to the eigenvalue zero. A graph of fewer
than p + 1 nodes has zeros in the columns that it lacks. Every eigenspace is treated as a whole before columns are cut,
so the answer is also well defined where a disconnected graph has several eigenvectors of eigenvalue zero, or where the
cut at p falls inside an eigenspace.
"""

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn

from adacanon.baselines.graphs.graph_networks import GraphNetwork
from adacanon.errors import InputError, ShapeError

TOLERANCE = 1e-6
"""Eigenvalues this close to their neighbours count as one, as in the code of Ma et al. (2024)."""

LARGEST_FULL_FRAME = 10
"""Up to this p all sign choices may be listed: 1024 passes of the network for one answer."""


class FrameAveraged(nn.Module):
    r"""The average :math:`(x, F) \mapsto \frac1{|F|} \sum_{v \in F} f(x \,\|\, v)` of a graph network over a frame.

    All elements go through the network together, as one batch of |F| times as many graphs.

    Args:
        network: :math:`f`, from (x, edge_index, graph) to (graphs, classes).

    Shape:
        x (nodes, channels), edge_index (2, edges), graph (nodes,), frame (elements, nodes, p) -> (graphs, classes)

    Example:
        >>> spectrum = torch.linalg.eigh(torch.tensor([[1.0, -1, 0], [-1, 2, -1], [0, -1, 1]]))
        >>> edges, graph = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), torch.zeros(3, dtype=torch.int64)
        >>> model = FrameAveraged(GraphNetwork("gin", 4 + 2, classes=2))
        >>> model(torch.ones(3, 4), edges, graph, batch_frame([spectrum], 2)).shape
        torch.Size([1, 2])

    Reference:
        Puny et al., "Frame Averaging for Invariant and Equivariant Network Design", ICLR 2022.
    """

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, x: Tensor, edge_index: Tensor, graph: Tensor, frame: Tensor) -> Tensor:
        if frame.dim() != 3 or frame.shape[1] != x.shape[0]:
            raise ShapeError(
                f"FrameAveraged expects a frame of shape (elements, {x.shape[0]}, p), got {tuple(frame.shape)}. "
                "Hint: batch_frame gives the frame of a batch from the spectra of its graphs, in order"
            )
        elements, nodes = frame.shape[:2]
        copies = torch.arange(elements, device=graph.device).unsqueeze(1)
        inputs = torch.cat([x.expand(elements, -1, -1), frame.to(x)], dim=2).flatten(0, 1)
        edges = (edge_index.unsqueeze(1) + copies * nodes).flatten(1)
        answers = self.network(inputs, edges, (graph + copies * (graph[-1] + 1)).flatten())
        return answers.unflatten(0, (elements, -1)).mean(0)


def frame_averaged_gin(
    channels: int, *, classes: int, encodings: int, hidden: int = 64, layers: int = 3
) -> FrameAveraged:
    r"""FA+GIN: the frame average of a GIN on node features and p = ``encodings`` eigenvectors.

    Example:
        >>> spectrum = torch.linalg.eigh(torch.tensor([[1.0, -1, 0], [-1, 2, -1], [0, -1, 1]]))
        >>> model = frame_averaged_gin(4, classes=2, encodings=2)
        >>> edges, graph = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), torch.zeros(3, dtype=torch.int64)
        >>> model(torch.ones(3, 4), edges, graph, batch_frame([spectrum], 2)).shape
        torch.Size([1, 2])
    """
    network = GraphNetwork("gin", channels + encodings, classes=classes, hidden=hidden, layers=layers)
    return FrameAveraged(network)


def batch_frame(
    spectra: Sequence[tuple[Tensor, Tensor]],
    encodings: int,
    *,
    elements: int | None = None,
    tolerance: float = TOLERANCE,
    generator: torch.Generator | None = None,
) -> Tensor:
    r"""Frame elements :math:`v^{(1)}, \dots, v^{(m)}` with columns :math:`v^{(e)}_j = s^{(e)}_j (V_k Q^{(e)}_k)_j`.

    The group is that of all ambiguities of the encoding, :math:`\prod_k O(m_k)` with the multiplicities :math:`m_k`,
    and the frame is the whole orbit. For simple eigenvalues (:math:`m_k = 1, Q_k = 1`) this means signs: without
    ``elements`` all :math:`2^p` choices of :math:`s` are listed, and the average is exactly invariant. In eigenspaces
    of higher multiplicity the orbit is infinite; there, **as an approximation**, every element draws its own uniformly
    distributed orthonormal basis, so that the average is an unbiased estimate, invariant in distribution only. The
    same holds for signs when ``elements`` is given. Draws are fresh at every call.

    Puny et al. themselves average graphs over node permutations that sort eigenvectors; here the network is already
    invariant to permutations, and the frame is for the signs and bases that remain.

    Args:
        spectra: eigenvalues (nodes,) and eigenvectors (nodes, nodes) of every graph in the batch, in order.
        encodings: p.
        elements: how many frame elements are drawn at random; all :math:`2^p` sign choices if left out.
        tolerance: largest gap between eigenvalues of one eigenspace.
        generator: source of random bases and signs; unused if all signs are listed and all eigenvalues are simple.

    Shape:
        -> (elements, nodes of all graphs, p)

    Example:
        >>> spectrum = torch.linalg.eigh(torch.tensor([[1.0, -1, 0], [-1, 2, -1], [0, -1, 1]]))
        >>> batch_frame([spectrum], 2).shape, batch_frame([spectrum], 2, elements=3).shape
        (torch.Size([4, 3, 2]), torch.Size([3, 3, 2]))
    """
    if not spectra:
        raise InputError("A frame needs the spectrum of one graph at least, got none")
    return torch.cat([_frame(one, encodings, elements, tolerance, generator) for one in spectra], dim=1)


def sign_choices(columns: int) -> Tensor:
    r"""All of :math:`\{-1, 1\}^p`, (2^p, p) in float64.

    Example:
        >>> sign_choices(2).tolist()
        [[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]]
    """
    if not 0 <= columns <= LARGEST_FULL_FRAME:
        raise InputError(
            f"All sign choices are listed for 0 to {LARGEST_FULL_FRAME} encodings, got {columns}. "
            "Hint: give elements= for a random part of the frame"
        )
    bits = torch.arange(2**columns).unsqueeze(1) >> torch.arange(columns - 1, -1, -1)
    return 1.0 - 2.0 * (bits & 1).double()


def eigenspaces(eigenvalues: Tensor, *, tolerance: float = TOLERANCE) -> list[tuple[int, int]]:
    """The half-open column ranges of equal eigenvalues, in increasing order.

    Example:
        >>> eigenspaces(torch.tensor([0.0, 0.0, 0.5, 1.0]))
        [(0, 2), (2, 3), (3, 4)]
    """
    starts = (eigenvalues.diff() > tolerance).nonzero().flatten() + 1
    return list(pairwise([0, *starts.tolist(), len(eigenvalues)]))


def checked_spectrum(eigenvalues: Tensor, eigenvectors: Tensor) -> tuple[Tensor, Tensor]:
    """The spectrum without gradient in float64 on the CPU, if it is one of all eigenvectors in increasing order."""
    nodes = eigenvalues.numel()
    if not nodes or eigenvalues.shape != (nodes,) or eigenvectors.shape != (nodes, nodes):
        raise ShapeError(
            "A spectrum has eigenvalues (nodes,) and eigenvectors (nodes, nodes), got "
            f"{tuple(eigenvalues.shape)} and {tuple(eigenvectors.shape)}. Hint: torch.linalg.eigh of one graph"
        )
    if not bool((eigenvalues.diff() >= 0).all()) or not bool(eigenvectors.isfinite().all()):
        raise InputError("A spectrum has increasing eigenvalues and finite eigenvectors, as torch.linalg.eigh gives")
    return eigenvalues.detach().cpu().double(), eigenvectors.detach().cpu().double()


def first_encodings(vectors: Tensor, encodings: int) -> Tensor:
    """The columns 1, ..., p of (..., nodes, columns), with zeros for those that are not there."""
    kept = vectors[..., 1 : encodings + 1]
    return nn.functional.pad(kept, (0, encodings - kept.shape[-1]))


def _frame(
    spectrum: tuple[Tensor, Tensor],
    encodings: int,
    elements: int | None,
    tolerance: float,
    generator: torch.Generator | None,
) -> Tensor:
    """The frame of one graph, (elements, nodes, p)."""
    signs = sign_choices(encodings) if elements is None else _random_signs(elements, encodings, generator)
    values, vectors = checked_spectrum(*spectrum)
    needed = [(a, b) for a, b in eigenspaces(values, tolerance=tolerance) if a <= encodings]
    parts = [random_bases(vectors[:, a:b], len(signs), encodings + 1 - a, generator=generator) for a, b in needed]
    return signs.unsqueeze(1) * first_encodings(torch.cat(parts, dim=2), encodings)


def _random_signs(elements: int, columns: int, generator: torch.Generator | None) -> Tensor:
    if elements < 1:
        raise InputError(f"A frame needs one element at least, got elements={elements}")
    return 2.0 * torch.randint(2, (elements, columns), generator=generator, dtype=torch.float64) - 1.0


def random_bases(basis: Tensor, elements: int, columns: int, *, generator: torch.Generator | None = None) -> Tensor:
    """The first columns of uniformly random orthonormal bases of a space, (elements, nodes, columns), given one basis
    (nodes, dimension); a single vector comes back as it is.
    """
    multiplicity = basis.shape[1]
    if multiplicity == 1:
        return basis.expand(elements, -1, -1)
    shape = (elements, multiplicity, min(columns, multiplicity))
    normal = torch.randn(shape, generator=generator, dtype=basis.dtype)
    q, r = torch.linalg.qr(normal)
    return basis @ (q * r.diagonal(dim1=1, dim2=2).sign().unsqueeze(1))
