"""Vector neurons as chains of torch's operations, with the parameters of ours."""

import torch
from torch import Tensor, nn

from adacanon.baselines.clouds.vector_activations import EPSILON
from adacanon.baselines.clouds.vector_neurons import VNEdgeConvolution, VNInvariant, VNLayer
from adacanon.baselines.clouds.vn_networks import VNDGCNN, VNContext, VNPointNet
from adacanon.points.neighbours import nearest_neighbours


def normalised(norm: nn.BatchNorm1d, v: Tensor) -> Tensor:
    lengths = v.norm(dim=0) + EPSILON
    return v / lengths * norm(lengths.flatten(0, -2)).view_as(lengths)


def activated(p: Tensor, d: Tensor, slope: float) -> Tensor:
    dot, squared = (p * d).sum(0), d.square().sum(0) + EPSILON
    kept = torch.where(dot < 0, p - dot / squared * d, p)
    return slope * p + (1 - slope) * kept


def layer(module: VNLayer | VNEdgeConvolution, v: Tensor) -> Tensor:
    p = normalised(module.norm.norm, v @ module.linear.weight.T)
    return activated(p, v @ module.direction.weight.T, module.slope)


def edges(v: Tensor, neighbours: Tensor, *, cross: bool = False) -> Tensor:
    """(3, batch, points, channels), (batch, points, k) -> (3, batch, points, k, 2 or 3 times the channels)"""
    at = torch.stack([v[:, b][:, chosen] for b, chosen in enumerate(neighbours)], 1)
    own = v.unsqueeze(3).expand_as(at)
    return torch.cat([at - own, own, *([torch.linalg.cross(at, own, dim=0)] if cross else [])], 4)


def neighbours(v: Tensor, k: int) -> Tensor:
    return nearest_neighbours(v.detach().permute(1, 2, 0, 3).flatten(2), k)


def beside_mean(v: Tensor) -> Tensor:
    return torch.cat([v, v.mean(2, keepdim=True).expand_as(v)], 3)


def frames(module: VNInvariant, v: Tensor) -> Tensor:
    """(3, batch, points, channels) -> (3, batch, points, 3)"""
    return layer(module.second, layer(module.first, v)) @ module.last.weight.T


def invariants(module: VNInvariant, v: Tensor) -> Tensor:
    """(3, batch, points, channels) -> (batch, points, 3 * channels)"""
    return torch.einsum("abnc,abnl->bnlc", v, frames(module, v)).flatten(2)


def context(module: VNContext, v: Tensor) -> Tensor:
    for part in module.before:
        assert isinstance(part, VNLayer)
        v = layer(part, v)
    v = v.mean(2)
    for part in module.after:
        assert isinstance(part, VNLayer)
        v = layer(part, v)
    return v @ module.last.weight.T


def pointnet(model: VNPointNet, points: Tensor) -> Tensor:
    v = points.permute(2, 0, 1).unsqueeze(3)
    v = layer(model.edges, edges(v, neighbours(v, model.k), cross=True)).mean(3)
    v = layer(model.points, v)
    whole = context(model.context, v).unsqueeze(2).expand_as(v)
    v = layer(model.beside, torch.cat([v, whole], 3))
    v = normalised(model.norm.norm, v @ model.wide.weight.T)
    return model.head(invariants(model.invariant, beside_mean(v)).amax(1))


def dgcnn(model: VNDGCNN, points: Tensor) -> Tensor:
    v, layers = points.permute(2, 0, 1).unsqueeze(3), []
    for part in model.layers:
        assert isinstance(part, VNEdgeConvolution)
        v = layer(part, edges(v, neighbours(v, model.k))).mean(3)
        layers.append(v)
    v = layer(model.aggregation, torch.cat(layers, 3))
    numbers = invariants(model.invariant, beside_mean(v))
    return model.head(torch.cat([numbers.amax(1), numbers.mean(1)], 1))
