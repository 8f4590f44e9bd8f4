"""Networks on clouds layer by layer on all edges, with the parameters of ours: no folding, nothing left out."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from adacanon.points.dgcnn import DGCNN, EdgeConvolution
from adacanon.points.neighbours import ball_query, farthest_points, nearest_neighbours
from adacanon.points.normalized_linear import NormalizedLinear
from adacanon.points.pointnet2 import PointNet2, SetAbstraction
from adacanon.points.rscnn import RSCNN, RelationConvolution


def on_last_axis(norm: nn.Module, x: Tensor) -> Tensor:
    return norm(x.flatten(0, -2)).view_as(x)


def normalised(layer: NormalizedLinear, x: Tensor) -> Tensor:
    assert layer.norm is not None
    return on_last_axis(layer.norm, layer.linear(x))


def gathered(x: Tensor, indices: Tensor) -> Tensor:
    """(batch, points, channels), (batch, centres, k) -> (batch, centres, k, channels), by a loop over clouds."""
    return torch.stack([cloud[chosen] for cloud, chosen in zip(x, indices, strict=True)])


def edge_convolution(layer: EdgeConvolution, x: Tensor, indices: Tensor) -> Tensor:
    """(batch, points, channels) -> (batch, points, outputs)"""
    own = x.unsqueeze(2).expand(-1, -1, indices.shape[2], -1)
    edges = torch.cat([own, gathered(x, indices) - own], 3)
    return functional.leaky_relu(on_last_axis(layer.norm, layer.linear(edges)), 0.2).amax(2)


def dgcnn(model: DGCNN, points: Tensor) -> Tensor:
    x, layers = points, []
    for layer in model.layers:
        assert isinstance(layer, EdgeConvolution)
        x = edge_convolution(layer, x, nearest_neighbours(x.detach(), model.k))
        layers.append(x)
    x = functional.leaky_relu(normalised(model.aggregation, torch.cat(layers, 2)), 0.2)
    return model.head(torch.cat([x.amax(1), x.mean(1)], 1))


def set_abstraction(level: SetAbstraction, points: Tensor, features: Tensor) -> tuple[Tensor, Tensor]:
    centres = gathered(points, farthest_points(points, level.balls.centres)[:, None])[:, 0]
    members = ball_query(points, centres, level.balls.radius, level.balls.count)
    beside = gathered(points, members) - centres.unsqueeze(2)
    x = torch.cat([beside, gathered(features, members)], 3)
    x = on_last_axis(level.norm, level.first(x)).relu()
    for layer in level.layers:
        assert isinstance(layer, NormalizedLinear)
        x = normalised(layer, x).relu()
    return centres, x.amax(2)


def pointnet2(model: PointNet2, points: Tensor) -> Tensor:
    features = points[..., :0]
    for level in model.levels:
        assert isinstance(level, SetAbstraction)
        points, features = set_abstraction(level, points, features)
    x = torch.cat([points, features], 2)
    for layer in model.last:
        assert isinstance(layer, NormalizedLinear)
        x = normalised(layer, x).relu()
    return model.head(x.amax(1))


def relation_convolution(level: RelationConvolution, points: Tensor, features: Tensor) -> tuple[Tensor, Tensor]:
    centres = gathered(points, farthest_points(points, level.balls.centres)[:, None])[:, 0]
    members = ball_query(points, centres, level.balls.radius, level.balls.count)
    at, own = gathered(points, members), centres.unsqueeze(2).expand(-1, -1, members.shape[2], -1)
    distance = torch.where((at == own).all(3), 0, (at - own + 1e-300).norm(dim=3)).unsqueeze(3)
    weights = level.weights(normalised(level.relation, torch.cat([distance, own, at, at - own], 3)).relu())
    g = torch.cat([at - own, gathered(features, members)], 3)
    if level.raising is not None:
        g = normalised(level.raising, g).relu()
    largest = on_last_axis(level.norm, weights * g).relu().amax(2)
    return centres, normalised(level.outputs, largest).relu()


def rscnn(model: RSCNN, points: Tensor) -> Tensor:
    at, features = relation_convolution(model.first, points, points[..., :0])
    at, features = relation_convolution(model.second, at, features)
    return model.head(normalised(model.last, torch.cat([at, features], 2)).relu().amax(1))
