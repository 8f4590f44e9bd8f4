"""Answers for every pixel: warped back, masked where a warp has no source, and blended."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from adacanon import Canonicalized, Composition, Confidence, EqualWeights, GridSearch, NegativeEntropy
from adacanon.core import Prior
from adacanon.errors import InputError, ShapeError
from adacanon.images import Composed, Dilations, PlaneMaps, Reflections, Rotations, Translations
from adacanon.testing import assert_equivariant
from cases.image_cases import continuous, families, images
from oracles.answers import blended
from oracles.warp import warp as slow_warp

TAU = 0.2
QUARTERS = GridSearch(4)
WEIGHTED = [(prior, t) for prior in (NegativeEntropy(axis=1), Confidence(axis=1)) for t in (0.0, TAU, math.inf)]
WEIGHTED = [*WEIGHTED, (EqualWeights(), math.inf)]


def segmenter(channels: int = 3, *, seed: int = 0) -> nn.Module:
    """A convolution, which is not equivariant under rotations."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return nn.Sequential(nn.Conv2d(2, 4, 3, padding=1), nn.Tanh(), nn.Conv2d(4, channels, 3, padding=1)).double()


def model(prior: Prior, temperature: float, search: Any = QUARTERS, **options: Any) -> Canonicalized:
    network = options.pop("network", None) or segmenter()
    family = options.pop("family", None) or Rotations()
    return Canonicalized(network, family, search, prior=prior, answers="maps", temperature=temperature).eval()


def squares(batch: int = 2, side: int = 8) -> Tensor:
    return images(batch, 2, side, side, dtype=torch.float64)


class TestActing:
    @pytest.mark.parametrize("family", continuous(), ids=repr)
    def test_the_inverse_warp_is_the_slow_one(self, family: PlaneMaps) -> None:
        maps = images(3, 2, 6, 9, dtype=torch.float64)
        u = family.points.sample(3, generator=torch.Generator().manual_seed(2))
        carried = family.act(u, maps, "maps")
        with_ones = torch.cat([maps, torch.ones_like(maps[:, :1])], 1)
        matrices = family.maps(u)
        last = torch.tensor([0.0, 0.0, 1.0], dtype=matrices.dtype).expand(3, 1, 3)
        back = torch.linalg.inv(torch.cat([matrices, last], 1))[:, :2]
        pairs = zip(with_ones.numpy(), back.numpy(), strict=True)
        expected = torch.stack([torch.from_numpy(slow_warp(image, matrix, "zero")) for image, matrix in pairs])
        torch.testing.assert_close(carried.answers, expected[:, :-1])
        torch.testing.assert_close(carried.known, expected[:, -1:])
        assert carried.known is not None
        assert bool(((carried.known >= 0) & (carried.known <= 1 + 1e-12)).all())

    @pytest.mark.parametrize("family", families(), ids=repr)
    def test_families_say_what_they_carry(self, family: Any) -> None:
        assert ("maps" in family.carries) == isinstance(family, PlaneMaps)

    def test_mirror_images_are_undone_exactly(self) -> None:
        family, maps = Reflections("both"), images(4, 2, 6, 9, dtype=torch.float64)
        u = torch.arange(4)
        carried = family.act(u, family.transform(maps, u, u), "maps")
        assert torch.equal(carried.answers, maps)
        assert carried.known is not None
        assert bool((carried.known == 1).all())

    def test_a_composition_keeps_the_share_that_both_know(self) -> None:
        """Two shifts by a pixel, one after the other: two columns have no source, whatever the order."""
        family = Composition(Translations(0.25), Translations(0.25))
        maps, u = squares(1, 4), torch.tensor([[0.25, 0.0]])
        carried = family.act((u, u), maps, "maps")
        assert carried.known is not None
        assert carried.known[0, 0].tolist() == [[1, 1, 0, 0]] * 4
        assert torch.equal(carried.answers[..., :2], maps[..., 2:])


