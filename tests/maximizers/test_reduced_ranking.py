"""Draws ranked in reduced precision: the values are exact, and the best draw is missed by rounding at most."""

from collections.abc import Callable

import pytest
import torch

from adacanon import RandomSearch, SampleAndRefine
from adacanon.core import ClassScore, Landscape, SearchResult
from adacanon.core import landscape as landscapes
from adacanon.graphs import BandRotations, SpectralMLP, uniform
from adacanon.graphs.coefficients import BandCoefficients
from adacanon.points import Rotations
from cases.networks import cloud_network, clouds

Build = Callable[[], Landscape]
GRAPHS, BANDS, WIDTH, CHANNELS, CLASSES, DRAWS = 40, 3, 4, 5, 4, 32


def fused() -> Landscape:
    """In float32, with a first layer that is fused with the rotations."""
    torch.manual_seed(0)
    sizes = torch.randint(1, 9, (GRAPHS, BANDS))
    factors = torch.randn(GRAPHS, BANDS, WIDTH, CHANNELS)
    g = BandCoefficients(factors, sizes, sizes.clamp(max=WIDTH))
    network = SpectralMLP(2 * BANDS, CHANNELS, classes=CLASSES, hidden=64).eval()
    landscape = Landscape(network, BandRotations(uniform(BANDS), rows=2), ClassScore(), g)
    assert landscape.fused is not None
    return landscape


def plain() -> Landscape:
    return Landscape(cloud_network().float(), Rotations(), ClassScore(), clouds().float())


def found_by(search: SampleAndRefine | RandomSearch, landscape: Landscape) -> SearchResult:
    return search.maximize(landscape, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("build", [fused, plain])
@pytest.mark.parametrize("steps", [0, 2])
class TestReduced:
    def test_values_are_exact(self, build: Build, steps: int) -> None:
        landscape = build()
        found = found_by(SampleAndRefine(DRAWS, steps, low_precision=True), landscape)
        assert found.exact
        torch.testing.assert_close(landscape.values(found.parameters.unsqueeze(0))[0], found.values)

    def test_rounding_costs_little(self, build: Build, steps: int) -> None:
        every = found_by(RandomSearch(DRAWS), build()).values
        found = found_by(SampleAndRefine(DRAWS, steps, low_precision=True), build()).values
        assert bool((found >= every - 0.05 * every.abs().max()).all())

    def test_without_the_hardware_it_is_the_search_itself(
        self, build: Build, steps: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        expected = found_by(SampleAndRefine(DRAWS, steps), build())
        monkeypatch.setattr(landscapes, "reduced_precision", lambda device: None)
        found = found_by(SampleAndRefine(DRAWS, steps, low_precision=True), build())
        torch.testing.assert_close(found.values, expected.values)
        torch.testing.assert_close(found.parameters, expected.parameters)


@pytest.mark.parametrize("build", [fused, plain])
def test_the_draws_are_evaluated_in_bfloat16_and_counted(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(landscapes, "reduced_precision", lambda device: torch.bfloat16)
    landscape = build()
    exact = landscape(candidates(landscape))
    before = landscape.pairs_evaluated
    with landscape.low_precision() as rough:
        values = rough(candidates(landscape))
    assert landscape.pairs_evaluated == 2 * before
    assert values.dtype == torch.float32
    assert 0 < float((values - exact).abs().max()) < 0.05 * float(exact.abs().max())


def test_scores_are_not_rounded_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two draws should have equal scores by accident only."""
    monkeypatch.setattr(landscapes, "reduced_precision", lambda device: torch.bfloat16)
    landscape = fused()
    with landscape.low_precision() as rough:
        values = rough(candidates(landscape))
    assert float((values == values.bfloat16().float()).double().mean()) < 0.1


def candidates(landscape: Landscape) -> torch.Tensor:
    points = landscape.space.sample(DRAWS, generator=torch.Generator().manual_seed(1)).float()
    return points if landscape.space.members else points.unsqueeze(1).expand(-1, landscape.batch, -1, -1)
