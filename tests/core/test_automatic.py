"""Without a word about the search: a fast one that suits the family, and a clear error where it does not fit."""

from dataclasses import replace

import pytest
import torch
from torch import nn

from adacanon import AnchoredSearch, Canonicalized, CoarseToFine, NegativeEntropy, RandomSearch, SampleAndRefine
from adacanon.errors import InputError
from adacanon.graphs import BandRotations, uniform
from adacanon.graphs.spectral_mlp import SpectralMLP
from adacanon.points import AxisRotations, Isometries, PointNet, PointNet2, Rotations
from adacanon.points.cloud_family import CloudFamily
from adacanon.testing import assert_invariant
from cases.networks import Mirror, cloud_network


class Unanchored(AxisRotations):
    """Rotations of one's own about an axis, which say nothing of a search."""

    searches = CloudFamily.searches
    anchor = CloudFamily.anchor


UPRIGHT = Unanchored((0.0, 1.0, 0.0))


def test_rotations_search_the_principal_axes_of_a_cloud() -> None:
    model = Canonicalized(PointNet(5), Rotations())
    assert (model.search, model.training_search) == (AnchoredSearch(24), None)
    assert Canonicalized(PointNet(5), Isometries()).search == AnchoredSearch(48)
    points = torch.randn(3, 100, 3, generator=torch.Generator().manual_seed(0))
    assert model.eval().canonicalize(points).evaluations == 24
    assert_invariant(model, points, Rotations(), tolerance=1e-4)


def test_rotations_about_an_axis_search_angles_of_the_cloud() -> None:
    model = Canonicalized(PointNet(5), AxisRotations((0.0, 1.0, 0.0)))
    assert (model.search, model.training_search) == (AnchoredSearch(16), None)


def test_a_family_with_coarse_views_and_no_anchors_gets_coarse_to_fine() -> None:
    model = Canonicalized(PointNet(5), UPRIGHT)
    assert isinstance(model.search, CoarseToFine)
    assert model.training_search == RandomSearch(50)
    points = torch.randn(3, 100, 3, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        found = model.eval().canonicalize(points)
    assert found.evaluations < 50
    torch.testing.assert_close(model.network(found.forms().flatten(0, 1)).view(3, 5, 5).diagonal(0, 1, 2), found.logits)


def test_bands_get_sample_and_refine() -> None:
    model = Canonicalized(SpectralMLP(4, 2, classes=3), BandRotations(uniform(2), rows=2))
    search = SampleAndRefine(candidates=32, steps=1, step_size=10.0)
    assert (model.search, model.training_search) == (search, replace(search, low_precision=True))


class Warm(Rotations):
    """With a temperature of its own."""

    def temperature(self) -> float:
        return 0.5


def test_the_temperature_of_a_family_goes_with_its_own_search_and_a_form_per_class() -> None:
    own = Canonicalized(PointNet(5), Warm())
    assert own.temperature is not None
    assert float(own.temperature()) == 0.5
    for options in ({"search": RandomSearch(4)}, {"prior": NegativeEntropy()}, {"temperature": 0.0}):
        assert Canonicalized(PointNet(5), Warm(), **options).temperature is None
    named = Canonicalized(PointNet(5), Warm(), RandomSearch(4), temperature=2.0).temperature
    assert named is not None
    assert float(named()) == 2


def test_a_family_without_a_search_of_its_own_needs_one() -> None:
    with pytest.raises(InputError, match=r"names no search of its own. Hint: give one, such as SampleAndRefine"):
        Canonicalized(cloud_network(), Mirror())


def test_a_search_for_training_alone_can_be_named() -> None:
    model = Canonicalized(PointNet(5), Rotations(), training_search=RandomSearch(7))
    assert model.search == AnchoredSearch(24)
    assert model.training_search == RandomSearch(7)


def test_a_network_for_one_size_is_told_what_to_do() -> None:
    network = nn.Sequential(nn.Flatten(), nn.Linear(300, 2))
    with pytest.raises(RuntimeError) as error:
        Canonicalized(network, UPRIGHT).eval()(torch.randn(2, 100, 3))
    assert any("a network that takes inputs of one size only" in note for note in error.value.__notes__)
    assert Canonicalized(network, UPRIGHT, RandomSearch(5)).eval()(torch.randn(2, 100, 3)).shape == (2, 2)


def test_a_network_that_needs_more_points_than_a_view_has_is_told_so() -> None:
    with pytest.raises(InputError, match="at least 512 points") as error:
        Canonicalized(PointNet2(5), UPRIGHT).eval()(torch.randn(2, 600, 3))
    assert any("coarse views of shape (64, 3)" in note for note in error.value.__notes__)
