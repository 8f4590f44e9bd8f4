"""Poses from principal axes: alignment and frame averaging, around any network on clouds."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from adacanon.baselines.clouds.posed import Answers, called, check_answers, check_posed, turned, turned_back
from adacanon.points.frames import centred, principal_axes, principal_frames

Frames = Callable[[Tensor, Tensor | None], Tensor]


class PCAAligned(nn.Module):
    r""":math:`X \mapsto f((X - \bar X)A^\top)` with the mean :math:`\bar X` and the principal axes :math:`A(X)` as
    rows, an ordinary canonicalization.

    An axis points to where the cloud reaches farther out, :math:`\sum_i \langle x_i - \bar x, a\rangle^3 \ge 0`, for
    the two axes of the largest variances; the third one makes A a rotation. Invariant wherever variances and cubes
    decide, and with jumps where they cease to: where two variances cross, or a sum of cubes passes zero.

    Args:
        network: f, from points (batch, points, 3), anything else, and perhaps a mask.
        answers: "invariant", or "vectors" for one vector (batch, 3), which is turned back into the pose of the cloud.

    Shape:
        those of the network

    Example:
        >>> PCAAligned(nn.Sequential(nn.Flatten(), nn.Linear(30, 2)))(torch.randn(4, 10, 3)).shape
        torch.Size([4, 2])
    """

    def __init__(self, network: nn.Module, *, answers: Answers = "invariant") -> None:
        super().__init__()
        check_answers("PCAAligned", answers)
        self.network, self.answers = network, answers

    def forward(self, points: Tensor, *others: Tensor, mask: Tensor | None = None) -> Tensor:
        check_posed("PCAAligned", points, others, mask)
        rotations = aligning_rotations(points, mask)
        outputs = called(self.network, turned(around_mean(points, mask), rotations), *others, mask=mask)
        return turned_back(outputs, rotations) if self.answers == "vectors" else outputs


class PCAFrameAveraged(nn.Module):
    r"""The mean of :math:`f((X - \bar X)A^\top)` over the frames A of a cloud, by default the four rotations whose rows
    are principal axes with either sign. As with its authors, clouds are centred, so that translations change nothing
    either. The network sees all frames of all clouds in one batch.

    Invariant wherever the variances differ, and with jumps where two of them cross: there the axes change places. The
    24 rotations with axes in any order are the same set before and after, and their mean does not jump.

    Args:
        network: f, from points (batch, points, 3), anything else, and perhaps a mask.
        frames: from points and mask to rotations (batch, frames, 3, 3).
        answers: "invariant", or "vectors" for one vector (batch, 3), which is turned back into the pose of the cloud.

    Shape:
        those of the network

    Example:
        >>> PCAFrameAveraged(nn.Sequential(nn.Flatten(), nn.Linear(30, 2)))(torch.randn(4, 10, 3)).shape
        torch.Size([4, 2])

    Reference:
        Puny et al., "Frame Averaging for Invariant and Equivariant Network Design", ICLR 2022.
    """

    def __init__(
        self, network: nn.Module, frames: Frames = principal_frames, *, answers: Answers = "invariant"
    ) -> None:
        super().__init__()
        check_answers("PCAFrameAveraged", answers)
        self.network, self.frames, self.answers = network, frames, answers

    def forward(self, points: Tensor, *others: Tensor, mask: Tensor | None = None) -> Tensor:
        check_posed("PCAFrameAveraged", points, others, mask)
        frames = self.frames(points, mask)
        forms, count = turned(around_mean(points, mask).unsqueeze(1), frames), frames.shape[1]
        repeated = [x.repeat_interleave(count, 0) for x in others]
        masks = None if mask is None else mask.repeat_interleave(count, 0)
        outputs = called(self.network, forms.flatten(0, 1), *repeated, mask=masks)
        if self.answers == "vectors":
            outputs = turned_back(outputs, frames.flatten(0, 1))
        return outputs.unflatten(0, (-1, count)).mean(1)


def around_mean(points: Tensor, mask: Tensor | None = None) -> Tensor:
    """Clouds around their means; padding is zero."""
    return centred(points, mask).to(points.dtype)


@torch.no_grad()
def aligning_rotations(points: Tensor, mask: Tensor | None = None) -> Tensor:
    """The rotations A of :class:`PCAAligned`, (batch, 3, 3).

    Example:
        >>> rotations = aligning_rotations(torch.randn(4, 10, 3))
        >>> rotations.shape, torch.linalg.det(rotations).round().tolist()
        (torch.Size([4, 3, 3]), [1.0, 1.0, 1.0, 1.0])
    """
    axes = principal_axes(points, mask)
    cubes = (centred(points, mask) @ axes.mT).pow(3).sum(1)
    signs = torch.where(cubes < 0, -1.0, 1.0).to(axes.dtype)
    signs[:, 0] = signs[:, 1] * signs[:, 2]
    return (signs.unsqueeze(2) * axes).to(points.dtype)
