"""Chairs of the test part before and after canonicalization (paper: appendix "Canonicalized Point Clouds")."""

import math

import torch
from torch import Tensor

from adacanon.core import Canonicalized
from adacanon.errors import InputError
from adacanon.experiments.clouds import modelnet, rotated_clouds
from adacanon.experiments.clouds.stability import AT_RANDOM
from adacanon.points.rotations import rotations_about
from adacanon.reports.gallery import Gallery
from adacanon.runs.run import Run
from adacanon.spaces import SO3
from adacanon.training.loop import TrainingControl

METHOD, KIND, COUNT, SHOWN = "AC-PointNet (paper)", "chair", 20, 1024
"""The method, the class, how many of its shapes, and of how many points they are drawn."""


def gallery(
    run: Run, control: TrainingControl, *, kind: str | None = None, count: int = COUNT, shown: int = SHOWN
) -> Gallery:
    """Random test shapes of a class, and the forms that the network of a run of `modelnet` chooses for that class."""
    options, kind = run.options(), kind or KIND
    data = rotated_clouds.modelnet(options["classes"], options["points"])
    if kind not in data.class_names:
        raise InputError(f"Classes are {', '.join(data.class_names)}; got {kind!r}")
    label = data.class_names.index(kind)
    learner, clouds = modelnet.kept_or_trained(run, control)
    model, rotated = learner.module.eval(), clouds.points[clouds.split.test]
    assert isinstance(model, Canonicalized)
    all_of_kind = (data.test.labels == label).nonzero().flatten()
    order = torch.randperm(len(all_of_kind), generator=torch.Generator().manual_seed(0))
    chosen = all_of_kind[order[:count]]
    rotations = model.canonicalize(rotated[chosen]).parameters[:, label]
    poses = poses_of(data.test.points[chosen], rotated[chosen])
    upright = rotated_clouds.modelnet(options["classes"], shown).test.points[chosen]
    heights = upright[..., 1]
    lowest, highest = heights.amin(1, keepdim=True), heights.amax(1, keepdim=True)
    return Gallery(
        title=f"{len(chosen)} test {kind}s and the forms that {METHOD} gives them",
        lead=f"One panel shows {kind}s in random poses. In the other each is rotated into the pose in which the "
        f"trained network is most confident of a {kind}; which pose that is, nobody has told it. Colours are heights "
        f"over the floor, which the network does not see.",
        clouds=upright @ poses.mT,
        rotations=rotations,
        shades=(heights - lowest) / (highest - lowest).clamp(min=1e-9),
        camera=camera(rotations @ poses),
        before=f"{apart(poses)} (at random: {AT_RANDOM:.0f}° and 90°)",
        after=apart(rotations @ poses),
        legend=("floor", "top"),
    )


def poses_of(upright: Tensor, rotated: Tensor) -> Tensor:
    """The rotations P with :math:`Y = XP^\\top`: (clouds, points, 3) each -> (clouds, 3, 3)."""
    return SO3().project((rotated.mT @ upright).double()).to(rotated)


def apart(orientations: Tensor) -> str:
    """How much orientations differ, for people."""
    return f"{spread(orientations):.0f}° apart on average, their upward directions {tilt(orientations):.0f}°"


def spread(rotations: Tensor) -> float:
    """The mean geodesic distance of two of them, in degrees."""
    first, second = torch.triu_indices(len(rotations), len(rotations), 1)
    distances = SO3().distance(rotations[first].double(), rotations[second].double())
    return math.degrees(float(distances.mean()))


def tilt(rotations: Tensor) -> float:
    """The mean angle between the upward directions of two shapes that are rotated by them, in degrees."""
    upward = rotations[:, :, 1].double()
    first, second = torch.triu_indices(len(rotations), len(rotations), 1)
    cosines = (upward[first] * upward[second]).sum(1).clamp(-1, 1)
    return math.degrees(float(cosines.acos().mean()))


def camera(orientations: Tensor) -> Tensor:
    """Rotations (clouds, 3, 3) take upright shapes to their forms: the camera that shows an average one upright, from
    the right and above.
    """
    mean = SO3().project(orientations.double().mean(0))
    angles = torch.tensor([0.45, -0.6], dtype=torch.float64)
    above, right = rotations_about((1, 0, 0), angles[:1])[0], rotations_about((0, 1, 0), angles[1:])[0]
    return (above @ right @ mean.mT).to(orientations)
