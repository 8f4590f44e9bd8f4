"""Anisotropic nonlinear spectral filters, A-NLSF, at graph level."""

from collections.abc import Sequence

from torch import Tensor

from adacanon.core.canonicalized import Canonicalized
from adacanon.core.maximizer import Maximizer
from adacanon.core.soft import Temperature
from adacanon.graphs.band_rotations import BandRotations
from adacanon.graphs.band_search import SHARED_DRAWS, search_under
from adacanon.graphs.spectral_mlp import SpectralMLP
from adacanon.takes import instance, takes, whole

PAIRS_PER_CHUNK = 2048
"""An MLP on a few hundred coefficients is so cheap per pair that calls, not memory, set the size of a chunk."""


@takes(
    family=instance(BandRotations, "BandRotations(dyadic(8), rows=4)"),
    channels=whole(1),
    classes=whole(1),
    hidden=whole(1),
)
def anlsf(
    family: BandRotations,
    channels: int,
    *,
    classes: int,
    hidden: int = 128,
    layers: int = 3,
    search: Maximizer | None = None,
    training_search: Maximizer | None = None,
    temperature: float | Sequence[float] | Tensor | Temperature = 0.0,
    resample_every: int = SHARED_DRAWS,
    seed: int = 0,
) -> Canonicalized:
    """A-NLSF: an MLP on spectral coefficients, canonicalized over the choice of basis in every band.

    It takes torch-geometric ``Data`` and ``Batch`` objects, or :class:`BandCoefficients` computed beforehand.

    Args:
        family: bands, rows per band and shift operator.
        channels: node features.
        classes: D.
        search: 32 draws and one long refinement step if not given; with a temperature, the draws alone.
        training_search: another search for training mode; if no search is given, the same one with draws ranked in
            bfloat16.
        temperature: from the maximum over bases (0, the paper's rule) to the mean (infinity), as in ``Canonicalized``.
        resample_every: training steps that share their draws.

    Example:
        >>> import torch
        >>> from torch_geometric.data import Batch, Data
        >>> from adacanon.graphs import dyadic
        >>> path = Data(x=torch.eye(3), edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
        >>> model = anlsf(BandRotations(dyadic(4), rows=2), channels=3, classes=2)
        >>> model(Batch.from_data_list([path, path])).shape
        torch.Size([2, 2])
    """
    network = SpectralMLP(sum(family.rows_per_band), channels, classes=classes, hidden=hidden, layers=layers)
    return Canonicalized(
        network,
        family,
        search_under(temperature) if search is None else search,
        training_search=training_search,
        temperature=temperature,
        chunk_size=PAIRS_PER_CHUNK,
        seed=seed,
        resample_every=resample_every,
    )
