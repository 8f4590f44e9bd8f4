"""Graphs as A-NLSF should not tell them apart, and graphs on a path from one signal to another."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from adacanon.graphs.band_frames import band_frames_of
from adacanon.graphs.bands import Partition
from adacanon.graphs.coefficients import spectra_and_signals
from adacanon.graphs.eigenbases import permuted, redrawn_in_bands
from adacanon.graphs.framed_graphs import FramedGraphs, framed_in
from adacanon.graphs.spectra import Spectrum


@dataclass(frozen=True)
class Preparation:
    """How graphs are prepared: the bands, the shift operator, columns of the frames and steps of the random walk."""

    partition: Partition
    operator: str
    frame: int
    returns: int

    def framed(self, graphs: Sequence[Any], spectra: Sequence[Spectrum]) -> FramedGraphs:
        """The graphs in the frames that follow from these spectra."""
        pairs = [(spectrum, graph.x.double()) for spectrum, graph in zip(spectra, graphs, strict=True)]
        edges = [graph.edge_index for graph in graphs]
        return framed_in(
            graphs, band_frames_of(pairs, edges, self.partition, width=self.frame), walk_steps=self.returns
        )

    def spectra(self, graphs: Sequence[Any]) -> list[Spectrum]:
        """Computed anew: the nodes may have changed places."""
        return [spectrum for spectrum, _ in spectra_and_signals(graphs, self.operator, cache=False)]


def moved(graphs: Sequence[Any], preparation: Preparation, *, seed: int) -> FramedGraphs:
    """The same graphs with their nodes in another order and another basis of every band, both at random."""
    generator = torch.Generator().manual_seed(seed)
    others = [permuted(graph, torch.randperm(graph.num_nodes, generator=generator)) for graph in graphs]
    spectra = [
        redrawn_in_bands(spectrum, preparation.partition, generator=generator)
        for spectrum in preparation.spectra(others)
    ]
    return preparation.framed(others, spectra)


def signal_paths(graphs: Sequence[Any], preparation: Preparation, steps: int, *, seed: int) -> FramedGraphs:
    r"""Signals :math:`(1-t) S + t\,S_\pi` on the graphs, :math:`t \in [0.4, 0.6]`, with :math:`\pi` a random order of
    the nodes: all steps of the first graph, then all of the second, and so on.

    The spectrum stays as it is, and in the middle of the path no signal vanishes: the frames move continuously.
    """
    generator = torch.Generator().manual_seed(seed)
    found, spectra = [], []
    for graph, spectrum in zip(graphs, preparation.spectra(graphs), strict=True):
        other = graph.x[torch.randperm(graph.num_nodes, generator=generator)]
        for t in torch.linspace(0.4, 0.6, steps):
            found.append(_with_signal(graph, torch.lerp(graph.x, other, float(t))))
            spectra.append(spectrum)
    return preparation.framed(found, spectra)


def _with_signal(graph: Any, x: Tensor) -> Any:
    changed = graph.clone()
    changed.x = x
    return changed
