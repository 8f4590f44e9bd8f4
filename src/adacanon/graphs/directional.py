"""A directional filter as a node-level A-NLSF with given weights (paper: appendix "Node-Level Anisotropic Nonlinear
Filters").
"""

import torch
from torch import Tensor, nn

from adacanon.core.canonicalized import Canonicalized
from adacanon.core.maximizer import Maximizer
from adacanon.errors import InputError
from adacanon.graphs.bands import Partition
from adacanon.graphs.node_anlsf import NodeFilter
from adacanon.graphs.node_rotations import NodeForms, NodeRotations
from adacanon.graphs.shift_operators import ShiftOperator
from adacanon.maximizers.sample_and_refine import SampleAndRefine
from adacanon.takes import instance, takes, whole


class Alignment(nn.Module):
    r"""The score :math:`\sum_k\sum_{j=1}^J (U_k^\top C_k)_{jj}`: how well row j points along reference channel j.

    By von Neumann's inequality its maximum over :math:`U_k` is the sum of the singular values of the reference
    channels' coefficients, where the first J columns of :math:`V_kU_k` span these channels.
    Its ``filter`` gives back what the J rows keep of the last channel.

    Args:
        bands: B.
        references: J.
    """

    def __init__(self, bands: int, references: int) -> None:
        super().__init__()
        self.references = references
        self.filter = _last_channel(bands * references, references + 1)

    def forward(self, forms: NodeForms) -> Tensor:
        rows = forms.coefficients.unflatten(1, (-1, self.references))[..., : self.references]
        return rows.diagonal(dim1=-2, dim2=-1).sum((1, 2)).unsqueeze(1)


@takes(partition=instance(Partition, "dyadic(3)"), references=whole())
def directional_filter(
    partition: Partition,
    *,
    references: int = 2,
    operator: ShiftOperator = "normalized",
    search: Maximizer | None = None,
) -> Canonicalized:
    r"""The filter :math:`y = \sum_k F_kF_k^\top s`, with :math:`F_k` a frame along reference channels: in every band it
    passes the part of the last channel s that lies in the span of the channels before it, and stops the rest.

    On a torus the waves along x and along y have the same eigenvalue, so that every function of the Laplacian answers
    them alike. This filter does not: given a pair of waves along x for reference, it passes waves along x of any phase
    and stops those along y. There is no way without a reference: the exchange of x and y is a symmetry of the
    torus, and a filter that commutes with permutations of the nodes follows it.

    Where the references span fewer than J dimensions of a band, rows are left over that may pass anything. Keep to
    bands where they span J, ``Partition(..., partial=True)``.

    Args:
        partition: the bands.
        references: channels before the last.
        search: 32 draws and 30 long gradient steps if not given; the score is linear, so that long steps are safe.

    Example:
        >>> from torch_geometric.data import Data
        >>> from adacanon.data.grid_orientation import torus_edges
        >>> from adacanon.graphs import dyadic, directional_filter, node_embeddings
        >>> x, y = torch.cartesian_prod(torch.arange(8), torch.arange(8)).T * torch.pi / 4
        >>> along, across = torch.sin(x + 0.3), torch.sin(y)
        >>> torus = Data(x=torch.stack([x.cos(), x.sin(), along + across], 1), edge_index=torus_edges(8))
        >>> passed = node_embeddings(directional_filter(dyadic(3)).eval(), torus)[:, 0]
        >>> bool((passed - along).norm() < 0.01 * along.norm())
        True
    """
    if references < 1:
        raise InputError(f"A direction needs at least one reference channel, got references={references}")
    family = NodeRotations(partition, references, operator)
    search = SampleAndRefine(candidates=32, steps=30, step_size=1.0) if search is None else search
    return Canonicalized(Alignment(partition.bands, references), family, search)


def _last_channel(rows: int, channels: int) -> NodeFilter:
    """The filter whose new coefficients are those of the last channel."""
    passing = NodeFilter(rows, channels, features=1, layers=1).requires_grad_(False)
    last = torch.arange(channels) == channels - 1
    weight = torch.eye(rows).unsqueeze(-1) * last
    for parameter, value in zip(passing.parameters(), (weight.flatten(1), torch.zeros(rows)), strict=True):
        parameter.copy_(value)
    return passing
