"""Spectral graph networks: operators, spectra, bands, coefficients, band rotations, A-NLSF at graph and node level."""

from adacanon.graphs.anlsf import anlsf
from adacanon.graphs.anlsf_readout import ANLSFReadout
from adacanon.graphs.band_rotations import BandRotations
from adacanon.graphs.bands import Partition, dyadic, uniform
from adacanon.graphs.category_embedding import CategoryEmbedding
from adacanon.graphs.coefficients import BandCoefficients, band_coefficients, coefficients_of
from adacanon.graphs.directional import directional_filter
from adacanon.graphs.encoded_anlsf import EncodedANLSF
from adacanon.graphs.framed_graphs import FramedGraphs, framed_graphs
from adacanon.graphs.node_anlsf import NodeClassifier, NodeFilter, node_anlsf, node_embeddings
from adacanon.graphs.node_bases import NodeBases, NodeInputs
from adacanon.graphs.node_coefficients import NodeCoefficients, node_coefficients, node_coefficients_of
from adacanon.graphs.node_labels import MaskedObjective, NodeLabeller, node_labeller, node_scores
from adacanon.graphs.node_rotations import NodeForms, NodeRotations
from adacanon.graphs.partial_spectra import lowest_bands, partial_spectrum
from adacanon.graphs.prepared_graphs import prepared_graphs
from adacanon.graphs.spectra import Spectrum, spectra
from adacanon.graphs.spectral_mlp import SpectralMLP
from adacanon.graphs.symmetric_factors import symmetric_coefficients

__all__ = [
    "ANLSFReadout",
    "BandCoefficients",
    "BandRotations",
    "CategoryEmbedding",
    "EncodedANLSF",
    "FramedGraphs",
    "MaskedObjective",
    "NodeBases",
    "NodeClassifier",
    "NodeCoefficients",
    "NodeFilter",
    "NodeForms",
    "NodeInputs",
    "NodeLabeller",
    "NodeRotations",
    "Partition",
    "SpectralMLP",
    "Spectrum",
    "anlsf",
    "band_coefficients",
    "coefficients_of",
    "directional_filter",
    "dyadic",
    "framed_graphs",
    "lowest_bands",
    "node_anlsf",
    "node_coefficients",
    "node_coefficients_of",
    "node_embeddings",
    "node_labeller",
    "node_scores",
    "partial_spectrum",
    "prepared_graphs",
    "spectra",
    "symmetric_coefficients",
    "uniform",
]
