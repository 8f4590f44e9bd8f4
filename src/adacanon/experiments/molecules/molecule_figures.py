"""The figures of a network on molecules: errors, how far it is from the symmetry, and what it costs."""

import time
import warnings
from functools import partial

import torch
from torch import Tensor, nn

from adacanon.core import Canonicalized
from adacanon.errors import UndeterminedWarning
from adacanon.experiments.molecules.rotated_molecules import RotatedMolecules, distances, moved
from adacanon.points.frames import axes_determined, centred
from adacanon.training.learner import Inputs, Learner
from adacanon.training.smoke import at_most
from adacanon.training.timing import medians

CLOSE = 1e-3
"""Two variances that differ by less than this share of the larger one determine the axes badly: rounding of the
positions turns them by up to a thousand times its size."""

REPETITIONS = 5


def errors(learner: Learner, data: RotatedMolecules, *, batch: int) -> dict[str, float]:
    """How wrong the answers for tested molecules are, and how much they depend on the pose.

    Returns:
        "error" for molecules in random poses and "upright" as they come, in the unit of the target. "equivariance", the
        mean difference between the answer for a turned molecule and the turned answer, in units of the target's spread,
        over all molecules whose principal axes are determined; the largest such difference, "largest_close" where two
        variances are close and "largest" elsewhere. "undetermined" and "close" count molecules without determined axes
        and with close variances.
    """
    index = data.split.test
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UndeterminedWarning)  # they are counted
        begin = time.perf_counter()
        answers = answered(learner.module, data.turned_inputs, index, batch=batch)
        seconds = time.perf_counter() - begin
        upright = answered(learner.module, data.inputs, index, batch=batch)
    changes = distances(answers, moved(upright, data.poses_of(index), vectors=data.vectors))
    determined, close = determined_and_close(data.molecules.positions[index], data.molecules.mask[index])
    return {
        "error": data.spread * float(distances(answers, data.turned_labels(index)).mean()),
        "upright": data.spread * float(distances(upright, data.labels[index]).mean()),
        "equivariance": float(changes[determined].mean()),
        "largest": _largest(changes[determined & ~close]),
        "largest_close": _largest(changes[determined & close]),
        "undetermined": float((~determined).sum()),
        "close": float((determined & close).sum()),
        "test_seconds": seconds,
    }


@torch.no_grad()
def effective_forms(module: nn.Module, data: RotatedMolecules, *, batch: int) -> dict[str, float]:
    """How many forms share the weight of a blended answer, on average over tested molecules; nothing for others."""
    if not isinstance(module, Canonicalized):
        return {}
    numbers = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UndeterminedWarning)
        for rows in data.split.test.split(batch):
            found = module.eval().canonicalize(*data.inputs(rows))
            assert found.effective_forms is not None
            numbers.append(found.effective_forms)
    return {"effective_forms": float(torch.cat(numbers).mean())}


def determined_and_close(positions: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Which molecules have principal axes of their own, and in which two variances are close to each other."""
    x = centred(positions, mask)
    variances = torch.linalg.eigvalsh(x.mT @ x)
    gaps = variances.diff(dim=1) / variances[:, 1:].clamp(min=torch.finfo(variances.dtype).tiny)
    return axes_determined(positions, mask), gaps.amin(1) < CLOSE


@torch.no_grad()
def answered(module: nn.Module, inputs: Inputs, index: Tensor, *, batch: int) -> Tensor:
    """The answers of a module in evaluation mode, (molecules, 1 or 3)."""
    module.eval()
    return torch.cat([module(*inputs(rows)) for rows in index.split(batch)])


def costs(learner: Learner, reference: Learner, index: Tensor) -> dict[str, float]:
    """A training step and an evaluation on some molecules, in those of the plain network. Time of the processor is
    compared, which others on the same machine do not change much.
    """
    rows = {"own": learner, "plain": reference}
    found = {}
    for name, action in (("step", _step), ("evaluation", _evaluation)):
        times = medians(
            {row: partial(action, of, index) for row, of in rows.items()},
            repetitions=at_most(REPETITIONS, 1),
            clock=time.process_time,
        )
        found[f"{name}_passes"] = times["own"] / times["plain"]
    return found


def _step(learner: Learner, index: Tensor) -> None:
    learner.module.train()
    learner.loss(index).backward()
    learner.module.zero_grad()


def _evaluation(learner: Learner, index: Tensor) -> None:
    answered(learner.module, learner.inputs, index, batch=len(index))


def _largest(changes: Tensor) -> float:
    return float(changes.max()) if len(changes) else 0.0