@pytest.mark.parametrize(("prior", "temperature"), WEIGHTED, ids=repr)
class TestQuarterTurns:
    def test_equivariance_is_exact(self, prior: Prior, temperature: float) -> None:
        ours, g = model(prior, temperature), squares()
        tolerance = 0.0 if temperature == 0 else 1e-12
        for turns in (1, 2, 3):
            for context in (torch.no_grad, torch.enable_grad):
                with context():
                    moved, still = ours(g.rot90(turns, (2, 3))), ours(g)
                assert float((moved - still.rot90(turns, (2, 3))).detach().abs().max()) <= tolerance
        alone = segmenter()
        assert float((alone(g.rot90(1, (2, 3))) - alone(g).rot90(1, (2, 3))).detach().abs().max()) > 0.01

    def test_answers_and_gradients_are_those_of_the_oracle(self, prior: Prior, temperature: float) -> None:
        ours, theirs, g = model(prior, temperature), segmenter(), squares()

        def confidence(output: Tensor) -> tuple[Tensor, Tensor]:
            if isinstance(prior, Confidence):
                return output[-1].mean(), output[:-1]
            p = output.softmax(0)
            return (p * p.log()).sum(0).mean() * isinstance(prior, NegativeEntropy), output

        turns = torch.arange(4)
        expected = blended(
            theirs,
            lambda k, x: x.rot90(int(k), (1, 2)),
            lambda k, y: y.rot90(-int(k), (1, 2)),
            g,
            turns,
            confidence,
            temperature,
        )
        torch.testing.assert_close(ours(g), expected)
        with torch.no_grad():
            torch.testing.assert_close(ours(g), expected)
        found = ours.canonicalize(g)
        torch.testing.assert_close(found.answers, expected.detach())
        assert found.known is not None
        assert bool((found.known == 1).all())
        ours(g).square().sum().backward()
        expected.square().sum().backward()
        for a, b in zip(ours.network.parameters(), theirs.parameters(), strict=True):
            torch.testing.assert_close(a.grad, b.grad)


class TestWhereAWarpHasNoSource:
    SHIFT = torch.tensor([[0.25, 0.0], [0.0, 0.0]])

    def test_one_form_is_zero_there_and_says_so(self) -> None:
        """Shifted by two of eight columns, the last two columns of the input have left the image."""
        search = GridSearch(points=self.SHIFT[:1])
        ours = model(NegativeEntropy(axis=1), 0.0, search, family=Translations(0.5), network=nn.Identity())
        found = ours.canonicalize(squares())
        assert found.known is not None
        assert found.known[0, 0, 0].tolist() == [1] * 6 + [0] * 2
        assert torch.equal(found.answers[..., :6], squares()[..., :6])
        assert bool((found.answers[..., 6:] == 0).all())

    def test_blends_are_renormalised_per_pixel(self) -> None:
        """An equivariant network gives the same answer at every pixel that is known from any form: no darker border."""
        search = GridSearch(points=self.SHIFT)
        for gradients in (False, True):
            ours = model(EqualWeights(), math.inf, search, family=Translations(0.5), network=nn.Identity())
            with torch.set_grad_enabled(gradients):
                torch.testing.assert_close(ours(squares()), squares())
        known = ours.canonicalize(squares()).known
        assert known is not None
        assert known[0, 0, 0].tolist() == [1] * 6 + [0.5] * 2

    def test_a_pixel_that_is_half_known_has_the_whole_answer(self) -> None:
        search = GridSearch(points=torch.tensor([[1.5 / 8, 0.0]]))
        constant = model(
            EqualWeights(), math.inf, search, family=Translations(0.5), network=lambda x: torch.ones_like(x) * 5
        ).canonicalize(squares())
        assert constant.known is not None
        torch.testing.assert_close(constant.known[0, 0, 0], torch.tensor([1.0] * 6 + [0.5, 0.0]).double())
        torch.testing.assert_close(constant.answers, 5.0 * (constant.known > 0).expand(-1, 2, -1, -1).double())

    def test_unknown_pixels_have_no_gradient(self) -> None:
        g = squares().requires_grad_()
        search = GridSearch(points=self.SHIFT[:1])
        ours = model(NegativeEntropy(axis=1), 0.0, search, family=Translations(0.5), network=nn.Identity())
        ours(g).sum().backward()
        assert g.grad is not None
        assert bool(g.grad.isfinite().all())
        assert bool((g.grad[..., 6:] == 0).all())
        assert bool((g.grad[..., :6] == 1).all())


# Generic angles


def blob(side: int, angle: float = 0.0) -> Tensor:
    """A smooth bump away from the centre, and its image under a rotation; both exact."""
    line = (torch.arange(side, dtype=torch.float64) - (side - 1) / 2) / side
    y, x = line.unsqueeze(1), line.unsqueeze(0)
    centre = torch.tensor([0.2, 0.1], dtype=torch.float64)
    turn = torch.tensor([[math.cos(angle), math.sin(angle)], [-math.sin(angle), math.cos(angle)]], dtype=torch.float64)
    cx, cy = (turn @ centre).tolist()
    return torch.exp(-(((x - cx) ** 2 + (y - cy) ** 2) / 0.08**2))[None, None]


class Directional(nn.Module):
    """Smooth answers per pixel that depend on where it is: not equivariant. The last channel is a confidence."""

    def forward(self, x: Tensor) -> Tensor:
        side = x.shape[-1]
        across = (torch.arange(side, dtype=x.dtype) - (side - 1) / 2) / side
        return torch.cat([x * (1 + across), x * x - across * x, 30 * x * across], 1)


