"""Adaptive canonicalization and its loss, one sample and one class at a time."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from adacanon.core import Family
from adacanon.core.pytree import Tree


def best_logits(network: Callable[[Tensor], Tensor], family: Family, g: Tensor, points: Tensor) -> Tensor:
    """s_d(g_i) = max over a list of transformations of f_d, with gradients at the maximum."""
    rows = []
    for i in range(g.shape[0]):
        outputs = [network(family.transform(g, u.unsqueeze(0), torch.tensor([i])))[0] for u in points]
        row = []
        for d in range(outputs[0].shape[0]):
            best = outputs[0][d]
            for output in outputs[1:]:
                if output[d] > best:
                    best = output[d]
            row.append(best)
        rows.append(torch.stack(row))
    return torch.stack(rows)


def one_vs_rest(logits: Tensor, labels: list[list[float]]) -> float:
    """Mean over samples of the sum over classes of binary cross-entropies; NaN labels cost nothing."""
    total = 0.0
    for row, wanted in zip(logits.tolist(), labels, strict=True):
        for s, y in zip(row, wanted, strict=True):
            if not math.isnan(y):
                p = 1 / (1 + math.exp(-s))
                total += -y * math.log(p) - (1 - y) * math.log(1 - p)
    return total / logits.shape[0]


def soft_logits(
    network: Callable[[Tree], Tensor], family: Family, g: Tree, points: Tensor, temperature: list[float]
) -> Tensor:
    """s_d(g_i) = tau_d log of the mean over points (candidates, batch, ...) of exp(f_d / tau_d), with gradients; the
    maximum at zero, the mean at infinity. One candidate after the other, by the formula as it is printed.
    """
    rows = []
    for i in range(points.shape[1]):
        outputs = [network(family.transform(g, u[i].unsqueeze(0), torch.tensor([i])))[0] for u in points]
        row = []
        for d, tau in enumerate(temperature):
            values = [output[d] for output in outputs]
            if tau == 0:
                row.append(max(values))
            elif math.isinf(tau):
                row.append(sum(values, start=torch.zeros(())) / len(values))
            else:
                total = sum(((value / tau).exp() for value in values), start=torch.zeros(()))
                row.append(tau * (total / len(values)).log())
        rows.append(torch.stack(row))
    return torch.stack(rows)
