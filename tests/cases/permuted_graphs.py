"""The same graph with its nodes in another order."""

from torch import Tensor
from torch_geometric.data import Data


def permuted(graph: Data, order: Tensor) -> Data:
    """Node i of the result is node ``order[i]``."""
    place = order.argsort()
    return Data(x=graph.x[order], edge_index=place[graph.edge_index], num_nodes=graph.num_nodes)