@pytest.mark.parametrize("temperature", [0.0, 0.05, math.inf])
def test_generic_angles_are_equivariant_up_to_interpolation(temperature: float) -> None:
    """Twelve angles are a group: only resampling errs, and four times less on pixels of half the size."""
    angle = 2 * math.pi / 12
    errors = []
    for side in (48, 96):
        ours = model(Confidence(axis=1), temperature, GridSearch(12), network=Directional())
        answers, moved = ours(blob(side)), ours(blob(side, angle))
        back = Rotations().act(torch.tensor([angle], dtype=torch.float64), moved, "maps")
        errors.append(float(((back.answers - answers) * (back.known == 1)).abs().max()))
    back = Rotations().act(torch.tensor([angle], dtype=torch.float64), Directional()(blob(96, angle)), "maps")
    alone = float(((back.answers - Directional()(blob(96))) * (back.known == 1)).abs().max())
    assert errors[1] < 0.4 * errors[0]
    assert errors[1] < 0.02
    assert alone > 0.1


def iou(found: Tensor, truth: Tensor) -> float:
    return float((found & truth).sum() / (found | truth).sum())


@pytest.mark.parametrize("temperature", [0.0, 0.05, math.inf])
@pytest.mark.parametrize("angle", [2.0, math.pi / 2])
def test_a_perfect_segmenter_stays_perfect(temperature: float, angle: float) -> None:
    """A network that is right at every pose. Its answer for the turned image, not carried back, is a wrong one."""
    g = blob(64).float()
    truth = g[:, 0] > 0.5

    def perfect(x: Tensor) -> Tensor:
        return torch.cat([torch.zeros_like(x), 40 * (x - 0.5)], 1)

    angles = torch.tensor([angle, angle + 0.7])[: 1 if temperature == 0 else 2]
    ours = model(NegativeEntropy(axis=1), temperature, GridSearch(points=angles), network=perfect)
    assert iou(perfect(g).argmax(1) == 1, truth) == 1
    assert iou(ours(g).argmax(1) == 1, truth) > 0.95
    turned = Rotations().transform(g, angles[:1], torch.tensor([0]))
    assert iou(perfect(turned).argmax(1) == 1, truth) < 0.05


def test_smaller_maps_are_carried_too() -> None:
    network = nn.Sequential(nn.AvgPool2d(2), segmenter())
    ours, g = model(EqualWeights(), math.inf, network=network), squares()
    assert ours(g).shape == (2, 3, 4, 4)
    assert_equivariant(ours, g, lambda x: x.rot90(1, (2, 3)), lambda y: y.rot90(1, (2, 3)), tolerance=1e-12)


def test_blends_over_compositions_of_maps() -> None:
    """A shift and its inverse, resampled once or twice, know the same pixels."""
    u = (torch.tensor([0.25, 0.0]).reshape(1, 2), torch.zeros(1, 1))
    once = Composed(Translations(0.25), Dilations()).act(u, squares(1), "maps")
    twice = Composition(Translations(0.25), Dilations()).act(u, squares(1), "maps")
    torch.testing.assert_close(once.answers, twice.answers)
    torch.testing.assert_close(once.known, twice.known)


REFUSED = {
    "classes on the last axis": (lambda: model(NegativeEntropy(), 0.0), InputError, ["axis 1", "axis=1)"]),
    "a confidence on the last axis": (lambda: model(Confidence(), 0.0), InputError, ["Confidence(axis=1)"]),
    "one answer per image": (
        lambda: model(EqualWeights(), 1.0, network=lambda x: x.mean((2, 3)))(squares()),
        ShapeError,
        ["(8, 2)", "invariant"],
    ),
    "a map of other proportions": (
        lambda: model(EqualWeights(), 1.0, network=lambda x: x[..., :4])(squares()),
        ShapeError,
        ["proportions", "(8, 2, 8, 4)"],
    ),
    "a map where class scores are expected": (
        lambda: Canonicalized(segmenter(), Rotations(), QUARTERS)(squares()),
        ShapeError,
        ['answers="maps"', "NegativeEntropy(axis=1)", "(8, 3, 8, 8)"],
    ),
    "a map where class scores are expected, blended": (
        lambda: Canonicalized(segmenter(), Rotations(), QUARTERS, prior=NegativeEntropy(axis=1), temperature=1.0)(
            squares()
        ),
        ShapeError,
        ['answers="maps"', "NegativeEntropy(axis=1)", "(8, 3, 8, 8)"],
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_fit_is_refused_with_the_right_choice(name: str) -> None:
    call, kind, words = REFUSED[name]
    with pytest.raises(kind) as error:
        call()
    assert all(word in str(error.value) for word in words), str(error.value)
