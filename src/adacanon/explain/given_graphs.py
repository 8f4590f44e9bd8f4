"""The graphs that a model was given: drawn, and with their nodes numbered otherwise."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from adacanon.core.pictures import Graph
from adacanon.graphs import (
    BandRotations,
    EncodedANLSF,
    FramedGraphs,
    NodeRotations,
    band_coefficients,
    framed_graphs,
    node_coefficients,
)
from adacanon.graphs.coefficients import list_of_graphs


def graph_picture(given: Any, row: int) -> Graph | None:
    """Input number ``row`` of a batch as a graph, or None if the batch holds none."""
    if isinstance(given, FramedGraphs):
        one = given[row : row + 1]
        return Graph(one.edge_index, one.signals)
    graphs = graphs_in(given)
    if graphs is None:
        return None
    positions = getattr(graphs[row], "pos", None)
    flat = positions if isinstance(positions, Tensor) and positions.shape[1] == 2 else None
    return Graph(graphs[row].edge_index, graphs[row].x, flat)


def graphs_in(given: Any) -> list[Any] | None:
    """The torch-geometric graphs of a batch, or None if it holds others or none."""
    first = given[0] if isinstance(given, list | tuple) and given else given
    if not all(isinstance(getattr(first, name, None), Tensor) for name in ("x", "edge_index")):
        return None
    return list(list_of_graphs(given))


def renumbered(graph: Any, generator: torch.Generator) -> Any:
    """The same graph with its nodes in a random order."""
    order = torch.randperm(int(graph.num_nodes), generator=generator).to(graph.edge_index.device)
    other = graph.clone()
    other.x = torch.empty_like(graph.x).index_copy(0, order, graph.x)
    other.edge_index = order[graph.edge_index]
    return other


def as_read(model: Any, graphs: Sequence[Any]) -> Any:
    """Graphs as a model reads them, without a trace in the cache folder: they come once."""
    family = model.family
    if not isinstance(family, BandRotations | NodeRotations):
        return list(graphs)
    if isinstance(model, EncodedANLSF):
        sizes = {"frame_width": model.frame_width, "walk_steps": model.walk_steps}
        return framed_graphs(list(graphs), family.partition, operator=family.operator, cache=False, **sizes)
    made = node_coefficients if isinstance(family, NodeRotations) else band_coefficients
    dtype = torch.get_default_dtype()
    return made(list(graphs), family.partition, operator=family.operator, dtype=dtype, cache=False)
