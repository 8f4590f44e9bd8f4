"""Batches cut out of flat tensors, against torch-geometric's collation."""

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Batch, Data

from adacanon.data.graph_batches import GraphBatches
from adacanon.data.tu import NAMES, load_tu
from adacanon.errors import InputError, ShapeError


def random_graphs(generator: torch.Generator, count: int = 20) -> list[Data]:
    """Some of them without edges, and some nodes of the others isolated."""
    graphs = []
    for i in range(count):
        nodes, edges = 1 + i % 7, (3 * i) % 11
        edge_index = torch.randint(nodes, (2, edges), generator=generator)
        graphs.append(Data(x=torch.randn(nodes, 3, generator=generator), edge_index=edge_index))
    return graphs


def assert_like_torch_geometric(graphs: list[Data], index: Tensor) -> None:
    x, edge_index, graph = GraphBatches.of(graphs).batch(index)
    expected = Batch.from_data_list([graphs[i] for i in index.tolist()])
    assert torch.equal(x, expected.x)
    assert torch.equal(edge_index, expected.edge_index)
    assert torch.equal(graph, expected.batch)


@pytest.mark.parametrize("index", [list(range(20)), [3], [0], [19, 2, 7, 5], [4, 4, 11, 4], [0, 11], [11]])
def test_any_choice_of_graphs_is_torch_geometrics_batch(index: list[int], generator: torch.Generator) -> None:
    assert_like_torch_geometric(random_graphs(generator), torch.tensor(index))


def test_the_length_is_the_number_of_graphs(generator: torch.Generator) -> None:
    assert len(GraphBatches.of(random_graphs(generator, 13)).to("cpu")) == 13


@pytest.mark.parametrize(
    "index", [torch.zeros(0).long(), torch.ones(20).bool(), torch.tensor(3), torch.ones(2, 2).long()]
)
def test_an_index_that_names_no_graphs_is_refused(index: Tensor, generator: torch.Generator) -> None:
    with pytest.raises(ShapeError, match=r"shape \(graphs,\) and type int64"):
        GraphBatches.of(random_graphs(generator)).batch(index)


@pytest.mark.parametrize("stranger", [-1, 20])
def test_graphs_that_do_not_exist_are_refused(stranger: int, generator: torch.Generator) -> None:
    with pytest.raises(InputError, match=rf"0..19, got .*{stranger}"):
        GraphBatches.of(random_graphs(generator)).batch(torch.tensor([2, stranger]))


def test_graphs_that_do_not_fit_together_are_refused(generator: torch.Generator) -> None:
    graphs = random_graphs(generator)
    with pytest.raises(InputError, match="at least one graph"):
        GraphBatches.of([])
    for other in (Data(x=torch.ones(2, 4), edge_index=graphs[0].edge_index), Data(edge_index=graphs[0].edge_index)):
        with pytest.raises(ShapeError, match="same number of channels"):
            GraphBatches.of([*graphs, other])


@pytest.mark.data
@pytest.mark.parametrize("name", NAMES)
def test_batches_of_real_data_are_torch_geometrics(name: str, generator: torch.Generator) -> None:
    graphs = load_tu(name).graphs
    assert_like_torch_geometric(graphs, torch.randperm(len(graphs), generator=generator)[:128])
