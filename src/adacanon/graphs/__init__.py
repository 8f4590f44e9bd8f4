"""Spectral graph networks: shift operators, spectra, bands, coefficients, band rotations, A-NLSF."""

from adacanon.graphs.anlsf import anlsf
from adacanon.graphs.band_rotations import BandRotations
from adacanon.graphs.bands import Partition, dyadic, uniform
from adacanon.graphs.coefficients import BandCoefficients, band_coefficients, coefficients_of
from adacanon.graphs.spectra import Spectrum, spectra
from adacanon.graphs.spectral_mlp import SpectralMLP

__all__ = [
    "BandCoefficients",
    "BandRotations",
    "Partition",
    "SpectralMLP",
    "Spectrum",
    "anlsf",
    "band_coefficients",
    "coefficients_of",
    "dyadic",
    "spectra",
    "uniform",
]
