"""The rows of the toy tables that read eigenvectors: all samples live on one graph, so one spectrum serves them all."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn

from adacanon.baselines.graphs.axis_projection import axis_projection_encodings, axis_projection_gin
from adacanon.baselines.graphs.frame_averaging import batch_frame, frame_averaged_gin
from adacanon.baselines.graphs.nlsf import NLSF, NLSFEncoder, index_bands, value_bands
from adacanon.baselines.graphs.s2gnn import S2GNN, lowest
from adacanon.experiments.toy.shared_graph import GRAPHS_PER_PASS, OnOneGraph
from adacanon.graphs.spectra import Spectrum
from adacanon.runs.run import Settings

CHANNELS, CLASSES = 2, 2


@dataclass(frozen=True)
class EigenvectorMethod:
    """A network that reads eigenvectors of the graph.

    Attributes:
        network: the untrained network, from the settings.
        on_one_graph: how it is called with copies of the graph that has a spectrum.
        settings: what it has beside width, depth and learning rate.
        graphs_per_pass: how many copies of the graph a pass takes.
    """

    network: Callable[[Settings], nn.Module]
    on_one_graph: Callable[[Spectrum, Settings], OnOneGraph]
    settings: Settings
    graphs_per_pass: int = GRAPHS_PER_PASS


def _sizes(options: Settings) -> dict[str, int]:
    return {"hidden": options["hidden"], "layers": options["layers"]}


def _frame_averaged(options: Settings) -> nn.Module:
    return frame_averaged_gin(CHANNELS, classes=CLASSES, encodings=options["encodings"], **_sizes(options))


def _axis_projected(options: Settings) -> nn.Module:
    return axis_projection_gin(CHANNELS, classes=CLASSES, encodings=options["encodings"], **_sizes(options))


def _nlsf(options: Settings) -> nn.Module:
    encoder = partial(NLSFEncoder, CHANNELS, options["bands"], hidden=options["hidden"], layers=options["layers"])
    encoders = [encoder(), encoder()]
    return NLSF(encoders, classes=CLASSES, hidden=options["hidden"])


def _s2gnn(options: Settings) -> nn.Module:
    return S2GNN(CHANNELS, classes=CLASSES, **_sizes(options))


def _with_frames(spectrum: Spectrum, options: Settings) -> OnOneGraph:
    """Some random elements of the frame in training, and all choices of signs in evaluation.

    The first eigenvalue of a torus has multiplicity four, where a frame is infinite: each element draws its basis, anew
    at every call in training, and the same ones in evaluation.
    """
    frame = partial(batch_frame, [(spectrum.eigenvalues, spectrum.eigenvectors)], options["encodings"])

    def scores(module: nn.Module, x: Tensor, edge_index: Tensor, graph: Tensor) -> Tensor:
        if module.training:
            elements = frame(elements=options["drawn"])
        else:
            elements = frame(generator=torch.Generator().manual_seed(0))
        return module(x, edge_index, graph, _copied(_unit_scale(elements), graph))

    return scores


def _with_encodings(spectrum: Spectrum, options: Settings) -> OnOneGraph:
    pair = (spectrum.eigenvalues, spectrum.eigenvectors)
    encodings = _unit_scale(axis_projection_encodings([pair], options["encodings"])).unsqueeze(0)
    return lambda module, x, edge_index, graph: module(x, edge_index, graph, _copied(encodings, graph)[0])


def _with_bands(spectrum: Spectrum, options: Settings) -> OnOneGraph:
    """Index and value filters, of one Laplacian: on a regular graph the normalized one has the same eigenvectors."""
    values, vectors = _lowest(spectrum, options["eigenvectors"])
    index, value = index_bands(values, options["bands"]), value_bands(values, options["bands"])
    return lambda module, x, edge_index, graph: module(x, graph, (index, vectors), (value, vectors))


def _with_lowest(spectrum: Spectrum, options: Settings) -> OnOneGraph:
    values, vectors = _lowest(spectrum, options["eigenvectors"])
    return lambda module, x, edge_index, graph: module(x, edge_index, graph, values, vectors)


def _lowest(spectrum: Spectrum, count: int) -> tuple[Tensor, Tensor]:
    """Eigenvalues (1, m) and eigenvectors (1, nodes, m) that serve all graphs of a pass."""
    values, vectors = lowest(spectrum.eigenvalues, spectrum.eigenvectors, count)
    return values.float().unsqueeze(0), vectors.float().unsqueeze(0)


def _unit_scale(vectors: Tensor) -> Tensor:
    """Unit vectors on N nodes have entries of order :math:`N^{-1/2}`; beside the signals they should have order one."""
    return vectors.float() * vectors.shape[-2] ** 0.5


def _copied(elements: Tensor, graph: Tensor) -> Tensor:
    """Encodings (elements, nodes, p) of one graph for all its copies."""
    return elements.repeat(1, int(graph[-1]) + 1, 1)


EIGENVECTOR_METHODS: dict[str, EigenvectorMethod] = {
    # every frame element is one more copy of each graph
    "FA+GIN": EigenvectorMethod(_frame_averaged, _with_frames, {"encodings": 3, "drawn": 2}, graphs_per_pass=5),
    "OAP+GIN": EigenvectorMethod(_axis_projected, _with_encodings, {"encodings": 8}),
    "NLSF": EigenvectorMethod(_nlsf, _with_bands, {"bands": 8, "eigenvectors": 32}),
    "S2GNN": EigenvectorMethod(_s2gnn, _with_lowest, {"eigenvectors": 32}),
}
