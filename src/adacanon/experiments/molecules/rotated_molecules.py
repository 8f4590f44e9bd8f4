"""Networks on molecules in random poses: what a training sees, and what it is tested on."""

from dataclasses import dataclass, replace
from functools import lru_cache

import torch
from torch import Tensor, nn

from adacanon.data.qm9 import QM9, Molecules, load_qm9
from adacanon.spaces import SO3
from adacanon.training.learner import HasLoss, Learner
from adacanon.training.loop import DataSplit
from adacanon.training.smoke import shortened

Form = tuple[Tensor, Tensor, Tensor]
"""Positions, types and mask of some molecules: one argument of a network, and what a family transforms."""

VECTORS = frozenset({"dipole"})
"""Targets that turn with the molecule; the others are scalars."""


class OnMolecules(nn.Module):
    """A network of positions, types and a mask, called with a form.

    The mask goes by its name, as the wrappers of networks on clouds want it.
    """

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, form: Form) -> Tensor:
        positions, types, mask = form
        return self.network(positions, types, mask=mask)


@dataclass(frozen=True)
class RotatedMolecules:
    """Training molecules as they come and tested molecules after them, as they come and turned.

    Attributes:
        molecules: all of them, as they come.
        labels: the target in units of its spread: (molecules, 1), with mean zero on the training part, or
            (molecules, 3) for vectors, whose mean is left as it is.
        spread: one standard deviation of a scalar on the training part, or the root mean square length of a vector.
        poses: the rotations (tested, 3, 3) of the tested molecules.
        vectors: whether the target turns with the molecule.
        split: the tested molecules are the test part, or in studies the validation part.
    """

    molecules: Molecules
    labels: Tensor
    spread: float
    poses: Tensor
    vectors: bool
    split: DataSplit

    def inputs(self, index: Tensor) -> tuple[Form]:
        """Some molecules as they come, padded to the largest of them."""
        mask = self.molecules.mask[index]
        most = int(mask.sum(1).max())
        return ((self.molecules.positions[index, :most], self.molecules.types[index, :most], mask[:, :most]),)

    def turned_inputs(self, index: Tensor) -> tuple[Form]:
        """Some tested molecules in their poses."""
        ((positions, types, mask),) = self.inputs(index)
        return ((turned(positions, self.poses_of(index)), types, mask),)

    def poses_of(self, index: Tensor) -> Tensor:
        """The poses of some tested molecules, which are the last ones."""
        return self.poses[index - (len(self.molecules) - len(self.poses))]

    def turned_labels(self, index: Tensor) -> Tensor:
        """The labels of some tested molecules in their poses."""
        return moved(self.labels[index], self.poses_of(index), vectors=self.vectors)


def rotated_molecules(data: QM9, target: str, *, seed: int, held_out: bool = False) -> RotatedMolecules:
    """The molecules of a run.

    Args:
        target: gap, polarizability or dipole.
        seed: determines the poses of the tested molecules, and nothing else does.
        held_out: test on the validation part; the test part is then not read.
    """
    tested = data.validation if held_out else data.test
    joined = {name: torch.cat([value, getattr(tested, name)]) for name, value in vars(data.train).items()}
    molecules, vectors, train = Molecules(**joined), target in VECTORS, len(data.train)
    values = getattr(molecules, target)
    values = values if vectors else (values - values[:train].mean()).unsqueeze(1)
    spread = float(values[:train].square().sum(1).mean().sqrt())
    poses = SO3().sample(len(tested), generator=torch.Generator().manual_seed(seed)).to(values)
    index = torch.arange(len(molecules))
    split = shortened(DataSplit(index[:train], index[:0], index[train:]))
    return RotatedMolecules(molecules, values / spread, spread, poses, vectors, split)


def plain(network: nn.Module, data: RotatedMolecules) -> Learner:
    """A network that sees training molecules as they come."""
    return Learner(OnMolecules(network), data.labels, data.inputs, mean_distance)


def augmented(network: nn.Module, data: RotatedMolecules) -> Learner:
    """A network that sees a training molecule in another random pose at every step; its label turns along."""
    module = OnMolecules(network)

    def objective(form: Form, labels: Tensor, index: Tensor) -> HasLoss:
        positions, types, mask = form
        poses = SO3().sample(len(labels)).to(positions)
        answers = module((turned(positions, poses), types, mask))
        return _Loss(mean_distance(answers, moved(labels, poses, vectors=data.vectors)))

    return replace(plain(network, data), module=module, objective=objective)


@dataclass(frozen=True)
class _Loss:
    loss: Tensor


def mean_distance(answers: Tensor, labels: Tensor) -> Tensor:
    """The mean over molecules of the absolute error of a scalar, or of the length of the error of a vector."""
    return distances(answers, labels).mean()


def distances(answers: Tensor, labels: Tensor) -> Tensor:
    """Of every molecule: (molecules, 1 or 3), the same -> (molecules,)."""
    return torch.linalg.vector_norm(answers - labels, dim=1)


def moved(answers: Tensor, poses: Tensor, *, vectors: bool) -> Tensor:
    """What answers or labels become when the molecules are turned."""
    return turned(answers.unsqueeze(1), poses).squeeze(1) if vectors else answers


def turned(points: Tensor, poses: Tensor) -> Tensor:
    """Points (molecules, atoms, 3) by one rotation for every molecule."""
    return points @ poses.mT


@lru_cache(maxsize=1)
def qm9() -> QM9:
    """The data set, read once per process."""
    return load_qm9()
