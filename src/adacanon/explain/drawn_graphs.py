"""Graphs with numbers on their nodes, drawn at positions of their own or at positions that distances suggest."""

from xml.etree.ElementTree import Element

import torch
from torch import Tensor

from adacanon.core.pictures import Graph
from adacanon.explain.charts import INK
from adacanon.explain.svg import Svg, element, picture
from adacanon.reports.colours import DIVERGING, css, on_ramp

SIDE, ROOM, CAPTION = 240.0, 12.0, 22.0
CHANNELS = 2
"""Pictures of a graph, one for each of the first channels."""
MOST_NODES = 600
"""Beyond this a drawing is a tangle, and distances take long."""
SWEEPS = 200


def graph_as_svg(graph: Graph) -> tuple[Svg, str]:
    """The graph once for each of its first channels, and the same in words."""
    nodes, channels = graph.values.shape
    edges = graph.edge_index.cpu().sort(dim=0).values.unique(dim=1)
    edges = edges[:, edges[0] != edges[1]]
    values = graph.values.detach().double().cpu()
    said = f"A graph of {nodes} nodes and {edges.shape[1]} edges with {channels} numbers on every node."
    if nodes > MOST_NODES:
        return picture(SIDE, 20, label=said), f"{said} It has too many nodes to be drawn."
    positions = layout(edges, nodes) if graph.positions is None else graph.positions.double().cpu()
    places = _to_square(positions)
    shown = min(channels, CHANNELS)
    panels = [_panel(places, edges, values[:, channel], channel) for channel in range(shown)]
    said += f" Colours show {'the first ' * (shown < channels)}{shown} of them, blue below zero and red above."
    return picture(shown * SIDE, SIDE + CAPTION, *panels, label=said), said


def layout(edges: Tensor, nodes: int) -> Tensor:
    r"""Positions (nodes, 2) at which distances in the plane come near to the lengths of shortest paths.

    Stress majorization: every sweep moves node i to the weighted mean, with weights :math:`d_{ij}^{-2}`, of the places
    at distance :math:`d_{ij}` from the others. Parts that are not connected stand apart. Nothing is random.

    Example:
        >>> path = layout(torch.tensor([[0, 1], [1, 2]]), 3)
        >>> round(float((path[0] - path[2]).norm()), 2)
        2.0

    Reference: Gansner, Koren & North, "Graph Drawing by Stress Majorization", 2004.
    """
    distance = path_lengths(edges, nodes)
    weight = torch.where(distance > 0, distance.clamp(min=1e-9).pow(-2), 0.0)
    x = _classical(distance)
    for _ in range(SWEEPS):
        apart = x.unsqueeze(1) - x.unsqueeze(0)
        length = apart.norm(dim=2).clamp(min=1e-9)
        target = x.unsqueeze(0) + apart * (distance / length).unsqueeze(2)
        x = (weight.unsqueeze(2) * target).sum(1) / weight.sum(1, keepdim=True).clamp(min=1e-9)
    return x - x.mean(0)


def path_lengths(edges: Tensor, nodes: int) -> Tensor:
    """Edges on the shortest paths between all nodes, (nodes, nodes); between parts, one more than the longest path."""
    near = torch.zeros(nodes, nodes, dtype=torch.float64)
    near[edges[0], edges[1]] = near[edges[1], edges[0]] = 1.0
    near.fill_diagonal_(1.0)
    reached, length = torch.eye(nodes, dtype=torch.bool), torch.zeros(nodes, nodes, dtype=torch.float64)
    steps = 0
    while True:
        wider = (reached.double() @ near) > 0
        if bool((wider == reached).all()):
            return torch.where(reached, length, steps + 1.0)
        steps += 1
        length = torch.where(wider & ~reached, float(steps), length)
        reached = wider


def _classical(distance: Tensor) -> Tensor:
    """Where to begin: the plane that keeps most of the distances, from the two largest eigenvalues."""
    squares = distance.square()
    gram = -(squares - squares.mean(0) - squares.mean(1, keepdim=True) + squares.mean()) / 2
    values, vectors = torch.linalg.eigh(gram)
    x = vectors[:, -2:] * values[-2:].clamp(min=0).sqrt()
    x = torch.nn.functional.pad(x, (2 - x.shape[1], 0))
    n = torch.arange(len(x), dtype=torch.float64)
    return x + 1e-3 * torch.stack([n.cos(), n.sin()], 1)  # nodes at one place would never part


def _to_square(positions: Tensor) -> Tensor:
    low, high = positions.amin(0), positions.amax(0)
    scale = (SIDE - 2 * ROOM) / float((high - low).max().clamp(min=1e-9))
    return (positions - (low + high) / 2) * scale + SIDE / 2


def _panel(places: Tensor, edges: Tensor, values: Tensor, channel: int) -> Element:
    left, largest = channel * SIDE, float(values.abs().max()) or 1.0
    radius = max(1.6, min(6.0, 55 / len(places) ** 0.5))
    xy = places.tolist()
    path = "".join(f"M{xy[a][0]:.1f} {xy[a][1]:.1f}L{xy[b][0]:.1f} {xy[b][1]:.1f}" for a, b in edges.T.tolist())
    lines = element("path", d=path or "M0 0", stroke="#b8c2cc", stroke_width=0.8, fill="none")
    dots = [
        element("circle", cx=x, cy=y, r=radius, fill=css(on_ramp((v / largest + 1) / 2, DIVERGING)), stroke=INK,
                stroke_width=0.4)
        for (x, y), v in zip(xy, values.tolist(), strict=True)
    ]  # fmt: skip
    name = f"channel {channel}, up to ±{largest:.3g}"
    text = element("text", name, x=SIDE / 2, y=SIDE + 14, text_anchor="middle", font_size=12, fill=INK)
    return element("g", lines, *dots, text, transform=f"translate({left:g} 0)")
