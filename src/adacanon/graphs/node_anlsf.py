"""Anisotropic nonlinear spectral filters, A-NLSF, at node level, and a graph classifier made of them."""

from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn

from adacanon.core.canonicalized import Canonicalized
from adacanon.core.maximizer import Maximizer
from adacanon.errors import InputError, ShapeError, UnknownNameError
from adacanon.graphs.band_search import SHARED_DRAWS
from adacanon.graphs.node_rotations import NodeForms, NodeRotations
from adacanon.graphs.spectral_mlp import SpectralMLP
from adacanon.takes import instance, share, takes, text, whole

Pooling = Literal["mean", "sum"]

PAIRS_PER_CHUNK = 256
"""Node features are large per pair; a chunk of them should stay in the cache."""


class NodeFilter(nn.Module):
    r"""Node features :math:`\sum_k (V_kU_k)_{:,1..J_k}\hat S_k` with
    :math:`\hat S = \Psi\big((P_k(U_k^\top V_k^\top S))_k\big)`: analysis, an MLP on all coefficients, synthesis.

    Args:
        rows: :math:`J = \sum_k J_k`.
        channels: T.
        features: columns of :math:`\hat S`.
        hidden: width of the MLP.
        layers: its linear layers in all; with one, the filter is linear.
        dropout: share of its hidden units dropped in training.

    Shape:
        forms to (pairs, nodes, features), zero at nodes that are padding.

    Example:
        >>> forms = NodeForms(torch.ones(2, 4, 3), frames=torch.ones(2, 4, 5), mask=torch.ones(2, 5, dtype=torch.bool))
        >>> NodeFilter(rows=4, channels=3, features=6)(forms).shape
        torch.Size([2, 5, 6])
    """

    @takes(rows=whole(1), channels=whole(1), features=whole(), hidden=whole(1), layers=whole(1), dropout=share)
    def __init__(
        self, rows: int, channels: int, *, features: int = 32, hidden: int = 128, layers: int = 2, dropout: float = 0.0
    ) -> None:
        super().__init__()
        if features < 1:
            raise InputError(f"A node filter gives at least one feature, got features={features}")
        self.shape = (rows, features)
        outputs = rows * features
        self.spectral = SpectralMLP(rows, channels, classes=outputs, hidden=hidden, layers=layers, dropout=dropout)

    def forward(self, forms: NodeForms) -> Tensor:
        if not isinstance(forms, NodeForms):
            raise ShapeError(
                f"{type(self).__name__} expects NodeForms, got {type(forms).__name__}. "
                "Hint: canonicalize it over NodeRotations, not BandRotations"
            )
        return synthesis(forms.frames, self.spectral(forms.coefficients).unflatten(1, self.shape))


class NodeClassifier(nn.Module):
    r"""Class scores :math:`\mathrm{linear}\big(\mathrm{pool}_n\,\phi(\mathrm{relu}(\sqrt N x_n + b))\big)` from the
    node features :math:`x_1, \dots, x_N` of a graph.

    The features are sums of unit vectors, whose entries shrink like :math:`1/\sqrt N`. There is no linear map before
    the first ReLU: synthesis is linear, so that it would only repeat the last layer of the filter.

    Args:
        filter: gives the node features x.
        classes: D.
        layers: linear layers of :math:`\phi`, each followed by a ReLU; the identity if there are none.
        pooling: "mean" or "sum" over the nodes of a graph.

    Example:
        >>> forms = NodeForms(torch.ones(2, 4, 3), frames=torch.ones(2, 4, 5), mask=torch.ones(2, 5, dtype=torch.bool))
        >>> NodeClassifier(NodeFilter(rows=4, channels=3), classes=7)(forms).shape
        torch.Size([2, 7])
    """

    @takes(filter=instance(NodeFilter, "NodeFilter(rows, channels)"), classes=whole(), layers=whole(), pooling=text)
    def __init__(self, filter: NodeFilter, *, classes: int, layers: int = 0, pooling: Pooling = "mean") -> None:
        super().__init__()
        if pooling not in get_args(Pooling):
            raise UnknownNameError(f"Nodes are pooled by {' or '.join(get_args(Pooling))}, got {pooling!r}")
        if layers < 0 or classes < 1:
            raise InputError(f"A classifier needs layers >= 0 and classes >= 1, got {layers} and {classes}")
        width = filter.shape[1]
        self.filter = filter
        self.pooling = pooling
        self.bias = nn.Parameter(torch.zeros(width))
        self.nodes = nn.Sequential(*(part for _ in range(layers) for part in (nn.Linear(width, width), nn.ReLU())))
        self.head = nn.Linear(width, classes)

    def forward(self, forms: NodeForms) -> Tensor:
        root = forms.mask.sum(-1).to(forms.frames.dtype).sqrt()[:, None, None]
        features = self.nodes(torch.addcmul(self.bias, self.filter(forms), root).relu())
        return self.head(pool(features, forms.mask, self.pooling))


