"""Vectors that turn with the cloud, for networks that look at them in a pose of their own choice."""

from collections.abc import Sequence
from itertools import pairwise

from torch import Tensor, nn

from adacanon.baselines.clouds.vector_neurons import VNLayer
from adacanon.baselines.clouds.vn_networks import edge_features
from adacanon.errors import InputError
from adacanon.points.rows import checked_rows


class VNFeatures(nn.Module):
    r"""Vectors :math:`V_i(X)` of every point with :math:`V_i(XR^\top) = V_i(X)R^\top`: a vector-neuron layer on the k
    nearest neighbours, and further ones on the points.

    A family of rotations takes them for points of several vectors. So a canonicalization may stand behind any number of
    equivariant layers instead of before them (paper: the remark on vector-valued representations)::

        encoder = VNFeatures(widths=(21, 21))
        head = Canonicalized(PointNet(10, channels=63), Rotations(vectors=21))
        model = nn.Sequential(encoder, head)

    Args:
        k: neighbours, the point itself included.
        widths: vector channels of the layers, the last one of the answer.

    Shape:
        points (batch, points, 3), and for padded clouds a mask (batch, points), True for real points
        -> (batch, points, 3 * widths[-1]), the numbers of a vector side by side, zero for padding

    Example:
        >>> import torch
        >>> VNFeatures(k=8, widths=(4, 6))(torch.randn(2, 32, 3)).shape
        torch.Size([2, 32, 18])
    """

    def __init__(self, *, k: int = 20, widths: Sequence[int] = (21, 21)) -> None:
        super().__init__()
        if not widths or k < 1:
            raise InputError(f"VNFeatures needs at least one layer and one neighbour, got {tuple(widths)} and k={k}")
        self.k = k
        self.edges = VNLayer(3, widths[0], slope=0)
        self.layers = nn.Sequential(*(VNLayer(a, b, slope=0) for a, b in pairwise(widths)))

    def forward(self, points: Tensor, mask: Tensor | None = None) -> Tensor:
        rows = checked_rows("VNFeatures", points, mask, channels=3, least=self.k)
        vectors = self.layers(edge_features(self.edges, rows, rows.of(points), self.k))
        return rows.padded(vectors.permute(1, 2, 0).flatten(1))
