"""Features of graphs that no model reads, or that are read as numbers: a warning says so, and what to do."""

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.data import Batch, Data

from adacanon import Canonicalized, Objective, RandomSearch
from adacanon.data.graph_batches import GraphBatches
from adacanon.data.tu import NAMES, load_tu
from adacanon.graphs import (
    BandRotations,
    EncodedANLSF,
    NodeRotations,
    anlsf,
    band_coefficients,
    directional_filter,
    dyadic,
    framed_graphs,
    node_anlsf,
    node_coefficients,
    node_embeddings,
)
from adacanon.graphs.band_frames import band_frames
from adacanon.graphs.shift_operators import normalized_laplacian

PARTITION = dyadic(3)
EDGES = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
CATEGORIES = torch.tensor([[3], [1], [4]])
EDGE_WARNING = r"edge features, edge_attr, which this model does not read.*Hint: data.edge_attr = None"
NUMBER_WARNING = r"read as numbers.*Hint: .*one_hot.*embedding"

Reader = Callable[[list[Data]], Any]
READERS: dict[str, Reader] = {
    "batches": GraphBatches.of,
    "coefficients": lambda graphs: band_coefficients(graphs, PARTITION),
    "node coefficients": lambda graphs: node_coefficients(graphs, PARTITION),
    "frames": lambda graphs: band_frames(graphs, PARTITION),
    "framed graphs": lambda graphs: framed_graphs(graphs, PARTITION),
    "encoded A-NLSF": lambda graphs: encoded_model(graphs)(Batch.from_data_list(graphs)),
    "A-NLSF": lambda graphs: model(graphs[0].x.shape[1])(Batch.from_data_list(graphs)),
    "node-level A-NLSF": lambda graphs: node_model(graphs)(Batch.from_data_list(graphs)),
    "canonicalization": lambda graphs: model(graphs[0].x.shape[1]).canonicalize(graphs),
    "an objective": lambda graphs: Objective(model(graphs[0].x.shape[1]))(graphs, torch.arange(len(graphs)) % 2),
    "standardisation": lambda graphs: encoded_model(graphs).standardise(Batch.from_data_list(graphs)),
    "canonicalization of encoded graphs": lambda graphs: encoded_model(graphs).canonicalize(graphs),
    "node embeddings": lambda graphs: node_embeddings(node_model(graphs), graphs),
    "a directional filter": lambda graphs: directional_filter(PARTITION, references=1, search=RandomSearch(2)).eval()(
        graphs
    ),
}


def model(channels: int = 1) -> Canonicalized:
    return anlsf(BandRotations(PARTITION, rows=2), channels, classes=2, hidden=8).eval()


def node_model(graphs: list[Data]) -> Canonicalized:
    return node_anlsf(NodeRotations(PARTITION, rows=2), graphs[0].x.shape[1], classes=2).eval()


def encoded_model(graphs: list[Data]) -> EncodedANLSF:
    return EncodedANLSF(graphs[0].x.shape[1], classes=2, width=8, hidden=8).eval()


def graphs(x: Tensor | None = None, **others: Tensor) -> list[Data]:
    x = torch.ones(3, 1) if x is None else x
    return [Data(x=x, edge_index=EDGES, **others), Data(x=x.flip(0), edge_index=EDGES, **others)]


@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
class TestEveryReader:
    @pytest.mark.parametrize("features", [torch.rand(4, 2), torch.arange(4)], ids=["rows", "numbers"])
    def test_warns_of_edge_features(self, reader: Reader, features: Tensor) -> None:
        with pytest.warns(UserWarning, match=EDGE_WARNING):
            reader(graphs(edge_attr=features))

    @pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.uint8], ids=str)
    def test_warns_of_categories(self, reader: Reader, dtype: torch.dtype) -> None:
        with pytest.warns(UserWarning, match=NUMBER_WARNING):
            reader(graphs(CATEGORIES.to(dtype)))

    def test_warns_of_one_graph_among_many(self, reader: Reader) -> None:
        ones = graphs(torch.ones_like(CATEGORIES))
        with pytest.warns(UserWarning, match=NUMBER_WARNING):
            reader([*ones, *graphs(CATEGORIES)])

    def test_takes_zeros_and_ones_of_any_type(self, reader: Reader) -> None:
        one_hot = nn.functional.one_hot(CATEGORIES[:, 0], 5)
        for x in (one_hot, one_hot.bool(), one_hot.float(), torch.ones(3, 1, dtype=torch.int64)):
            reader(graphs(x))

    def test_takes_numbers_that_are_said_to_be_numbers(self, reader: Reader) -> None:
        reader(graphs(CATEGORIES.float()))

    def test_takes_weights_and_edges_without_features(self, reader: Reader) -> None:
        reader(graphs(edge_weight=torch.tensor([1.0, 1.0, 2.0, 2.0])))
        reader(graphs(edge_attr=torch.zeros(4, 0)))

    def test_takes_what_the_hints_say(self, reader: Reader) -> None:
        batch = graphs(nn.functional.one_hot(CATEGORIES[:, 0], 5).float(), edge_attr=torch.rand(4, 2))
        for graph in batch:
            graph.edge_attr = None
        reader(batch)


def test_an_operator_of_the_caller_may_read_edge_features() -> None:
    def weighted(graph: Any) -> Tensor:
        return normalized_laplacian(Data(x=graph.x, edge_index=graph.edge_index, edge_weight=graph.edge_attr[:, 0]))

    batch = graphs(edge_attr=torch.tensor([[1.0], [1.0], [2.0], [2.0]]))
    band_coefficients(batch, PARTITION, operator=weighted)
    node_coefficients(batch, PARTITION, operator=weighted)
    band_frames(batch, PARTITION, operator=weighted)


def test_a_loop_over_batches_hears_it_once_at_its_own_line() -> None:
    network, batch = model(), Batch.from_data_list(graphs(CATEGORIES, edge_attr=torch.rand(4, 2)))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(3):
            network(batch)
    assert len(caught) == 2
    assert {warning.filename for warning in caught} == {__file__}


@pytest.mark.data
@pytest.mark.parametrize("name", NAMES)
def test_data_sets_of_the_tables_carry_nothing_unread(name: str) -> None:
    """The tables read node labels, or labels and attributes; edge labels are not even loaded."""
    for features in ("labels", "attributes"):
        dataset = load_tu(name, features=features)  # type: ignore[arg-type]
        assert all(graph.edge_attr is None and graph.x.is_floating_point() for graph in dataset.graphs)
        GraphBatches.of(dataset.graphs)
