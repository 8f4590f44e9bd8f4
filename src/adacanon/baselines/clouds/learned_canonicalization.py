"""CN-PointNet and CN-DGCNN: a pose that a small equivariant network predicts from the input."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from adacanon.baselines.clouds.posed import called, check_posed, turned
from adacanon.baselines.clouds.vector_neurons import VNLayer
from adacanon.baselines.clouds.vn_networks import edge_features, mean_of_clouds
from adacanon.points.dgcnn import DGCNN
from adacanon.points.pointnet import PointNet
from adacanon.points.rows import checked_rows

DEGENERATE = 1e-3
"""Vectors shorter than this, relative to the largest coordinate of the three, have no direction."""


class FrameNetwork(nn.Module):
    r"""Three vectors :math:`V(X)` that turn with the cloud, :math:`V(XR^\top) = V(X)R^\top`: a vector-neuron layer on
    the k nearest neighbours of every point, two on the points, and the mean over the points.

    Taken from the authors' code: the layers and their 21 channels. Not taken: the dropout of single coordinates, which
    breaks the equivariance in training, a second normalization in a row, and a fourth vector that is thrown away.

    Args:
        k: neighbours, the point itself included.
        channels: vector channels of the hidden layers.

    Shape:
        points (batch, points, 3), and for padded clouds a mask (batch, points) -> (batch, 3, 3), vectors as rows

    Example:
        >>> FrameNetwork(k=8)(torch.randn(4, 32, 3)).shape
        torch.Size([4, 3, 3])
    """

    def __init__(self, *, k: int = 20, channels: int = 21) -> None:
        super().__init__()
        self.k = k
        self.edges, self.points = VNLayer(3, channels, slope=0), VNLayer(channels, channels, slope=0)
        self.vectors = VNLayer(channels, 3, slope=0)

    def forward(self, points: Tensor, mask: Tensor | None = None) -> Tensor:
        rows = checked_rows("FrameNetwork", points, mask, channels=3, least=self.k)
        vectors = self.vectors(self.points(edge_features(self.edges, rows, rows.of(points), self.k)))
        return mean_of_clouds(vectors, rows).permute(1, 2, 0)


class LearnedCanonicalization(nn.Module):
    r""":math:`X \mapsto f(XR^\top)` with the rotation :math:`R(X)` that :func:`proper_rotations` makes of the vectors
    of a :class:`FrameNetwork`; both networks are trained together.

    Invariant wherever the vectors have directions.

    Args:
        network: f, from points (batch, points, 3), anything else, and perhaps a mask.
        k: neighbours that the predictor looks at.
        channels: vector channels of the predictor.

    Shape:
        those of the network

    Example:
        >>> model = LearnedCanonicalization(PointNet(10), k=8)
        >>> clouds = torch.randn(4, 32, 3)
        >>> model(clouds).shape, model.rotations(clouds).shape
        (torch.Size([4, 10]), torch.Size([4, 3, 3]))

    Reference:
        Kaba, Mondal, Zhang, Bengio & Ravanbakhsh, "Equivariance with Learned Canonicalization Functions", ICML 2023.
    """

    def __init__(self, network: nn.Module, *, k: int = 20, channels: int = 21) -> None:
        super().__init__()
        self.network, self.predictor = network, FrameNetwork(k=k, channels=channels)

    def forward(self, points: Tensor, *others: Tensor, mask: Tensor | None = None) -> Tensor:
        check_posed("LearnedCanonicalization", points, others, mask)
        if mask is not None:  # padding may be anything, and would enter the derivatives by the rotation
            points = points.masked_fill(~mask.unsqueeze(2), 0)
        return called(self.network, turned(points, self.rotations(points, mask)), *others, mask=mask)

    def rotations(self, points: Tensor, mask: Tensor | None = None) -> Tensor:
        """R (batch, 3, 3); never in reduced precision."""
        with torch.autocast(points.device.type, enabled=False):
            return proper_rotations(self.predictor(points, mask))


def cn_pointnet(classes: int, *, k: int = 20) -> LearnedCanonicalization:
    """CN-PointNet, with the published sizes.

    Example:
        >>> cn_pointnet(10)(torch.randn(4, 64, 3)).shape
        torch.Size([4, 10])
    """
    return LearnedCanonicalization(PointNet(classes), k=k)


def cn_dgcnn(classes: int, *, k: int = 20) -> LearnedCanonicalization:
    """CN-DGCNN, with the published sizes and k neighbours in both networks.

    Example:
        >>> cn_dgcnn(10)(torch.randn(4, 64, 3)).shape
        torch.Size([4, 10])
    """
    return LearnedCanonicalization(DGCNN(classes, k=k), k=k)


def proper_rotations(vectors: Tensor) -> Tensor:
    r"""Gram-Schmidt with determinant +1: :math:`u_1 \propto v_1,\; u_2 \propto v_2 - \langle v_2, u_1\rangle u_1,\;
    u_3 = u_1 \times u_2`, as rows.

    The third row cannot be chosen, so :math:`v_3` is a spare: it is taken where one of the others has no direction of
    its own (is too short, or parallel to the first). Where it has none either, an axis of the coordinate system is
    taken: the answer is always a rotation with finite derivatives, but only directions of the vectors turn with them.

    Shape:
        (batch, 3, 3), vectors as rows -> (batch, 3, 3)

    Example:
        >>> proper_rotations(torch.tensor([[[2.0, 0.0, 0.0], [1.0, 3.0, 0.0], [0.0, 0.0, -1.0]]]))[0].tolist()
        [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    largest = vectors.detach().abs().amax((1, 2), keepdim=True).clamp(min=torch.finfo(vectors.dtype).tiny ** 0.5)
    axes = torch.eye(3, dtype=vectors.dtype, device=vectors.device).expand_as(vectors)
    candidates = torch.cat([vectors / largest, axes], 1)
    first = _first_direction(candidates)
    across = candidates - (candidates @ first.unsqueeze(2)) * first.unsqueeze(1)
    second = _first_direction(across[:, 1:])
    rest = (second * first).sum(1, keepdim=True)  # what rounding has left of the first, if they are nearly parallel
    second = functional.normalize(second - rest * first, dim=1)
    return torch.stack([first, second, torch.linalg.cross(first, second)], 1)


def _first_direction(candidates: Tensor) -> Tensor:
    """The first of the candidates (batch, m, 3) that is not degenerate, normalised."""
    chosen = (candidates.detach().norm(dim=2) > DEGENERATE).int().argmax(1)
    return functional.normalize(candidates[torch.arange(len(chosen), device=chosen.device), chosen], dim=1, eps=0)
