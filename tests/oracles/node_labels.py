"""Answers per node of one graph at the form of least entropy, and blended: one candidate after the other."""

import math

import torch
from torch import Tensor

from adacanon import Canonicalized


def answers_by_candidate(model: Canonicalized, graph: object) -> Tensor:
    """Scores (candidates, nodes, classes) of one graph."""
    g = model.prepare(graph)
    owner = torch.tensor([0])
    return torch.stack(
        [model.network(model.family.transform(g, u.unsqueeze(0), owner))[0] for u in model.family.anchor(g)[0]]
    )


def mean_entropy(scores: Tensor) -> float:
    """Of the nodes (nodes, classes)."""
    total = 0.0
    for row in scores.softmax(-1).tolist():
        total -= sum(p * math.log(p) for p in row if p > 0)
    return total / len(scores)


def least_entropy(answers: Tensor) -> Tensor:
    return answers[min(range(len(answers)), key=lambda i: mean_entropy(answers[i]))]


def blended(answers: Tensor, temperature: float) -> Tensor:
    certain = [math.exp(-mean_entropy(one) / temperature) for one in answers]
    return sum(w * one for w, one in zip(certain, answers, strict=True)) / sum(certain)
