"""Layers of torch-geometric whose messages are :class:`Messages`: their parameters, initialisation and normalisation,
and another order of the same sums.
"""

from torch import Tensor
from torch_geometric.nn import ChebConv, GCNConv
from torch_geometric.nn.conv.gcn_conv import gcn_norm

from adacanon.baselines.graphs.sparse_messages import Messages


class ProductGCN(GCNConv):
    """``GCNConv``."""

    @staticmethod
    def messages(x: Tensor, edge_index: Tensor) -> Messages:
        """What all layers of a network on these nodes and edges share."""
        nodes = x.shape[0]
        return Messages.along(*gcn_norm(edge_index, num_nodes=nodes, dtype=x.dtype), nodes=nodes)

    def forward(self, x: Tensor, messages: Messages) -> Tensor:
        return messages(self.lin(x)) + self.bias


class ProductCheb(ChebConv):
    """``ChebConv``."""

    def messages(self, x: Tensor, edge_index: Tensor) -> Messages:
        """What all layers of a network on these nodes and edges share."""
        nodes = x.shape[0]
        weighted = self.__norm__(edge_index, nodes, None, self.normalization, dtype=x.dtype)
        return Messages.along(*weighted, nodes=nodes)

    def forward(self, x: Tensor, messages: Messages) -> Tensor:
        terms = [x]
        while len(terms) < len(self.lins):
            turned = messages(terms[-1])
            terms.append(turned if len(terms) == 1 else 2 * turned - terms[-2])
        return sum(lin(term) for lin, term in zip(self.lins, terms, strict=True)) + self.bias
