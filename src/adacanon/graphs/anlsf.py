"""Anisotropic nonlinear spectral filters, A-NLSF, at graph level."""

from itertools import pairwise

from torch import Tensor, nn

from adacanon.core.canonicalized import Canonicalized
from adacanon.core.maximizer import Maximizer
from adacanon.errors import InputError, ShapeError
from adacanon.graphs.band_rotations import BandRotations
from adacanon.maximizers.sample_and_refine import SampleAndRefine

PAIRS_PER_CHUNK = 2048
"""An MLP on a few hundred coefficients is so cheap per pair that calls, not memory, set the size of a chunk."""


class SpectralMLP(nn.Module):
    r"""The symmetryless network :math:`\Psi : \mathbb R^{J\times T} \to \mathbb R^D`, an MLP on all coefficients.

    Args:
        rows: :math:`J = \sum_k J_k`.
        channels: T.
        classes: D.
        hidden: width.
        layers: linear layers in all.
        dropout: share of hidden units dropped in training.
    """

    def __init__(
        self, rows: int, channels: int, *, classes: int, hidden: int = 128, layers: int = 3, dropout: float = 0.0
    ) -> None:
        super().__init__()
        if layers < 1:
            raise InputError(f"An MLP needs at least one layer, got {layers}")
        widths = [rows * channels, *[hidden] * (layers - 1)]
        blocks: list[nn.Module] = [nn.Flatten()]
        for a, b in pairwise(widths):
            blocks += [nn.Linear(a, b), nn.ReLU(), nn.Dropout(dropout)]
        self.shape = (rows, channels)
        self.layers = nn.Sequential(*blocks, nn.Linear(widths[-1], classes))

    def forward(self, coefficients: Tensor) -> Tensor:
        if coefficients.shape[1:] != self.shape:
            raise ShapeError(
                f"SpectralMLP expects coefficients of shape (pairs, {self.shape[0]}, {self.shape[1]}), "
                f"got {tuple(coefficients.shape)}. Hint: rows is the sum of J_k, channels the number of node features"
            )
        return self.layers(coefficients)


def anlsf(
    family: BandRotations,
    channels: int,
    *,
    classes: int,
    hidden: int = 128,
    layers: int = 3,
    maximizer: Maximizer | None = None,
    seed: int = 0,
) -> Canonicalized:
    """A-NLSF: an MLP on spectral coefficients, canonicalized over the choice of basis in every band.

    It takes torch-geometric ``Data`` and ``Batch`` objects, or :class:`BandCoefficients` computed beforehand.

    Args:
        family: bands, rows per band and shift operator.
        channels: node features.
        classes: D.
        maximizer: 32 draws and three refinement steps if not given.
    """
    network = SpectralMLP(sum(family.rows_per_band), channels, classes=classes, hidden=hidden, layers=layers)
    return Canonicalized(network, family, maximizer or SampleAndRefine(samples=32), chunk=PAIRS_PER_CHUNK, seed=seed)
