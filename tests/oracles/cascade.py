"""A cascade, candidate by candidate."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from adacanon.core import Family


def scores(
    network: Callable[[Tensor], Tensor],
    ranker: Callable[[Tensor], Tensor],
    family: Family,
    g: Tensor,
    view: Tensor,
    points: Tensor,
    *,
    finalists: int,
    temperature: float = 0.0,
) -> Tensor:
    """Scores (batch, classes) for candidates (candidates, batch, ...): the network's values at the finalists, which any
    class of the ranker likes best on the view; with a temperature also the ranker's estimates at all others.
    """
    rows = []
    for i in range(points.shape[1]):
        one = torch.tensor([i])
        guessed = [ranker(family.transform(view, u[i : i + 1], one))[0].detach() for u in points]
        order = sorted(range(len(points)), key=lambda k: -float(guessed[k].max()))
        true = {k: network(family.transform(g, points[k, i : i + 1], one))[0] for k in order[:finalists]}
        if temperature == 0:
            rows.append(torch.stack(list(true.values())).amax(0))
            continue
        terms = [torch.exp(true.get(k, guessed[k]) / temperature) for k in order]
        rows.append(temperature * torch.log(torch.stack(terms).sum(0) / math.fsum([1.0] * len(terms))))
    return torch.stack(rows)
