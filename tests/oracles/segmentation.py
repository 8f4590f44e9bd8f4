"""Segmentation networks layer by layer on all points and edges, with the parameters of ours."""

import torch
from torch import Tensor
from torch.nn import functional

from adacanon.baselines.clouds.vn_segmentation import VNDGCNNSegmentation, VNEdgeBlock, VNPointNetSegmentation
from adacanon.points.dgcnn import EdgeConvolution
from adacanon.points.neighbours import nearest_neighbours
from adacanon.points.normalized_linear import NormalizedLinear
from adacanon.points.segmentation import DGCNNSegmentation, EdgeBlock, PointHead, PointNetSegmentation
from oracles import vector_neurons as vn
from oracles.backbones import edge_convolution, gathered, normalised, on_last_axis


def head(module: PointHead, of_cloud: Tensor, of_point: Tensor) -> Tensor:
    x = torch.cat([of_cloud.unsqueeze(1).expand(-1, of_point.shape[1], -1), of_point], 2)
    x = functional.leaky_relu(on_last_axis(module.norm, module.first(x)), module.slope)
    for layer in module.layers:
        assert isinstance(layer, NormalizedLinear)
        x = functional.leaky_relu(normalised(layer, x), module.slope)
    return module.last(x)


def pointnet(model: PointNetSegmentation, points: Tensor, categories: Tensor) -> Tensor:
    x, layers = points, []
    for layer in model.layers:
        assert isinstance(layer, NormalizedLinear)
        x = normalised(layer, x).relu()
        layers.append(x)
    return head(model.head, torch.cat([x.amax(1), categories], 1), torch.cat(layers, 2))


def edge_block(block: EdgeBlock, x: Tensor, indices: Tensor) -> Tensor:
    own = x.unsqueeze(2).expand(-1, -1, indices.shape[2], -1)
    edges = torch.cat([own, gathered(x, indices) - own], 3)
    edges = functional.leaky_relu(on_last_axis(block.norm, block.linear(edges)), 0.2)
    return functional.leaky_relu(normalised(block.second, edges), 0.2).amax(2)


def dgcnn(model: DGCNNSegmentation, points: Tensor, categories: Tensor) -> Tensor:
    x, layers = points, []
    for layer in model.layers:
        indices = nearest_neighbours(x.detach(), model.k)
        if isinstance(layer, EdgeBlock):
            x = edge_block(layer, x, indices)
        else:
            assert isinstance(layer, EdgeConvolution)
            x = edge_convolution(layer, x, indices)
        layers.append(x)
    x = torch.cat(layers, 2)
    wide = functional.leaky_relu(normalised(model.aggregation, x), 0.2).amax(1)
    return head(model.head, torch.cat([wide, category(model.category, categories)], 1), x)


def category(layer: NormalizedLinear, categories: Tensor) -> Tensor:
    return functional.leaky_relu(normalised(layer, categories), 0.2)


def in_frame(v: Tensor, frames: Tensor) -> Tensor:
    return torch.einsum("abnc,abnl->bnlc", v, frames).flatten(2)


def vn_pointnet(model: VNPointNetSegmentation, points: Tensor, categories: Tensor) -> Tensor:
    v, layers = points.permute(2, 0, 1).unsqueeze(3), []
    v = vn.layer(model.edges, vn.edges(v, vn.neighbours(v, model.k), cross=True)).mean(3)
    for layer in model.layers:
        v = vn.layer(layer, v)  # type: ignore[arg-type]
        layers.append(v)
    whole = vn.context(model.context, v).unsqueeze(2).expand_as(v)
    layers.append(vn.layer(model.beside, torch.cat([v, whole], 3)))
    v = vn.beside_mean(vn.normalised(model.norm.norm, layers[-1] @ model.wide.weight.T))
    frames = vn.frames(model.invariant, v)
    numbers = in_frame(v, frames)
    of_cloud = torch.cat([numbers.amax(1), categories], 1)
    return head(model.head, of_cloud, torch.cat([in_frame(torch.cat(layers, 3), frames), numbers], 2))


def vn_dgcnn(model: VNDGCNNSegmentation, points: Tensor, categories: Tensor) -> Tensor:
    v, layers = points.permute(2, 0, 1).unsqueeze(3), []
    for layer in model.layers:
        edges = vn.edges(v, vn.neighbours(v, model.k))
        if isinstance(layer, VNEdgeBlock):
            v = vn.layer(layer.second, vn.layer(layer.first, edges)).mean(3)
        else:
            v = vn.layer(layer, edges).mean(3)  # type: ignore[arg-type]
        layers.append(v)
    v = torch.cat(layers, 3)
    wide = vn.beside_mean(vn.layer(model.aggregation, v))
    frames = vn.frames(model.invariant, wide)
    of_cloud = torch.cat([in_frame(wide, frames).amax(1), category(model.category, categories)], 1)
    return head(model.head, of_cloud, in_frame(v, frames))
