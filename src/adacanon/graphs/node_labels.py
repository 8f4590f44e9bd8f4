"""Classes of nodes: A-NLSF with one shared form per graph, trained on masks of nodes."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from adacanon.arguments import whole_number
from adacanon.core.canonicalized import Canonicalized
from adacanon.core.loss import cross_entropy
from adacanon.core.objective import LossAndLogits
from adacanon.core.shared_priors import NegativeEntropy
from adacanon.core.soft import Temperature
from adacanon.errors import InputError, ShapeError
from adacanon.graphs.node_anlsf import NodeFilter
from adacanon.graphs.node_bases import NodeBases, NodeInputs
from adacanon.graphs.node_rotations import NodeForms, NodeRotations
from adacanon.takes import instance, share, takes, whole


class NodeLabeller(nn.Module):
    r"""Class scores :math:`\phi\big(\mathrm{relu}(\sqrt N x_n + As_n + b)\big)` of every node n, from its part
    :math:`x_n` of a node-level filter and its own features :math:`s_n`.

    The filter gives unit vectors times coefficients, whose entries shrink like :math:`1/\sqrt N`.

    Args:
        filter: gives the node features x.
        channels: T, features of a node of its own.
        classes: D.
        layers: linear layers of :math:`\phi`, the last one included.
        dropout: share of hidden units dropped in training.

    Example:
        >>> forms = NodeForms(torch.ones(2, 4, 3), frames=torch.ones(2, 4, 5), mask=torch.ones(2, 5, dtype=torch.bool))
        >>> NodeLabeller(NodeFilter(rows=4, channels=3), 3, classes=7)((forms, torch.ones(2, 5, 3))).shape
        torch.Size([2, 5, 7])
    """

    @takes(
        filter=instance(NodeFilter, "NodeFilter(rows, channels)"),
        channels=whole(1),
        classes=whole(1),
        layers=whole(1),
        dropout=share,
    )
    def __init__(
        self, filter: NodeFilter, channels: int, *, classes: int, layers: int = 2, dropout: float = 0.0
    ) -> None:
        super().__init__()
        classes = whole_number("NodeLabeller", "classes", classes, least=1)
        layers = whole_number("NodeLabeller", "layers", layers, least=1)
        width = filter.shape[1]
        self.filter = filter
        self.own = nn.Linear(channels, width)
        self.dropout = nn.Dropout(dropout)
        hidden = (part for _ in range(layers - 1) for part in (nn.Linear(width, width), nn.ReLU(), nn.Dropout(dropout)))
        self.head = nn.Sequential(*hidden, nn.Linear(width, classes))

    def forward(self, form: tuple[NodeForms, Tensor]) -> Tensor:
        forms, features = form
        if features.shape[-1] != self.own.in_features:
            raise ShapeError(
                f"NodeLabeller expects {self.own.in_features} features of every node, got {features.shape[-1]}. "
                "Hint: channels is the number of node features, graph.x.shape[1]"
            )
        root = forms.mask.sum(-1).to(features.dtype).sqrt()[:, None, None]
        hidden = torch.addcmul(self.own(self.dropout(features)), self.filter(forms), root).relu()
        return self.head(self.dropout(hidden)) * forms.mask.unsqueeze(-1)


@takes(family=instance(NodeRotations, "NodeRotations(dyadic(8), rows=4)"))
def node_labeller(
    family: NodeRotations,
    channels: int,
    *,
    classes: int,
    candidates: int = 16,
    temperature: float | Sequence[float] | Tensor | Temperature = 0.0,
    hidden: int = 64,
    features: int = 64,
    layers: int = 2,
    node_layers: int = 2,
    dropout: float = 0.5,
) -> Canonicalized:
    r"""A-NLSF that classifies nodes, with one basis for a whole graph: that in which the classes of its nodes are most
    certain, of least mean entropy.

    The candidates are constants (:class:`NodeBases`): the answer depends on no random number and on no eigenbasis, in
    training as in evaluation. ``node_scores`` gives the scores of all nodes, :class:`MaskedObjective` trains them.

    Args:
        family: bands, rows per band and shift operator. For graphs of more than 2,000 nodes take bands that are
            partial, such as :func:`lowest_bands`.
        channels: node features of the input.
        classes: D.
        candidates: bases that are compared.
        temperature: blend the scores in all bases by their certainty instead of taking the most certain one;
            infinity is the mean.
        hidden: width of the spectral MLP.
        features: width of the network at the nodes.
        layers: linear layers of the spectral MLP.
        node_layers: linear layers at the nodes.
        dropout: share of units dropped in training.

    Example:
        >>> from torch_geometric.data import Data
        >>> from adacanon.graphs import dyadic
        >>> path = Data(x=torch.eye(3), edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
        >>> model = node_labeller(NodeRotations(dyadic(4), rows=2), channels=3, classes=2).eval()
        >>> node_scores(model, [path, path]).shape
        torch.Size([6, 2])
    """
    bases = NodeBases(family, candidates=candidates)
    rows = sum(family.rows_per_band)
    filter = NodeFilter(rows, channels, features=features, hidden=hidden, layers=layers, dropout=dropout)
    network = NodeLabeller(filter, channels, classes=classes, layers=node_layers, dropout=dropout)
    return Canonicalized(network, bases, prior=NegativeEntropy(), temperature=temperature)


def node_scores(model: Canonicalized, g: Any) -> Tensor:
    """Class scores of all nodes, (nodes of all graphs, classes), in the order of a torch-geometric ``Batch``.

    Args:
        model: from :func:`node_labeller`.
        g: graphs, or ``model.prepare(graphs)`` computed once.

    Example:
        >>> from torch_geometric.data import Data
        >>> from adacanon.graphs import dyadic
        >>> path = Data(x=torch.eye(3), edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
        >>> model = node_labeller(NodeRotations(dyadic(4), rows=2), channels=3, classes=2).eval()
        >>> node_scores(model, path).argmax(1).shape
        torch.Size([3])
    """
    if not isinstance(model.family, NodeBases):
        raise InputError(f"node_scores needs a model of nodes, got one over {model.family!r}. Hint: node_labeller")
    inputs: NodeInputs = model.family.prepare(g)
    return model(inputs)[inputs.mask]


class MaskedObjective(nn.Module):
    """The loss of the nodes in a mask; labels of all other nodes are never read.

    Args:
        model: from :func:`node_labeller`.
        loss: from scores and targets of the nodes in the mask to a scalar; ``one_vs_rest`` takes several labels per
            node.

    Example:
        >>> from torch_geometric.data import Data
        >>> from adacanon.graphs import dyadic
        >>> path = Data(x=torch.eye(3), edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
        >>> model = node_labeller(NodeRotations(dyadic(4), rows=2), channels=3, classes=2)
        >>> labels, train = torch.tensor([0, 1, -100]), torch.tensor([True, True, False])
        >>> loss, scores = MaskedObjective(model)(path, labels, train)
        >>> scores.shape
        torch.Size([3, 2])
    """

    def __init__(self, model: Canonicalized, *, loss: Callable[[Tensor, Tensor], Tensor] = cross_entropy) -> None:
        super().__init__()
        self.model = model
        self.loss = loss

    def forward(self, g: Any, labels: Tensor, mask: Tensor) -> LossAndLogits:
        """The loss, and the scores of all nodes.

        Args:
            g: graphs, or ``model.prepare(graphs)``.
            labels: of all nodes, (nodes,) or (nodes, classes); outside the mask they may be anything.
            mask: which nodes to learn from, (nodes,) of booleans.
        """
        scores = node_scores(self.model, g)
        _check_mask(mask, labels, nodes=len(scores))
        return LossAndLogits(self.loss(scores[mask], labels[mask]), scores.detach())


def _check_mask(mask: Tensor, labels: Tensor, *, nodes: int) -> None:
    if mask.dtype != torch.bool or mask.shape != (nodes,):
        raise ShapeError(
            f"A mask has one boolean for each of the {nodes} nodes, got shape {tuple(mask.shape)} of {mask.dtype}. "
            "Hint: mask.bool(), or from indices mask = torch.zeros(nodes, dtype=torch.bool); mask[index] = True"
        )
    if len(labels) != nodes:
        raise ShapeError(f"labels must have a row for each of the {nodes} nodes, got {tuple(labels.shape)}")
    if not bool(mask.any()):
        raise InputError("The mask is empty: no node to learn from")
