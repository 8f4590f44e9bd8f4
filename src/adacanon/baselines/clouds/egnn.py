"""Equivariant graph networks on all pairs of points: invariant scalars, or a vector that turns with the cloud."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from adacanon.baselines.clouds.posed import Answers, check_answers
from adacanon.errors import InputError
from adacanon.points.pair_network import real_points


class EGNN(nn.Module):
    r"""Messages that see distances alone, and coordinates that move along differences:

    .. math::
        m_{ij} &= \phi_e(h_i, h_j, |x_i - x_j|^2), \qquad \tilde m_i = \sum_{j \ne i} \sigma(a^\top m_{ij})\, m_{ij} \\
        x_i &\leftarrow x_i + \tfrac{1}{n - 1} \sum_{j \ne i} (x_i - x_j)\, \phi_x(m_{ij}), \qquad
        h_i \leftarrow h_i + \phi_h(h_i, \tilde m_i)

    As its authors describe it: all :math:`\phi` are MLPs of two layers with SiLU, and the scalars of a cloud are an MLP
    of :math:`\sum_i \phi(h_i)`. Coordinates move only for vectors; for scalars the authors keep them where they are.
    The vector of a cloud is the sum of all moves, :math:`\sum_i (x_i^{last} - x_i^{first})`, which is ours: their
    networks return coordinates.

    Args:
        outputs: scalars per cloud; 3 for a vector.
        features: channels of a point.
        width: channels of :math:`h_i` and :math:`m_{ij}`; 128 in the reference.
        layers: 7 in the reference.
        answers: "invariant" for scalars, "vectors" for one vector per cloud.

    Shape:
        points (batch, points, 3), features (batch, points, features), and for padded clouds a mask (batch, points),
        True for real points -> (batch, outputs)

    Example:
        >>> points, elements = torch.randn(4, 9, 3), torch.eye(5)[torch.randint(5, (4, 9))]
        >>> EGNN(1, features=5)(points, elements).shape
        torch.Size([4, 1])

    Reference:
        Satorras, Hoogeboom, Welling, "E(n) Equivariant Graph Neural Networks", ICML 2021.
    """

    def __init__(
        self, outputs: int, *, features: int, width: int = 128, layers: int = 7, answers: Answers = "invariant"
    ) -> None:
        super().__init__()
        check_answers("EGNN", answers)
        if answers == "vectors" and outputs != 3:
            raise InputError(f"EGNN returns one vector of 3 numbers, got outputs={outputs}. Hint: outputs=3")
        self.features, self.answers = features, answers
        self.embedding = nn.Linear(features, width)
        self.layers = nn.ModuleList(EGNNLayer(width, moves=answers == "vectors") for _ in range(layers))
        if answers == "invariant":
            self.of_points, self.head = _mlp(width, width, width), _mlp(width, width, outputs)

    def forward(self, points: Tensor, features: Tensor, mask: Tensor | None = None) -> Tensor:
        real = real_points("EGNN", points, features, mask, channels=self.features)
        same = torch.eye(points.shape[1], dtype=points.dtype, device=points.device)
        others = real.unsqueeze(2) * real.unsqueeze(1) * (1 - same)
        hidden, places = self.embedding(features), points
        for layer in self.layers:
            hidden, places = layer(hidden, places, others)
        if self.answers == "vectors":
            return ((places - points) * real.unsqueeze(2)).sum(1)
        return self.head((self.of_points(hidden) * real.unsqueeze(2)).sum(1))


class EGNNLayer(nn.Module):
    """One round of messages, and if it ``moves`` one of coordinates.

    Shape:
        hidden (batch, points, width), points (batch, points, 3), others (batch, points, points), one for pairs of
        different real points and zero for the rest -> (batch, points, width), (batch, points, 3)

    Example:
        >>> others = 1 - torch.eye(9).expand(4, 9, 9)
        >>> hidden, points = EGNNLayer(16, moves=True)(torch.randn(4, 9, 16), torch.randn(4, 9, 3), others)
        >>> hidden.shape, points.shape
        (torch.Size([4, 9, 16]), torch.Size([4, 9, 3]))
    """

    def __init__(self, width: int, *, moves: bool) -> None:
        super().__init__()
        self.of_one, self.of_other = nn.Linear(width, width), nn.Linear(width, width, bias=False)
        self.of_distance, self.second = nn.Linear(1, width, bias=False), nn.Linear(width, width)
        self.gate = nn.Linear(width, 1)
        self.update = _mlp(2 * width, width, width)
        self.steps = _mlp(width, width, 1) if moves else None

    def forward(self, hidden: Tensor, points: Tensor, others: Tensor) -> tuple[Tensor, Tensor]:
        differences = points.unsqueeze(2) - points.unsqueeze(1)
        squares = differences.square().sum(3, keepdim=True)
        pairs = self.of_one(hidden).unsqueeze(2) + self.of_other(hidden).unsqueeze(1) + self.of_distance(squares)
        messages = functional.silu(self.second(functional.silu(pairs)))
        gates = self.gate(messages).sigmoid() * others.unsqueeze(3)
        received = (gates.mT @ messages).squeeze(2)
        updated = hidden + self.update(torch.cat([hidden, received], 2))
        if self.steps is None:
            return updated, points
        count = others.sum(2, keepdim=True).clamp(min=1)
        steps = self.steps(messages) * others.unsqueeze(3)
        return updated, points + (steps * differences).sum(2) / count


def _mlp(inputs: int, width: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(nn.Linear(inputs, width), nn.SiLU(), nn.Linear(width, outputs))
