"""Baselines on graphs: message passing, frame averaging, canonical eigenvectors, nonlinear spectral filters, S2GNN."""

from adacanon.baselines.graphs.axis_projection import (
    CanonicalEigenvectors,
    WithEncodings,
    axis_projection_encodings,
    axis_projection_gin,
    canonical_eigenvectors,
)
from adacanon.baselines.graphs.frame_averaging import FrameAveraged, batch_frame, frame_averaged_gin
from adacanon.baselines.graphs.frame_draws import FrameDraws
from adacanon.baselines.graphs.graph_baseline import GraphBaseline
from adacanon.baselines.graphs.graph_encoder import GraphEncoder
from adacanon.baselines.graphs.graph_networks import GraphNetwork
from adacanon.baselines.graphs.message_passing import ResidualGraphNetwork, degree_histogram, gated_gcn, pna
from adacanon.baselines.graphs.nlsf import NLSF, NLSFEncoder, index_bands, value_bands
from adacanon.baselines.graphs.padding import padded_spectra
from adacanon.baselines.graphs.s2gnn import S2GNN, lowest
from adacanon.baselines.graphs.spatio_spectral import SpatioSpectral, spectral_encodings
from adacanon.baselines.graphs.structure_agnostic import StructureAgnostic

__all__ = [
    "NLSF",
    "S2GNN",
    "CanonicalEigenvectors",
    "FrameAveraged",
    "FrameDraws",
    "GraphBaseline",
    "GraphEncoder",
    "GraphNetwork",
    "NLSFEncoder",
    "ResidualGraphNetwork",
    "SpatioSpectral",
    "StructureAgnostic",
    "WithEncodings",
    "axis_projection_encodings",
    "axis_projection_gin",
    "batch_frame",
    "canonical_eigenvectors",
    "degree_histogram",
    "frame_averaged_gin",
    "gated_gcn",
    "index_bands",
    "lowest",
    "padded_spectra",
    "pna",
    "spectral_encodings",
    "value_bands",
]
