"""A-NLSF as the readout of a graph network, and the controls that tell what its search adds.

All of them are one network: an encoder of nodes, the coefficients of its features in the frames of the bands, and an
MLP. They differ in the bases of the bands that the MLP sees: the ones it scores highest (A-NLSF), the canonical ones as
they are, random ones, the mean of its answers over random ones, or no basis at all but the Gram matrices.
"""

import torch
from torch import Tensor, nn

from adacanon.baselines.graphs.graph_encoder import GraphEncoder
from adacanon.baselines.graphs.graph_networks import mean_over_graphs
from adacanon.core.canonicalized import Canonicalized
from adacanon.errors import UnknownNameError
from adacanon.graphs.anlsf import PAIRS_PER_CHUNK
from adacanon.graphs.band_rotations import BandRotations
from adacanon.graphs.band_search import DRAWS, SHARED_DRAWS, band_search
from adacanon.graphs.coefficients import BandCoefficients
from adacanon.graphs.encoded_anlsf import coefficients_in_frames, invariants
from adacanon.graphs.spectral_mlp import SpectralMLP
from adacanon.maximizers.random_search import RandomSearch

BASES = ("search", "canonical", "random", "mean", "gram")

FEW_DRAWS = 8
"""Under a soft maximum, which takes gradients through all of them."""


class SpectralReadout(nn.Module):
    r"""Scores :math:`f(W_1^\top H U_1, \dots)` of the coefficients of learned node features H in frames W of the bands,
    beside what no basis changes: the norms of the coefficients, the dimensions of the bands, and the mean of H.

    Args:
        encoder: of nodes; all its stages are read, mixed by a linear map to ``features`` channels.
        family: bands and rows per band.
        classes: outputs.
        bases: "search", each class in the bases of its largest score (A-NLSF); "canonical", the frames as they are;
            "random", bases drawn at every step of training, and in evaluation the mean over 32 draws; "mean", the mean
            over 32 draws in both; "gram", the Gram matrices of the coefficients in place of the coefficients.
        features: channels of H.
        frame: columns of W in every band.
        temperature: of "search": above zero, a soft maximum over a few drawn bases, without refinement.

    Shape:
        x (nodes, channels), edge_index (2, edges), graph (nodes,), basis (nodes, bands, frame), sizes and ranks
        (graphs, bands) -> (graphs, classes)
    """

    def __init__(
        self,
        encoder: GraphEncoder,
        family: BandRotations,
        *,
        classes: int,
        bases: str = "search",
        features: int = 16,
        frame: int = 4,
        hidden: int = 128,
        layers: int = 2,
        dropout: float = 0.0,
        temperature: float = 0.0,
        seed: int = 0,
    ) -> None:
        super().__init__()
        if bases not in BASES:
            raise UnknownNameError(f"Bases are {', '.join(BASES)}; got {bases!r}")
        bands = family.partition.bands
        self.encoder, self.family, self.bases = encoder, family, bases
        self.mix = nn.Linear((len(encoder.layers) + 1) * encoder.width, features)
        network = SpectralMLP(
            *_read(family, bases, features, frame),
            classes=classes,
            hidden=hidden,
            layers=layers,
            dropout=dropout,
            invariants=bands * (features + 1) + features,
        )
        self.readout: nn.Module = network
        if bases == "search" and temperature == 0:
            self.readout = _maximum(network, family, seed)
        elif bases == "search":
            self.readout = _over_draws(network, family, FEW_DRAWS, temperature, seed)
        elif bases in ("random", "mean"):
            drawn = 1 if bases == "random" else DRAWS
            self.readout = _over_draws(network, family, DRAWS, torch.inf, seed, in_training=drawn)

    def forward(
        self, x: Tensor, edge_index: Tensor, graph: Tensor, basis: Tensor, sizes: Tensor, ranks: Tensor
    ) -> Tensor:
        h = self.mix(torch.cat(self.encoder.stages(x, edge_index, graph), dim=1))
        factors = coefficients_in_frames(h, graph, basis)
        fixed = torch.cat([invariants(factors, sizes), mean_over_graphs(h, graph)], dim=1)
        if self.bases == "canonical":
            return self.readout((factors.flatten(1, 2), fixed))
        if self.bases == "gram":
            return self.readout((_grams(factors), fixed))
        return self.readout(BandCoefficients(factors, sizes, ranks, fixed))


def _read(family: BandRotations, bases: str, features: int, frame: int) -> tuple[int, int]:
    """Rows and channels of what the MLP sees. Canonical frames are seen whole, also where a search keeps fewer rows."""
    bands = family.partition.bands
    if bases == "gram":
        return bands * features * (features + 1) // 2, 1
    return bands * frame if bases == "canonical" else sum(family.rows_per_band), features


def _maximum(network: SpectralMLP, family: BandRotations, seed: int) -> Canonicalized:
    """The bases of the largest score of every class, by the search of all graph models."""
    return Canonicalized(
        network,
        family,
        band_search(),
        training_search=band_search(low_precision=True),
        chunk_size=PAIRS_PER_CHUNK,
        resample_every=SHARED_DRAWS,
        seed=seed,
    )


def _over_draws(
    network: SpectralMLP,
    family: BandRotations,
    draws: int,
    temperature: float,
    seed: int,
    *,
    in_training: int | None = None,
) -> Canonicalized:
    """A soft maximum, or the mean, over drawn bases; a single one in training is drawn anew at every step."""
    return Canonicalized(
        network,
        family,
        RandomSearch(draws),
        training_search=RandomSearch(in_training or draws),
        temperature=temperature,
        chunk_size=PAIRS_PER_CHUNK,
        resample_every=1 if in_training == 1 else SHARED_DRAWS,
        seed=seed,
    )


def _grams(factors: Tensor) -> Tensor:
    """The upper triangles of the Gram matrices of all bands, (graphs, entries, 1)."""
    features = factors.shape[3]
    above = torch.triu_indices(features, features, device=factors.device)
    grams = factors.mT @ factors
    return grams[:, :, above[0], above[1]].flatten(1).unsqueeze(2)
