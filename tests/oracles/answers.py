"""Answers that are carried back, one input and one candidate at a time."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

Turn = Callable[[Tensor, Tensor], Tensor]


def turned_back(kind: str, u: Tensor, answer: Tensor) -> Tensor:
    """Undo the rotation u (3, 3) on one answer for a turned cloud, number by number of every vector."""
    if kind == "invariant":
        return answer
    if kind == "rotations":
        return torch.linalg.inv(u) @ answer.reshape(3, 3)
    rows = [torch.linalg.solve(u, vector) for vector in answer.reshape(-1, 3)]
    return torch.stack(rows).reshape(answer.shape)


def blended(
    network: Callable[[Tensor], Tensor],
    transform: Turn,
    back: Turn,
    g: Tensor,
    points: Tensor,
    confidence: Callable[[Tensor], tuple[Tensor, Tensor]],
    temperature: float,
) -> Tensor:
    """sum_i w_i back(u_i, answer_i), w = softmax(c / temperature) over points; the largest c alone at zero.

    Args:
        transform: of one input by one candidate.
        back: of one answer by one candidate.
        confidence: from one output to c and the answer.
    """
    rows = []
    for x in g:
        pairs = [confidence(network(transform(u, x).unsqueeze(0))[0]) for u in points]
        answers = [back(u, answer) for u, (_, answer) in zip(points, pairs, strict=True)]
        c = torch.stack([value for value, _ in pairs])
        if temperature == 0:
            rows.append(answers[int(c.argmax())])
            continue
        exponents = c / temperature if temperature < math.inf else torch.zeros_like(c)
        weights = exponents.exp() / exponents.exp().sum()
        rows.append(torch.stack([w * answer for w, answer in zip(weights, answers, strict=True)]).sum(0))
    return torch.stack(rows)
