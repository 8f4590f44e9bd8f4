"""The rivals on graphs, as plain modules."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from adacanon.baselines.graphs import (
    NLSF,
    S2GNN,
    FrameDraws,
    GraphBaseline,
    GraphNetwork,
    NLSFEncoder,
    NodeCheb,
    NodeGAT,
    NodeGCN,
    NodeMLP,
    ResidualNodeGCN,
    SpatioSpectral,
    StructureAgnostic,
    axis_projection_encodings,
    axis_projection_gin,
    batch_frame,
    canonical_eigenvectors,
    degree_histogram,
    frame_averaged_gin,
    gated_gcn,
    index_bands,
    label_propagation,
    lowest,
    padded_spectra,
    pna,
    spectral_encodings,
    value_bands,
)
from adacanon.baselines.graphs.graph_encoder import CONVOLUTIONS, WITHOUT_EDGE_FEATURES
from adacanon.baselines.graphs.graph_networks import KINDS
from adacanon.core.pytree import Tree
from adacanon.graphs.shift_operators import shift_matrix
from cases.on_any_device.case import CLASSES, ON_CPU, Case, Move, of_network
from cases.on_any_device.graph_models import CHANNELS, batch, graphs

SIZES: dict[str, Any] = {"hidden": 8, "layers": 2}
NODE_NETWORKS = (NodeMLP, NodeGCN, NodeGAT, NodeCheb, ResidualNodeGCN)
FREQUENCIES = 4


def graph_inputs() -> tuple[Tensor, Tensor, Tensor]:
    one = batch()
    return one.x, one.edge_index, one.batch


def _with_edges() -> tuple[Tensor, ...]:
    x, edges, graph = graph_inputs()
    return x, edges, graph, torch.stack([x[edges[0], 0], x[edges[1], 1]], 1)


def _degrees() -> Tensor:
    return degree_histogram((graph.edge_index, graph.num_nodes) for graph in graphs())


def _spectra() -> list[tuple[Tensor, Tensor]]:
    pairs = [torch.linalg.eigh(shift_matrix(graph)) for graph in graphs()]
    return [(pair.eigenvalues.float(), pair.eigenvectors.float()) for pair in pairs]


def _baseline(kind: str, edges: int | None = None) -> Callable[[], nn.Module]:
    degrees = _degrees() if kind == "pna" else None
    return lambda: GraphBaseline(kind, CHANNELS, classes=CLASSES, edges=edges, width=8, layers=2, degrees=degrees)


def _nlsf() -> nn.Module:
    return NLSF([NLSFEncoder(CHANNELS, 3, hidden=8)], classes=CLASSES, hidden=8)


def banded() -> tuple[Any, ...]:
    x, _, graph = graph_inputs()
    _, vectors = padded_spectra(_spectra())
    bands = torch.nn.utils.rnn.pad_sequence(
        [index_bands(own, 3) for own, _ in _spectra()], batch_first=True, padding_value=-1
    )
    return x, graph, (bands, vectors)


def _low() -> tuple[Tensor, ...]:
    pairs = [lowest(*spectrum, FREQUENCIES) for spectrum in _spectra()]
    return (*graph_inputs(), *padded_spectra(pairs))


def _encoded() -> tuple[Tensor, ...]:
    """With relative encodings of the eigenvectors."""
    given = [(spectral_encodings(*pair, one.edge_index)) for pair, one in zip(_spectra(), graphs(), strict=True)]
    wide = max(own.shape[1] for own in given)
    encodings = torch.cat([nn.functional.pad(own, (0, wide - own.shape[1])) for own in given])
    return (*graph_inputs(), encodings, *padded_spectra(_spectra()))


def _frequencies() -> int:
    return _encoded()[3].shape[1]


def _framed() -> tuple[Tensor, ...]:
    frame = batch_frame(_spectra(), 2, elements=3, generator=torch.Generator().manual_seed(0))
    return (*graph_inputs(), frame.float())


def _projected() -> tuple[Tensor, ...]:
    return (*graph_inputs(), axis_projection_encodings(_spectra(), 3).float())


def _functions(move: Move) -> dict[str, Tree]:
    pairs = move(_spectra())
    x, edges, _ = move(graph_inputs())
    values, vectors = pairs[0]
    labels, known = move(torch.arange(len(x)) % CLASSES), move(torch.arange(len(x)) % 2 == 0)
    generator = torch.Generator().manual_seed(0)
    return {
        "padded": padded_spectra(pairs),
        "lowest": lowest(values, vectors, 3),
        "bands": (index_bands(values, 3), value_bands(values, 3)),
        "encodings": spectral_encodings(values, vectors, move(graphs()[0].edge_index)),
        "spread labels": label_propagation(labels, known, edges, classes=CLASSES, steps=3),
        "degrees": degree_histogram([(move(graphs()[0].edge_index), 9)]),
        f"{ON_CPU}frame": batch_frame(pairs, 2, elements=3, generator=generator),
        f"{ON_CPU}drawn": FrameDraws.of(pairs, 2).draw(move(torch.tensor([0, 2])), 3, generator=generator),
        f"{ON_CPU}canonical": canonical_eigenvectors(values, vectors).eigenvectors,
        f"{ON_CPU}axis projections": axis_projection_encodings(pairs, 3),
    }


CASES: dict[str, Case] = {
    **{
        f"rival GraphNetwork {kind}": of_network(
            lambda kind=kind: GraphNetwork(kind, CHANNELS, classes=CLASSES, **SIZES), graph_inputs
        )
        for kind in KINDS
    },
    **{f"rival GraphBaseline {kind}": of_network(_baseline(kind), graph_inputs) for kind in CONVOLUTIONS},
    **{
        f"rival GraphBaseline {kind} with edges": of_network(_baseline(kind, 2), _with_edges)
        for kind in CONVOLUTIONS
        if kind not in WITHOUT_EDGE_FEATURES
    },
    "rival gated_gcn": of_network(lambda: gated_gcn(CHANNELS, classes=CLASSES, **SIZES), graph_inputs),
    "rival pna": of_network(lambda: pna(CHANNELS, _degrees(), classes=CLASSES, **SIZES), graph_inputs),
    "rival StructureAgnostic": of_network(lambda: StructureAgnostic(CHANNELS, classes=CLASSES, width=8), graph_inputs),
    "rival NLSF": of_network(_nlsf, banded),
    "rival S2GNN": of_network(lambda: S2GNN(CHANNELS, classes=CLASSES, gaussians=5, **SIZES), _low),
    "rival SpatioSpectral": of_network(
        lambda: SpatioSpectral(
            CHANNELS, _frequencies(), classes=CLASSES, width=8, layers=2, encoding=3, dropout=0.0
        ),  # off the processor torch draws the masks, other ones than ours
        _encoded,
    ),
    "rival FrameAveraged": of_network(
        lambda: frame_averaged_gin(CHANNELS, classes=CLASSES, encodings=2, **SIZES), _framed
    ),
    "rival WithEncodings": of_network(
        lambda: axis_projection_gin(CHANNELS, classes=CLASSES, encodings=3, **SIZES), _projected
    ),
    **{
        f"rival {network.__name__}": of_network(
            lambda network=network: network(CHANNELS, classes=CLASSES, hidden=8), lambda: graph_inputs()[:2]
        )
        for network in NODE_NETWORKS
    },
    "functions of graphs": _functions,
}
