"""Small cases for the theorems: networks, families, a path on which principal axes cross, and the laws as checks."""

from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor, nn

from adacanon import Canonicalized
from adacanon.core import Family, Maximizer, Prior
from adacanon.points import Rotations, principal_frames
from adacanon.points.rotations import rotations_about
from adacanon.spaces import SO3

Function = Callable[[Tensor], Tensor]


def stream(seed: int) -> torch.Generator:
    """A generator of its own for every draw, so that no test depends on another."""
    return torch.Generator().manual_seed(seed)


class CloudNetwork(nn.Module):
    r"""A smooth multiset function :math:`W \tanh(V \operatorname{mean}_n \phi(x_n))` without rotational symmetry."""

    def __init__(self, seed: int, classes: int = 4, width: int = 16, gain: float = 1.5) -> None:
        super().__init__()
        shapes = [(3, width), (width, width), (width, classes)]
        draws = stream(seed)
        self.weights = [gain * torch.randn(a, b, generator=draws, dtype=torch.float64) / a**0.5 for a, b in shapes]
        self.shift = torch.randn(width, generator=draws, dtype=torch.float64)

    def forward(self, clouds: Tensor) -> Tensor:
        inner, middle, outer = self.weights
        features = torch.sin(clouds @ inner + self.shift).mean(-2)
        return torch.tanh(features @ middle * 3) @ outer


def kinked_network(seed: int) -> Function:
    """A small PointNet: ReLU and a maximum over the points, continuous with a discontinuous gradient."""
    draws = stream(seed)
    inner, middle, outer = (torch.randn(a, b, generator=draws).double() for a, b in ((3, 16), (16, 32), (32, 4)))
    return lambda clouds: ((clouds @ inner).relu() @ middle).amax(-2).relu() @ outer


def canonicalized(
    network: Function, search: Maximizer, family: Family | None = None, prior: Prior | None = None
) -> Canonicalized:
    r""":math:`f \circ \rho_f` in evaluation mode: one fixed candidate set for all inputs."""
    return Canonicalized(network, Rotations() if family is None else family, search, prior=prior).eval()


def pca_canonicalized(network: Function) -> Function:
    r"""Ordinary canonicalization: :math:`f` on the principal frame, its signs fixed by third moments."""

    def aligned(clouds: Tensor) -> Tensor:
        centred = clouds - clouds.mean(1, keepdim=True)
        upright = centred @ principal_frames(clouds)[:, 0].mT
        signs = upright.pow(3).sum(1).sign()
        proper = torch.cat([signs[:, :2], signs[:, :2].prod(1, keepdim=True)], dim=1)
        return network(upright * proper.unsqueeze(1))

    return aligned


def random_clouds(count: int, points: int = 12, *, seed: int = 0) -> Tensor:
    """Anisotropic Gaussian clouds, each in its own random pose."""
    draws = stream(seed)
    scales = torch.tensor([1.0, 0.7, 0.4], dtype=torch.float64)
    upright = torch.randn(count, points, 3, generator=draws, dtype=torch.float64) * scales
    return upright @ SO3().sample(count, generator=draws).mT


def crossing_path(steps: int, *, points: int = 12, seed: int = 0) -> Tensor:
    r"""Clouds :math:`Z\,\mathrm{diag}(1+t, 1-t, 1/2)` for t from -0.2 to 0.2, with :math:`Z^\top Z = nI`.

    The two largest variances are equal at t = 0: there the principal axes change places, while the cloud itself moves
    smoothly. The grid is shifted by a third of a step, so that no cloud lies on the crossing.
    """
    t = _times(steps)
    return _stretched(t, torch.zeros_like(t), points=points, seed=seed)


def bent_path(steps: int) -> Tensor:
    """A path that comes to the same crossing and leaves it in another direction: there it has a corner, and the
    principal axes turn by 45 degrees.
    """
    t = _times(steps)
    return _stretched(t.clamp(max=0), t.clamp(min=0))


def symmetric_clouds(count: int, points: int = 12) -> Tensor:
    """Clouds of four copies that quarter turns about an axis permute: two of the variances are equal."""
    turns = rotations_about((0, 0, 1), torch.arange(4, dtype=torch.float64) * torch.pi / 2)
    quarters = random_clouds(count, points // 4)
    poses = SO3().sample(count, generator=stream(1))
    return torch.cat([quarters @ turn.mT for turn in turns], 1) @ poses.mT


def stretched_cloud(amount: float, towards: Literal["axis", "diagonal"]) -> Tensor:
    """The cloud of the crossing, stretched a little along an axis or along the diagonal of its equal axes."""
    a, zero = torch.full((1,), amount, dtype=torch.float64), torch.zeros(1, dtype=torch.float64)
    return _stretched(*((a, zero) if towards == "axis" else (zero, a)))


def _times(steps: int) -> Tensor:
    return torch.linspace(-0.2, 0.2, steps + 1, dtype=torch.float64) + 0.4 / (3 * steps)


def _stretched(a: Tensor, b: Tensor, *, points: int = 12, seed: int = 0) -> Tensor:
    r"""Clouds ZM with :math:`M = \begin{pmatrix} 1+a & b \\ b & 1-a\end{pmatrix} \oplus 1/2`."""
    z = torch.randn(points, 3, generator=stream(seed), dtype=torch.float64)
    z = torch.linalg.qr(z - z.mean(0)).Q * points**0.5
    m = 0.5 * torch.eye(3, dtype=torch.float64).repeat(len(a), 1, 1)
    m[:, 0, 0], m[:, 1, 1], m[:, 0, 1], m[:, 1, 0] = 1 + a, 1 - a, b, b
    return z @ m


def largest_change(function: Function, path: Tensor) -> float:
    """The largest change of any output between consecutive points of a path."""
    return function(path).diff(dim=0).abs().max().item()


def shrinks_with_the_step(
    function: Function, path: Callable[[int], Tensor], *, steps: int = 64, halvings: int = 5
) -> bool:
    """Whether the largest change along a path goes to zero in proportion to the step (up to a factor of 3/2)."""
    coarse = largest_change(function, path(steps))
    fine = largest_change(function, path(steps * 2**halvings))
    return fine <= 1.5 * coarse / 2**halvings


def largest_difference(a: Tensor, b: Tensor) -> float:
    """The sup norm of a difference of outputs."""
    return (a - b).abs().max().item()


def spread(outputs: Tensor) -> float:
    """Standard deviation of an output over inputs, averaged over outputs."""
    return outputs.std(0).mean().item()


def invariance_error(function: Function, clouds: Tensor, *, rotations: int = 8, seed: int = 77) -> float:
    """Mean change of the outputs when inputs are rotated, in units of their spread over inputs."""
    outputs = function(clouds)
    turned = [function(clouds @ r.mT) for r in SO3().sample(rotations, generator=stream(seed))]
    change = torch.stack([(other - outputs).abs().mean() for other in turned]).mean()
    return change.item() / spread(outputs)
