"""A network on small clouds whose points carry features: messages between all pairs of points."""

import torch
from torch import Tensor, nn

from adacanon.errors import InputError, ShapeError
from adacanon.points.checks import check_clouds, check_mask
from adacanon.takes import takes, whole

SIZE = 5.0
"""By which the sum over the points of a cloud is divided, so that an untrained network has answers of moderate size."""


class PairNetwork(nn.Module):
    r""":math:`f(X, A) = \xi\bigl(\sum_i h_i\bigr)` with :math:`h_i \leftarrow h_i + \phi\bigl(\sum_j \sum_k
    w_k(x_j - x_i)\, W_k h_j\bigr)` in every layer, from :math:`h_i = W a_i` with the features :math:`a_i` of point i.

    The filters :math:`w_k` are MLPs of the raw difference of two points. So the network does not see where a cloud
    stands, but it does see how the cloud is turned. It is meant for clouds of a few dozen points, such as molecules
    with the elements of their atoms as features; :math:`\phi` has a
    layer normalization, and there is neither batch normalization nor dropout.

    Args:
        outputs: numbers per cloud.
        features: channels of :math:`a_i`.
        width: channels of :math:`h_i`.
        filters: K, the number of filters in a layer.
        layers: rounds of messages.
        hidden: width of the MLP of the filters.

    Shape:
        points (batch, points, 3), features (batch, points, features), and for padded clouds a mask (batch, points),
        True for real points -> (batch, outputs)

    Example:
        >>> points, elements = torch.randn(4, 9, 3), torch.eye(5)[torch.randint(5, (4, 9))]
        >>> PairNetwork(2, features=5)(points, elements).shape
        torch.Size([4, 2])
    """

    @takes(outputs=whole(), features=whole(), width=whole(), filters=whole(), layers=whole(), hidden=whole())
    def __init__(
        self, outputs: int, *, features: int, width: int = 64, filters: int = 8, layers: int = 3, hidden: int = 32
    ) -> None:
        super().__init__()
        if min(outputs, features, width, filters, layers, hidden) < 1:
            raise InputError(
                "PairNetwork needs at least one output, feature, channel, filter and layer, got "
                f"outputs={outputs}, features={features}, width={width}, filters={filters}, layers={layers}, "
                f"hidden={hidden}"
            )
        self.features, self.filters = features, filters
        self.embedding = nn.Linear(features, width)
        self.of_differences = nn.Sequential(
            nn.Linear(3, hidden), nn.SiLU(), nn.Linear(hidden, hidden), nn.SiLU(), nn.Linear(hidden, filters * layers)
        )
        self.updates = nn.ModuleList(_update(filters * width, width) for _ in range(layers))
        self.head = nn.Sequential(nn.Linear(width, width), nn.SiLU(), nn.Linear(width, outputs))

    def forward(self, points: Tensor, features: Tensor, mask: Tensor | None = None) -> Tensor:
        real = real_points("PairNetwork", points, features, mask, channels=self.features)
        hidden = self.embedding(features)
        for weights, update in zip(self._weights(points, real).unbind(1), self.updates, strict=True):
            messages = weights.flatten(1, 2) @ hidden
            hidden = hidden + update(messages.unflatten(1, (-1, self.filters)).flatten(2))
        return self.head((hidden * real.unsqueeze(2)).sum(1) / SIZE)

    def _weights(self, points: Tensor, real: Tensor) -> Tensor:
        """The filters of all pairs, (batch, layers, points, filters, points); those of padding are zero."""
        cloud, one, other = (real.unsqueeze(2) * real.unsqueeze(1)).nonzero(as_tuple=True)
        found = self.of_differences(points[cloud, other] - points[cloud, one])
        batch, count = real.shape
        weights = found.new_zeros(batch, len(self.updates), count, self.filters, count)
        weights[cloud, :, one, :, other] = found.unflatten(1, (len(self.updates), self.filters))
        return weights


def real_points(caller: str, points: Tensor, features: Tensor, mask: Tensor | None, *, channels: int) -> Tensor:
    """One for real points and zero for padding, (batch, points), after a check of what a network was given."""
    check_clouds(caller, points, 3, mask=mask)
    if not isinstance(features, Tensor) or features.shape != (*points.shape[:2], channels):
        came = tuple(features.shape) if isinstance(features, Tensor) else type(features).__name__
        raise ShapeError(
            f"{caller} expects features of shape {(*points.shape[:2], channels)}, a row for every point, got {came}. "
            "Hint: network(points, features, mask=mask)"
        )
    if mask is None:
        return torch.ones_like(points[..., 0])
    check_mask(caller, mask, points)
    return mask.to(points.dtype)


def _update(messages: int, width: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(messages, width), nn.LayerNorm(width), nn.SiLU(), nn.Linear(width, width))
