"""What every A-NLSF behind a node encoder has: it encodes, projects, and hands on to the canonicalized network."""

from abc import abstractmethod
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from adacanon.core.answers import Kind
from adacanon.core.canonical import Canonical
from adacanon.core.canonicalized import Canonicalized
from adacanon.core.evaluation_mode import in_evaluation_mode
from adacanon.core.landscape import Landscape
from adacanon.core.maximizer import Maximizer, SearchResult
from adacanon.core.prior import Prior
from adacanon.core.soft import Temperature
from adacanon.graphs.band_rotations import BandRotations
from adacanon.graphs.coefficients import BandCoefficients
from adacanon.graphs.framed_graphs import FramedGraphs


class BehindEncoder(nn.Module):
    """A canonicalized network on coefficients of encoded graphs, used like a ``Canonicalized`` network.

    A leaf gives ``encoder`` and ``canonicalized``, and says how graphs are framed and encoded.
    """

    encoder: nn.Module
    canonicalized: Canonicalized

    @abstractmethod
    def framed(self, g: Any) -> FramedGraphs:
        """Graphs as the model reads them; those prepared beforehand are returned as they are."""

    @abstractmethod
    def coefficients(self, encoder: Any, g: FramedGraphs) -> BandCoefficients:
        """The coefficients of graphs under an encoder: the model's own, or its twin in evaluation mode."""

    @property
    def family(self) -> BandRotations:
        """Bands, rows per band and shift operator."""
        family = self.canonicalized.family
        assert isinstance(family, BandRotations)
        return family

    @property
    def answers(self) -> Kind:
        """Answers about whole graphs do not move with the input."""
        return self.canonicalized.answers

    @property
    def prior(self) -> Prior:
        """The prior of the canonicalized network."""
        return self.canonicalized.prior

    @property
    def temperature(self) -> Temperature | None:
        """The temperature of the canonicalized network."""
        return self.canonicalized.temperature

    def forward(
        self,
        g: Any,
        *,
        ids: Tensor | None = None,
        generator: torch.Generator | None = None,
        budget: float | None = None,
    ) -> Tensor:
        """The answers (graphs, outputs) for a batch of graphs; the other arguments are those of ``Canonicalized``."""
        return self.canonicalized(self.prepare(g), ids=ids, generator=generator, budget=budget)

    def canonicalize(
        self,
        g: Any,
        *,
        ids: Tensor | None = None,
        generator: torch.Generator | None = None,
        budget: float | None = None,
    ) -> Canonical:
        """Search, and return everything that was found; no gradients, and encoder and network in evaluation mode."""
        with torch.no_grad(), in_evaluation_mode(self.encoder) as encoder:
            coefficients = self.coefficients(encoder, self.framed(g))
        found = self.canonicalized.canonicalize(coefficients, ids=ids, generator=generator, budget=budget)
        return replace(found, model=self, given=g)

    def prepare(self, g: Any) -> BandCoefficients:
        """The coefficients of the encoded graphs, from which gradients flow to the encoder."""
        return self.coefficients(self.encoder, self.framed(g))

    def maximize(
        self,
        g: BandCoefficients,
        *,
        ids: Tensor | None = None,
        generator: torch.Generator | None = None,
        budget: float | None = None,
    ) -> tuple[SearchResult, Landscape]:
        """The outcome for prepared coefficients, as in ``Canonicalized``."""
        return self.canonicalized.maximize(g, ids=ids, generator=generator, budget=budget)

    def searching(
        self, g: BandCoefficients, ids: Tensor | None, budget: float | None
    ) -> AbstractContextManager[tuple[Maximizer, Landscape]]:
        """The search and the landscape of prepared coefficients, as in ``Canonicalized``."""
        return self.canonicalized.searching(g, ids, budget)

    def next_generator(self) -> torch.Generator:
        """The source of the next candidates, as in ``Canonicalized``."""
        return self.canonicalized.next_generator()

    def outputs_at(self, g: BandCoefficients, u: Tensor, owner: Tensor, landscape: Landscape) -> Tensor:
        """Network outputs for a list of pairs, as in ``Canonicalized``."""
        return self.canonicalized.outputs_at(g, u, owner, landscape)
