"""A method bound to its data: what the training loop needs of it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from torch import Tensor, nn
from torch.nn import functional

from adacanon.training.engine import Engine, OneProcess

Inputs = Callable[[Tensor], tuple[Any, ...]]
"""From sample indices to what the module is called with."""


class HasLoss(Protocol):
    """What an objective returns: a record with the loss, perhaps beside other fields."""

    @property
    def loss(self) -> Tensor:
        """A scalar."""


Objective = Callable[..., HasLoss]
"""From what the module is called with, the labels and the sample indices, to the loss that is trained on."""

Criterion = Callable[[Tensor, Tensor], Tensor]
"""From scores and labels to a loss, a scalar."""

Metric = Callable[[Tensor, Tensor], float]
"""From scores and labels to a figure; larger is better."""


@dataclass(frozen=True)
class Learner:
    """A module with its samples and losses; the one class for all tables.

    Attributes:
        module: from inputs to scores.
        labels: of every sample.
        inputs: what the module reads of some samples.
        criterion: the loss that is reported.
        training_inputs: what it reads in training, if other than in evaluation: augmented or drawn at random.
        objective: the loss that is trained on, if other than the criterion of the module's scores.
        metric: the figure that is reported and chooses an epoch, between 0 and 1, if other than the accuracy.
        engine: what computes its trainings and evaluations.

    Example:
        >>> import torch
        >>> x, labels = torch.randn(5, 3), torch.tensor([0, 1, 0, 1, 1])
        >>> learner = Learner(nn.Linear(3, 2), labels, looked_up(x))
        >>> learner.scores(torch.tensor([0, 4])).shape, learner.loss(torch.tensor([0, 4])).shape
        (torch.Size([2, 2]), torch.Size([]))
    """

    module: nn.Module
    labels: Tensor
    inputs: Inputs
    criterion: Criterion = functional.cross_entropy
    training_inputs: Inputs | None = None
    objective: Objective | None = None
    metric: Metric | None = None
    engine: Engine = field(default_factory=OneProcess, repr=False, compare=False)

    def scores(self, index: Tensor) -> Tensor:
        """The scores of some samples, (len(index), classes)."""
        return self.module(*self.inputs(index))

    def loss(self, index: Tensor) -> Tensor:
        """The loss of some samples in training."""
        return self.loss_at(self.seen(index), index)

    def seen(self, index: Tensor) -> tuple[Any, ...]:
        """What the module reads of some samples in training."""
        return (self.training_inputs or self.inputs)(index)

    def loss_at(self, inputs: tuple[Any, ...], index: Tensor) -> Tensor:
        """The loss of some samples, of which this is read."""
        if self.objective is not None:
            return self.objective(*inputs, self.labels[index], index).loss
        return self.criterion(self.module(*inputs), self.labels[index])


@dataclass(frozen=True)
class LookedUp:
    """Inputs that are rows of one indexable object."""

    samples: Any

    def __call__(self, index: Tensor) -> tuple[Any, ...]:
        return (self.samples[index],)


def looked_up(samples: Any) -> Inputs:
    """Inputs that are rows of one indexable object.

    Example:
        >>> import torch
        >>> looked_up(torch.tensor([5, 6, 7]))(torch.tensor([2, 0]))
        (tensor([7, 5]),)
    """
    return LookedUp(samples)
