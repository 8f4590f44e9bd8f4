"""Models with one deliberate fault each in the handling of devices, all of which give right answers on the CPU."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from adacanon import Canonicalized, RandomSearch
from adacanon.points import Rotations
from cases.on_any_device.case import CLASSES, Case, of_model, of_network
from cases.on_any_device.families import cloud_network, clouds


@dataclass(frozen=True)
class MakesATensor(Rotations):
    """On the CPU, wherever the clouds are."""

    def transform(self, g: Tensor, u: Tensor, owner: Tensor) -> Tensor:
        return super().transform(g, u, owner) @ torch.eye(3)


@dataclass(frozen=True)
class ComputesOnTheCPU(Rotations):
    """And brings the forms back."""

    def transform(self, g: Tensor, u: Tensor, owner: Tensor) -> Tensor:
        return super().transform(g.cpu(), u.cpu(), owner.cpu()).to(g.device)


@dataclass(frozen=True)
class ComputesWithNumpy(Rotations):
    """As if all tensors were on the CPU."""

    def transform(self, g: Tensor, u: Tensor, owner: Tensor) -> Tensor:
        return super().transform(g, torch.as_tensor(u.detach().numpy()), owner)


@dataclass(frozen=True)
class ReadsNumbers(Rotations):
    """Of all transformations, for Python."""

    def transform(self, g: Tensor, u: Tensor, owner: Tensor) -> Tensor:
        return super().transform(g, torch.tensor(u.tolist(), dtype=u.dtype, device=u.device), owner)


@dataclass(frozen=True)
class IndexesFromTheCPU(Rotations):
    """What torch allows, with a copy at every call."""

    def transform(self, g: Tensor, u: Tensor, owner: Tensor) -> Tensor:
        return super().transform(g, u, owner)[torch.arange(len(owner))]


@dataclass(frozen=True)
class IndexesWithAList(Rotations):
    """The same without a tensor in sight."""

    def transform(self, g: Tensor, u: Tensor, owner: Tensor) -> Tensor:
        return super().transform(g, u, owner)[list(range(len(owner)))]


@dataclass(frozen=True)
class DrawsOnTheDevice(Rotations):
    """With a generator of the CPU."""

    def transform(self, g: Tensor, u: Tensor, owner: Tensor) -> Tensor:
        noise = torch.zeros(1, device=g.device).normal_(generator=torch.Generator().manual_seed(0))
        return super().transform(g, u, owner) + 0 * noise


@dataclass(frozen=True)
class DiffersElsewhere(Rotations):
    """A fast way for other devices that is wrong."""

    def transform(self, g: Tensor, u: Tensor, owner: Tensor) -> Tensor:
        return super().transform(g if g.device.type == "cpu" else 1.1 * g, u, owner)


class KeepsATensor(nn.Module):
    """That is no buffer, and stays where it was made."""

    def __init__(self) -> None:
        super().__init__()
        self.linear, self.scale = nn.Linear(3, CLASSES), torch.ones(CLASSES)

    def forward(self, points: Tensor) -> Tensor:
        return self.linear(points) * self.scale


class AnswersOnTheCPU(nn.Module):
    """Whoever asks."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, CLASSES)

    def forward(self, points: Tensor) -> Tensor:
        return self.linear(points).cpu()


def _searched(family: Rotations) -> Case:
    return of_model(lambda: Canonicalized(cloud_network(), family, RandomSearch(3)), clouds)


WRONG: dict[str, Case] = {
    **{
        f"wrong {family.__name__}": _searched(family())
        for family in (
            MakesATensor,
            ComputesOnTheCPU,
            ComputesWithNumpy,
            ReadsNumbers,
            IndexesFromTheCPU,
            IndexesWithAList,
            DrawsOnTheDevice,
            DiffersElsewhere,
        )
    },
    **{
        f"wrong {network.__name__}": of_network(network, lambda: (clouds(),))
        for network in (KeepsATensor, AnswersOnTheCPU)
    },
}
