"""The training loop: one for every method, so that rows of a table differ in the method alone."""

from collections.abc import Callable
from typing import Protocol

import torch
from torch import Tensor, nn


class Learner(Protocol):
    """A method on a data set: it knows its parameters, the loss of some samples, and their scores."""

    @property
    def module(self) -> nn.Module:
        """The parameters and the training flag."""

    def loss(self, index: Tensor) -> Tensor:
        """The loss of the samples ``index``."""

    def scores(self, index: Tensor) -> Tensor:
        """Class scores (len(index), classes)."""


def fit(
    learner: Learner,
    index: Tensor,
    *,
    epochs: int,
    batch: int,
    learning_rate: float,
    generator: torch.Generator,
    on_epoch: Callable[[int, float], None] = lambda epoch, loss: None,
) -> float:
    """Adam for a fixed number of epochs over shuffled batches; returns the mean loss of the last epoch."""
    optimizer = torch.optim.Adam(learner.module.parameters(), lr=learning_rate)
    mean = float("nan")
    for epoch in range(epochs):
        learner.module.train()
        losses = []
        for rows in index[torch.randperm(len(index), generator=generator)].split(batch):
            optimizer.zero_grad()
            loss = learner.loss(rows)
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
        mean = float(torch.stack(losses).mean())
        on_epoch(epoch + 1, mean)
    return mean


def accuracy(learner: Learner, index: Tensor, labels: Tensor, *, batch: int) -> float:
    """Share of samples, in percent, whose largest score is that of their class."""
    learner.module.eval()
    with torch.no_grad():
        hits = [learner.scores(rows).argmax(-1) == labels[rows] for rows in index.split(batch)]
    return 100 * float(torch.cat(hits).double().mean())


def stratified_folds(labels: Tensor, count: int, *, generator: torch.Generator) -> list[tuple[Tensor, Tensor]]:
    """Training and test indices of ``count``-fold cross-validation, with the classes in equal shares in every fold."""
    order = torch.randperm(len(labels), generator=generator)
    by_class = order[labels[order].argsort(stable=True)]
    parts = [by_class[i::count] for i in range(count)]
    return [(torch.cat([p for j, p in enumerate(parts) if j != i]), part) for i, part in enumerate(parts)]