def synthesis(frames: Tensor, coefficients: Tensor) -> Tensor:
    """Node features (..., nodes, features) from frames (..., rows, nodes) and coefficients (..., rows, features)."""
    return frames.mT @ coefficients


def pool(features: Tensor, mask: Tensor, pooling: Pooling = "mean") -> Tensor:
    """The mean or sum (..., features) of node features (..., nodes, features) over the nodes in the mask."""
    weight = mask.to(features.dtype)
    if pooling == "mean":
        weight = weight / weight.sum(-1, keepdim=True)
    return (weight.unsqueeze(-2) @ features).squeeze(-2)


def node_anlsf(
    family: NodeRotations,
    channels: int,
    *,
    classes: int,
    hidden: int = 128,
    features: int = 32,
    layers: int = 2,
    node_layers: int = 0,
    pooling: Pooling = "mean",
    search: Maximizer | None = None,
    training_search: Maximizer | None = None,
    resample_every: int = SHARED_DRAWS,
    seed: int = 0,
) -> Canonicalized:
    """Node-level A-NLSF, pooled to classify graphs and canonicalized over the choice of basis in every band.

    It takes torch-geometric ``Data`` and ``Batch`` objects, or :class:`NodeCoefficients` computed beforehand. The node
    features of a graph are :func:`node_embeddings`.

    Args:
        family: bands, rows per band and shift operator.
        channels: node features of the input.
        classes: D.
        hidden: width of the spectral MLP.
        features: node features of the filter.
        layers: linear layers of the spectral MLP.
        node_layers: linear layers on the node features before pooling.
        pooling: "mean" or "sum" over nodes.
        search: 32 draws and one long refinement step if not given.
        training_search: another search for training mode.
        resample_every: training steps that share their draws.

    Example:
        >>> from torch_geometric.data import Data
        >>> from adacanon.graphs import dyadic
        >>> path = Data(x=torch.eye(3), edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
        >>> model = node_anlsf(NodeRotations(dyadic(4), rows=2), channels=3, classes=2)
        >>> model([path, path]).shape
        torch.Size([2, 2])
    """
    if not isinstance(family, NodeRotations):
        raise InputError(f"node_anlsf needs NodeRotations, got {family!r}. Hint: NodeRotations(dyadic(8), rows=4)")
    rows = sum(family.rows_per_band)
    filter = NodeFilter(rows, channels, features=features, hidden=hidden, layers=layers)
    network = NodeClassifier(filter, classes=classes, layers=node_layers, pooling=pooling)
    return Canonicalized(
        network,
        family,
        search,
        training_search=training_search,
        chunk_size=PAIRS_PER_CHUNK,
        seed=seed,
        resample_every=resample_every,
    )


def node_embeddings(model: Canonicalized, g: Any, *, classes: Tensor | None = None) -> Tensor:
    """The node features of a canonicalized filter at the form of one class per graph, the predicted one if not given.

    The search is free of gradients; they flow from the features to the parameters of the filter.

    Args:
        model: whose network has a ``filter`` from forms to node features, such as :func:`node_anlsf`.
        g: graphs, or NodeCoefficients.
        classes: (graphs,)

    Shape:
        (nodes of all graphs, features), in the order of a torch-geometric ``Batch``.

    Example:
        >>> from torch_geometric.data import Data
        >>> from adacanon.graphs import dyadic
        >>> path = Data(x=torch.eye(3), edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
        >>> model = node_anlsf(NodeRotations(dyadic(4), rows=2), channels=3, classes=2, features=5).eval()
        >>> node_embeddings(model, [path, path]).shape
        torch.Size([6, 5])
    """
    filter = getattr(model.network, "filter", None)
    if filter is None:
        raise InputError(
            f"{type(model.network).__name__} has no node features. Hint: node_anlsf gives a model with them"
        )
    found = model.canonicalize(g)
    graph = torch.arange(found.logits.shape[0], device=found.logits.device)
    chosen = _checked_classes(found.logits.argmax(1) if classes is None else classes, found.logits)
    forms = model.family.transform(found.g, found.parameters[graph, chosen], graph)
    return filter(forms)[forms.mask]


def _checked_classes(classes: Tensor, logits: Tensor) -> Tensor:
    graphs, known = logits.shape
    if classes.shape != (graphs,) or int(classes.min()) < 0 or int(classes.max()) >= known:
        raise ShapeError(f"classes must be {graphs} numbers in 0..{known - 1}, one per graph, got {classes.tolist()}")
    return classes.to(logits.device)
