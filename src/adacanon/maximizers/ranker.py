"""A light network that says in advance what the network itself would say of a candidate."""

import copy
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.dropout import _DropoutNd

from adacanon.arguments import real_number, whole_number
from adacanon.core.evaluation_mode import in_evaluation_mode
from adacanon.core.landscape import Landscape
from adacanon.core.pytree import Tree
from adacanon.errors import InputError, ShapeError
from adacanon.maximizers.ranker_errors import RankerErrors


class Ranker(nn.Module):
    r"""Estimates :math:`\hat v_d(u) = m_d + s_d\, r_d(\kappa_u(c(g)))` of the values
    :math:`v_d(u) = h_d(f_d(\kappa_u(g)))`, with a light network r on coarse views c(g).

    Because a view moves with its input, the estimate of an anchored candidate does not depend on the pose of the input.
    Numbers :math:`m_d` and :math:`s_d` are mean and spread of the values that it has learned from; ``errors`` says how
    far it is off.

    Families make one of their own (:meth:`~adacanon.core.family.Family.ranker`), :func:`~adacanon.distil` trains it,
    and it is saved with the model.

    Args:
        network: from forms of the view to (pairs, outputs).
        outputs: numbers per candidate: one per class, or a single one for a prior with one shared form.
        size: points or pixels of the view; None for the inputs themselves.
        cost: of an evaluation, as a share of one of the network itself; :func:`~adacanon.distil` counts it.
        scaled: whether its network gives values of the right size as it is; then m = 0 and s = 1 stay.

    Example:
        >>> from adacanon.points import Rotations
        >>> Rotations().ranker(torch.randn(1, 1024, 3), outputs=10).size
        128
        >>> Ranker(nn.Sequential(nn.Flatten(), nn.Linear(12, 3)), outputs=3).size is None
        True
    """

    mean: Tensor
    spread: Tensor
    cost: Tensor
    steps: Tensor

    def __init__(
        self, network: nn.Module, outputs: int, *, size: int | None = None, cost: float = 0.1, scaled: bool = False
    ) -> None:
        super().__init__()
        if not isinstance(network, nn.Module):
            raise InputError(f"A ranker is made of a torch module, got {network!r}. Hint: Ranker(PointNet(10), 10)")
        self.network = network
        self.outputs = whole_number("Ranker", "outputs", outputs, least=1, hint="the number of classes")
        self.size = None if size is None else whole_number("Ranker", "size", size, least=1)
        self.scaled = scaled
        device = next((parameter.device for parameter in network.parameters()), None)
        self.errors = RankerErrors(self.outputs, device=device)
        self.register_buffer("mean", torch.zeros(self.outputs, device=device))
        self.register_buffer("spread", torch.ones(self.outputs, device=device))
        self.register_buffer("cost", torch.tensor(real_number("Ranker", "cost", cost, least=0), device=device))
        self.register_buffer("steps", torch.tensor(0, device=device))

    def extra_repr(self) -> str:
        return f"outputs={self.outputs}, size={self.size}, cost={float(self.cost):.3g}, steps={int(self.steps)}"

    def forward(self, forms: Tree) -> Tensor:
        """Estimates (pairs, outputs) of forms of the view."""
        raw = self.network(forms)
        if not isinstance(raw, Tensor) or raw.dim() != 2 or raw.shape[1] != self.outputs:
            came = tuple(raw.shape) if isinstance(raw, Tensor) else type(raw).__name__
            raise ShapeError(
                f"A ranker for {self.outputs} outputs needs a network that gives (pairs, {self.outputs}), got "
                f"{came}. Hint: one number per class, or one in all for a prior with a shared form"
            )
        return self.mean + self.spread * raw

    def estimates(self, landscape: Landscape, points: Tree) -> Tensor:
        """Of candidates (count, batch, *point), (count, batch, outputs)."""
        with in_evaluation_mode(self) as ranker:
            return landscape.ranked_by(ranker, points, size=self.size, cost=float(self.cost))

    def set_scale(self, values: Tensor) -> None:
        """Take mean and spread from values (n, outputs), unless it is scaled already, or has learned from others."""
        if not self.scaled and not int(self.steps):
            self.mean.copy_(values.mean(0))
            self.spread.copy_(spread_of(values))


def spread_of(values: Tensor) -> Tensor:
    """The deviation of values (n, outputs), one where all are the same."""
    spread = values.std(0, unbiased=False)
    return torch.where(spread > 0, spread, 1.0)


def view_ranker(network: nn.Module, outputs: int, *, size: int) -> Ranker:
    """A copy of the network as a ranker that sees views of ``size`` points or pixels, without dropout.

    It knows the classes already, and has to learn only what a view hides: a few hundred steps do.

    Example:
        >>> from adacanon.points import PointNet
        >>> view_ranker(PointNet(10), 10, size=32).size
        32
    """
    light = copy.deepcopy(network)
    for module in light.modules():
        if isinstance(module, _DropoutNd):
            module.p = 0.0
    return Ranker(light, outputs, size=size, scaled=True)


def check_ranker(owner: str, ranker: Any) -> Ranker:
    """The ranker; anything else is refused."""
    if not isinstance(ranker, Ranker):
        raise InputError(
            f"{owner} needs a Ranker, got {type(ranker).__name__}. "
            "Hint: Ranker(network, outputs=10), or family.ranker(g, outputs=10)"
        )
    return ranker
