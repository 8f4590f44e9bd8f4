"""Networks on pairs of points, one pair at a time."""

import torch
from torch import Tensor, nn

from adacanon.baselines.clouds import EGNN
from adacanon.points import PairNetwork
from adacanon.points.pair_network import SIZE


def pair_network(network: PairNetwork, points: Tensor, features: Tensor) -> Tensor:
    """The outputs for one cloud of real points."""
    hidden, count = list(network.embedding(features)), len(points)
    for layer, update in enumerate(network.updates):
        first = layer * network.filters
        messages = []
        for i in range(count):
            filters = [network.of_differences(x - points[i])[first : first + network.filters] for x in points]
            messages.append(sum(torch.outer(w, h) for w, h in zip(filters, hidden, strict=True)).flatten())
        hidden = [h + update(m) for h, m in zip(hidden, messages, strict=True)]
    return network.head(sum(hidden) / SIZE)


def egnn(network: EGNN, points: Tensor, features: Tensor) -> Tensor:
    """The outputs for one cloud of real points, with the first layer of the messages written as one matrix."""
    hidden, places, count = list(network.embedding(features)), list(points), len(points)
    for layer in network.layers:
        matrix = torch.cat([layer.of_one.weight, layer.of_other.weight, layer.of_distance.weight], 1)
        moved, updated = [], []
        for i in range(count):
            received, step = torch.zeros_like(hidden[i]), torch.zeros_like(points[i])
            for j in range(count):
                if i == j:
                    continue
                difference = places[i] - places[j]
                both = torch.cat([hidden[i], hidden[j], difference.square().sum()[None]])
                message = _silu(layer.second(_silu(matrix @ both + layer.of_one.bias)))
                received = received + torch.sigmoid(layer.gate(message)) * message
                if layer.steps is not None:
                    step = step + difference * layer.steps(message) / (count - 1)
            moved.append(places[i] + step)
            updated.append(hidden[i] + layer.update(torch.cat([hidden[i], received])))
        hidden, places = updated, moved
    if network.answers == "vectors":
        return sum(new - old for new, old in zip(places, points, strict=True))
    return network.head(sum(network.of_points(h) for h in hidden))


def _silu(x: Tensor) -> Tensor:
    return nn.functional.silu(x)
