"""Graphs with a class for every node, made here: communities with features, and waves on irregular meshes."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from adacanon.errors import InputError
from adacanon.extras import optional


@dataclass(frozen=True)
class NodeTask:
    """One or more graphs, one after the other, with a class for every node.

    Attributes:
        x: features, (nodes, channels).
        edge_index: (2, edges), every edge in both directions, nodes counted over all graphs.
        labels: (nodes,).
        graph: the graph of every node, (nodes,), in increasing order.

    Example:
        >>> task = block_model(60, classes=3, generator=torch.Generator().manual_seed(0))
        >>> task.x.shape, task.graphs, task.classes
        (torch.Size([60, 16]), 1, 3)
    """

    x: Tensor
    edge_index: Tensor
    labels: Tensor
    graph: Tensor

    @property
    def graphs(self) -> int:
        """How many there are."""
        return int(self.graph[-1]) + 1

    @property
    def classes(self) -> int:
        """How many there are."""
        return int(self.labels.max()) + 1


def block_model(
    nodes: int,
    *,
    classes: int = 5,
    degree: float = 8.0,
    within: float = 0.5,
    channels: int = 16,
    separation: float = 1.0,
    generator: torch.Generator,
) -> NodeTask:
    """A contextual stochastic block model: communities of equal size, and Gaussian features around a mean of each.

    Args:
        degree: edges of a node on average.
        within: the share of them that stays within the class.
        separation: the length of the means of the classes, whose directions are random; the noise has deviation 1 in
            every channel.

    Example:
        >>> task = block_model(300, within=0.8, generator=torch.Generator().manual_seed(0))
        >>> same = task.labels[task.edge_index[0]] == task.labels[task.edge_index[1]]
        >>> 0.7 < float(same.double().mean()) < 0.9
        True
    """
    if not 0 <= within <= 1 or classes < 2 or nodes < classes:
        raise InputError(f"A block model needs 0 <= within <= 1 and 2 <= classes <= nodes, got {within} and {classes}")
    labels = torch.arange(nodes) % classes
    count = round(nodes * degree / 2)
    source = torch.randint(nodes, (count,), generator=generator)
    stays = torch.rand(count, generator=generator) < within
    step = torch.where(stays, 0, torch.randint(1, classes, (count,), generator=generator))
    rows = -(-nodes // classes)
    target = torch.randint(rows, (count,), generator=generator) * classes + (labels[source] + step) % classes
    kept = (target < nodes) & (source != target)
    edges = torch.stack([source[kept], target[kept]])
    edges = torch.cat([edges, edges.flip(0)], dim=1).unique(dim=1)
    means = torch.nn.functional.normalize(torch.randn(classes, channels, generator=generator), dim=1)
    x = separation * means[labels] + torch.randn(nodes, channels, generator=generator)
    return NodeTask(x, edges, labels, torch.zeros(nodes, dtype=torch.int64))


def mesh_waves(
    graphs: int,
    *,
    nodes: int = 160,
    waves: float = 3.0,
    noise: float = 0.5,
    generator: torch.Generator,
) -> NodeTask:
    r"""On irregular meshes of the unit square, the sign of the part of a signal that runs along a given direction.

    Every mesh has a direction of its own, with wave vector k, and :math:`k'` at a right angle to it. Channels 1 and 2
    are :math:`\cos k\cdot p` and :math:`\sin k\cdot p`, channel 3 is
    :math:`\cos(k\cdot p + a) + \cos(k'\cdot p + b)` with random phases a and b, all with noise. The class of a node is
    the sign of :math:`\cos(k\cdot p + a)`. Both waves of channel 3 have the same frequency: no function of the
    Laplacian tells them apart. The direction that the first two channels span does.

    Args:
        nodes: of each mesh.
        waves: periods along a side.
        noise: deviation at every node and channel.

    Example:
        >>> task = mesh_waves(3, nodes=50, generator=torch.Generator().manual_seed(0))
        >>> task.x.shape, task.graphs
        (torch.Size([150, 3]), 3)
    """
    parts = [_one_mesh(nodes, waves, noise, generator) for _ in range(graphs)]
    x, edges, labels = zip(*parts, strict=True)
    joined = [edge + i * nodes for i, edge in enumerate(edges)]
    return NodeTask(torch.cat(x), torch.cat(joined, 1), torch.cat(labels), torch.arange(graphs * nodes) // nodes)


def _one_mesh(nodes: int, waves: float, noise: float, generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
    points = torch.rand(nodes, 2, generator=generator, dtype=torch.float64)
    angle, first, second = (2 * math.pi * torch.rand(3, generator=generator, dtype=torch.float64)).unbind()
    direction = torch.stack([angle.cos(), angle.sin()])
    along = 2 * math.pi * waves * points @ direction
    across = 2 * math.pi * waves * points @ torch.stack([-direction[1], direction[0]])
    wanted = (along + first).cos()
    clean = torch.stack([along.cos(), along.sin(), wanted + (across + second).cos()], dim=1)
    x = clean + noise * torch.randn(nodes, 3, generator=generator, dtype=torch.float64)
    return x.float(), triangulation(points), (wanted > 0).long()


def triangulation(points: Tensor) -> Tensor:
    """The edges of the Delaunay triangulation of points (nodes, 2), in both directions.

    Example:
        >>> triangulation(torch.tensor([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])).shape
        torch.Size([2, 6])
    """
    with optional("A triangulation"):
        from scipy.spatial import Delaunay

    corners = torch.from_numpy(Delaunay(points.numpy()).simplices).long()
    edges = torch.cat([corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [2, 0]]]).T
    return torch.cat([edges, edges.flip(0)], dim=1).unique(dim=1)
