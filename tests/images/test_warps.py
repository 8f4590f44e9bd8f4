"""Maps of images: against kornia and scipy, exact on pixels, continuous, differentiable."""

import math
import warnings
from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor

from adacanon.core.pytree import Tree, cast_like, map_tensors, scale
from adacanon.errors import InputError, ShapeError, UnknownNameError
from adacanon.images import Composed, Dilations, PlaneMaps, Reflections, Rotations, Shears, Translations, warp
from adacanon.images.resampling import Outside, cut_disc, inverse
from adacanon.testing.comparison import noise_like
from cases.image_cases import OUTSIDE, continuous, images
from oracles.warp import warp as warp_by_scipy

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # what kornia imports is deprecated in places
    import kornia.geometry.transform as kornia

IDENTITY = torch.tensor([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])


def transformed(family: PlaneMaps, g: Tensor, u: Tree) -> Tensor:
    """Each image with its own parameters."""
    g = family.prepare(g)
    return family.transform(g, cast_like(u, g), torch.arange(len(g)))


def neutral(family: PlaneMaps, count: int) -> Tree:
    return map_tensors(lambda leaf: leaf.expand(count, *leaf.shape), family.points.identity())


def column(values: list[float]) -> Tensor:
    return torch.tensor(values, dtype=torch.float64).unsqueeze(1)


ANGLES, FACTORS = [0.3, -1.2, 2.9], [0.7, 1.0, 1.9]
SHIFTS, SHEARS = [[0.1, -0.2], [0.37, 0.0], [-0.05, 0.31]], [[0.2, 0.0], [-0.3, 0.0], [0.1, 0.0]]


class TestKornia:
    """kornia measures angles in degrees and shifts in pixels."""

    @pytest.mark.parametrize("size", [(6, 9), (8, 8), (11, 5), (28, 28)])
    @pytest.mark.parametrize("padding", ["zeros", "border"])
    @pytest.mark.parametrize(
        ("family", "u", "theirs"),
        [
            (Rotations, column(ANGLES)[:, 0], lambda x, **o: kornia.rotate(x, column(ANGLES)[:, 0].rad2deg(), **o)),
            (
                lambda outside: Translations(0.5, outside),
                torch.tensor(SHIFTS, dtype=torch.float64),
                lambda x, **o: kornia.translate(x, torch.tensor(SHIFTS, dtype=torch.float64) * min(x.shape[2:]), **o),
            ),
            (
                lambda outside: Dilations(0.5, 2.0, outside),
                column(FACTORS).log(),
                lambda x, **o: kornia.scale(x, column(FACTORS).expand(-1, 2), **o),
            ),
        ],
        ids=["rotation", "translation", "dilation"],
    )
    def test_families_agree_with_kornia(
        self,
        family: Callable[[Outside], PlaneMaps],
        u: Tensor,
        theirs: Callable[..., Tensor],
        padding: str,
        size: tuple[int, int],
    ) -> None:
        g = images(height=size[0], width=size[1], dtype=torch.float64)
        ours = transformed(family("zero" if padding == "zeros" else "border"), g, u)
        expected = theirs(g, padding_mode=padding, align_corners=True)
        assert (ours - g).abs().max() > 0.1
        torch.testing.assert_close(ours, expected, atol=1e-6, rtol=0)

    def test_any_map_agrees_with_kornia_in_single_precision(self, generator: torch.Generator) -> None:
        g = images(16, 3, 32, 32, dtype=torch.float32)
        maps = IDENTITY + 0.4 * torch.rand(16, 2, 3, generator=generator) - 0.2
        h = torch.tensor([15.5, 15.5])
        in_pixels = torch.cat([maps[..., :2], (h - maps[..., :2] @ h + 32 * maps[..., 2]).unsqueeze(-1)], dim=-1)
        expected = kornia.warp_affine(g, in_pixels, (32, 32), align_corners=True)
        torch.testing.assert_close(warp(g, maps), expected, atol=5e-5, rtol=0)


@pytest.mark.parametrize("outside", ["zero", "border", "reflection"])
@pytest.mark.parametrize("size", [(6, 9), (13, 4), (16, 16)])
def test_any_map_agrees_with_scipy(outside: Outside, size: tuple[int, int], generator: torch.Generator) -> None:
    g = images(8, height=size[0], width=size[1], dtype=torch.float64)
    maps = IDENTITY.double() + torch.rand(8, 2, 3, generator=generator, dtype=torch.float64) - 0.5
    expected = np.stack(
        [warp_by_scipy(image, matrix, outside) for image, matrix in zip(g.numpy(), maps.numpy(), strict=True)]
    )
    torch.testing.assert_close(warp(g, maps, outside=outside), torch.from_numpy(expected), atol=1e-9, rtol=0)


class TestExactOnPixels:
    @pytest.mark.parametrize("outside", OUTSIDE)
    @pytest.mark.parametrize("size", [(1, 1), (7, 7), (28, 28), (31, 45), (224, 224)])
    def test_the_identity_returns_the_image(self, outside: Outside, size: tuple[int, int]) -> None:
        g = images(height=size[0], width=size[1], dtype=torch.float32)
        for family in continuous(outside):
            prepared = family.prepare(g)
            assert torch.equal(transformed(family, g, neutral(family, len(g))), prepared)

    @pytest.mark.parametrize("outside", OUTSIDE)
    @pytest.mark.parametrize("side", [2, 7, 28, 32, 225])
    @pytest.mark.parametrize("turns", [-2, -1, 1, 2, 3, 4])
    def test_quarter_turns(self, turns: int, side: int, outside: Outside) -> None:
        g = cut_disc(images(1, height=side, width=side, dtype=torch.float32))
        turned = transformed(Rotations(outside), g, torch.tensor([turns * math.pi / 2]))
        assert torch.equal(turned, g.rot90(turns, (2, 3)))

    @pytest.mark.parametrize("size", [(6, 9), (33, 28)])
    def test_flips(self, size: tuple[int, int]) -> None:
        g = images(4, height=size[0], width=size[1], dtype=torch.float32)
        for mirrors, axes in {
            "horizontal": [(), (3,)],
            "vertical": [(), (2,)],
            "both": [(), (3,), (2,), (2, 3)],
        }.items():
            for index, flipped in enumerate(axes):
                family = Reflections(mirrors)  # type: ignore[arg-type]
                assert torch.equal(transformed(family, g, torch.full((4,), index)), g.flip(flipped))

    @pytest.mark.parametrize("size", [(6, 9), (30, 30), (100, 224)])
    @pytest.mark.parametrize("shift", [(1, 0), (0, -2), (3, 5), (-20, 1)])
    def test_whole_pixel_shifts(self, shift: tuple[int, int], size: tuple[int, int]) -> None:
        g = images(1, height=size[0], width=size[1], dtype=torch.float32)
        u = torch.tensor([shift], dtype=torch.float32) / min(size)
        columns, rows = (torch.arange(n) - s for n, s in zip((size[1], size[0]), shift, strict=True))
        outside = ((rows < 0) | (rows >= size[0])).unsqueeze(1) | ((columns < 0) | (columns >= size[1]))
        border = g[:, :, rows.clamp(0, size[0] - 1)][..., columns.clamp(0, size[1] - 1)]
        assert torch.equal(transformed(Translations(5.0, "border"), g, u), border)
        assert torch.equal(transformed(Translations(5.0), g, u), border.masked_fill(outside, 0))

    def test_exact_pixels_keep_the_derivatives_of_their_neighbours(self) -> None:
        """Bilinear interpolation has a left or a right derivative there, never none."""
        g = images(1, 1, 8, 8, dtype=torch.float64)
        u = torch.zeros(1, 2, dtype=torch.float64, requires_grad=True)
        shifted = Translations().transform(g, u, torch.tensor([0]))
        assert torch.equal(shifted, g)
        weight = torch.zeros_like(g)
        weight[..., 3, 3] = 1
        (slope,) = torch.autograd.grad((shifted * weight).sum(), u)
        right, left = (8 * (g[..., 3, 3] - g[..., 3, 4]), 8 * (g[..., 3, 2] - g[..., 3, 3]))
        assert min((slope[0, 0] - right).abs(), (slope[0, 0] - left).abs()) < 1e-9


class TestContinuity:
    @pytest.mark.parametrize("outside", OUTSIDE)
    def test_a_step_in_the_parameters_changes_pixels_by_a_bounded_multiple(
        self, outside: Outside, generator: torch.Generator
    ) -> None:
        """Lipschitz: a point moves by at most a multiple of the step, and the image has slope at most one per pixel
        along each axis; steps from 1e-2 down to 1e-7, through pixels and angles where maps are exact."""
        g = images(8, 1, 12, 12, dtype=torch.float64)
        for family in continuous(outside):
            space = family.points
            u = space.sample(8, generator=generator)
            for start in (u, neutral(family, 8)):
                direction = space.tangent(start, noise_like(u, generator))
                for length in (1e-2, 1e-3, 1e-5, 1e-7):
                    v = space.retract(start, scale(torch.tensor(length, dtype=torch.float64), direction))
                    step = space.distance(start, v)
                    change = (transformed(family, g, v) - transformed(family, g, start)).abs().flatten(1).amax(1)
                    assert (change <= 100 * step + 1e-12).all()

    def test_the_bound_is_not_met_by_chance(self) -> None:
        """The same test fails for a nearest-pixel warp."""
        g = images(1, 1, 12, 12, dtype=torch.float64)
        family = Translations(0.5)
        near, far = (torch.tensor([[(0.5 + sign * 1e-6) / 12, 0.0]], dtype=torch.float64) for sign in (-1, 1))
        nearest = [g.roll(round(float(12 * u[0, 0])), 3) for u in (near, far)]
        assert (nearest[0] - nearest[1]).abs().max() > 100 * 2e-6
        assert (transformed(family, g, near) - transformed(family, g, far)).abs().max() < 100 * 2e-6

    @pytest.mark.parametrize("outside", OUTSIDE)
    def test_gradients_are_those_of_finite_differences(self, outside: Outside, generator: torch.Generator) -> None:
        g = images(2, 1, 5, 6, dtype=torch.float64).requires_grad_()
        for family in continuous(outside)[:6]:
            u = family.points.sample(2, generator=generator)
            leaves = [part.requires_grad_() for part in (u if isinstance(u, tuple) else (u,))]

            def act(*parts: Tensor, family: PlaneMaps = family) -> Tensor:
                u = parts[1:] if isinstance(family, Composed) else parts[1]
                return family.transform(parts[0], u, torch.tensor([1, 0]))

            assert torch.autograd.gradcheck(act, (g, *leaves), eps=1e-7, atol=1e-5)


class TestOneResampling:
    def test_a_turn_and_its_return_lose_nothing(self) -> None:
        g = images(2, 3, 17, 12, dtype=torch.float32)
        there_and_back = (torch.tensor([0.7, -1.1]), torch.tensor([-0.7, 1.1]))
        assert torch.equal(transformed(Composed(Rotations(), Rotations()), g, there_and_back), g)
        once, angles = Rotations(), there_and_back
        twice = transformed(once, transformed(once, g, angles[0]), angles[1])
        assert (twice - g).abs().max() > 0.1

    def test_the_first_factor_acts_first(self) -> None:
        g = images(1, height=8, width=8, dtype=torch.float64)
        u = (column([math.pi / 2])[0], torch.tensor([[0.25, 0.0]]).double())
        both = transformed(Composed(Rotations(), Translations(0.5)), g, u)
        turned = g.rot90(1, (2, 3))
        expected = torch.cat([torch.zeros_like(turned[..., :2]), turned[..., :-2]], dim=-1)
        assert torch.equal(both, expected)

    def test_composed_maps_are_products_of_matrices(self, generator: torch.Generator) -> None:
        factors = (Rotations(), Shears(), Translations(), Dilations())
        u = Composed(*factors).points.sample(5, generator=generator)
        last = torch.tensor([0.0, 0.0, 1.0], dtype=torch.float64).expand(5, 1, 3)
        a, b, c, d = (torch.cat([f.maps(v), last], dim=1) for f, v in zip(factors, u, strict=True))
        torch.testing.assert_close(Composed(*factors).maps(u), (d @ c @ b @ a)[:, :2])

    def test_inverse(self, generator: torch.Generator) -> None:
        maps = IDENTITY.double() + torch.rand(5, 2, 3, generator=generator, dtype=torch.float64) - 0.5
        last = torch.tensor([0.0, 0.0, 1.0], dtype=torch.float64).expand(5, 1, 3)
        expected = torch.linalg.inv(torch.cat([maps, last], dim=1))[:, :2]
        torch.testing.assert_close(inverse(maps), expected)


class TestDisc:
    def test_what_is_cut_is_what_lies_outside_the_inscribed_circle(self) -> None:
        kept = cut_disc(torch.ones(1, 1, 4, 6))[0, 0]
        expected = [[0, 0, 1, 1, 0, 0], [0, 1, 1, 1, 1, 0], [0, 1, 1, 1, 1, 0], [0, 0, 1, 1, 0, 0]]
        assert kept.int().tolist() == expected

    def test_preparing_twice_is_preparing_once(self) -> None:
        g = images(dtype=torch.float32)
        once = Rotations("disc").prepare(g)
        assert torch.equal(Rotations("disc").prepare(once), once)

    def test_corners_do_not_tell_the_angle(self) -> None:
        """A constant image turned by any angle is the same image inside the disc, and nothing outside of it."""
        g = torch.ones(8, 1, 33, 33)
        turned = transformed(Rotations("disc"), g, torch.linspace(0, 3, 8))
        y, x = torch.meshgrid(torch.arange(33.0) - 16, torch.arange(33.0) - 16, indexing="ij")
        radius = (x.square() + y.square()).sqrt()
        assert (turned[..., radius <= 14] - 1).abs().max() < 1e-6
        assert (turned[..., radius >= 18] == 0).all()
        assert (transformed(Rotations(), g, torch.linspace(0, 3, 8))[..., radius >= 18].amax(1) > 0).any()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_warped_in_single_precision(dtype: torch.dtype) -> None:
    g = images(2, 3, 16, 16, dtype=dtype)
    maps = torch.tensor([[[0.8, 0.3, 0.1], [-0.3, 0.8, 0.0]]]).expand(2, 2, 3)
    assert warp(g, maps).dtype == dtype
    torch.testing.assert_close(warp(g, maps), warp(g.float(), maps).to(dtype))


class TestBadInput:
    maps = IDENTITY.expand(2, 2, 3)

    @pytest.mark.parametrize(
        ("g", "error", "message"),
        [
            (
                torch.rand(2, 8, 8),
                ShapeError,
                r"\(batch, channels, height, width\), got \(2, 8, 8\).*images\[:, None\]",
            ),
            (torch.rand(8, 8), ShapeError, r"got \(8, 8\).*images\[None, None\]"),
            (torch.rand(2, 1, 3, 8, 8), ShapeError, r"got \(2, 1, 3, 8, 8\)"),
            (torch.rand(2, 3, 0, 8), ShapeError, "without pixels"),
            (torch.zeros(2, 3, 8, 8, dtype=torch.uint8), InputError, r"torch.uint8. Hint: images.float\(\) / 255"),
            (np.zeros((2, 3, 8, 8)), ShapeError, r"got ndarray. Hint: torch.as_tensor"),
        ],
    )
    def test_images_of_another_kind(self, g: object, error: type[Exception], message: str) -> None:
        with pytest.raises(error, match=f"warp expects.*{message}"):
            warp(g, self.maps)  # type: ignore[arg-type]
        with pytest.raises(error, match=f"Rotations expects.*{message}"):
            Rotations().prepare(g)

    def test_maps_of_another_kind(self) -> None:
        g = images(2, dtype=torch.float32)
        with pytest.raises(ShapeError, match=r"maps of shape \(2, 2, 3\), one per image, got \(1, 2, 3\)"):
            warp(g, self.maps[:1])
        with pytest.raises(InputError, match="invertible"):
            warp(g, torch.zeros(2, 2, 3))
        with pytest.raises(UnknownNameError, match="zero, border, reflection, disc, got 'wrap'"):
            warp(g, self.maps, outside="wrap")  # type: ignore[arg-type]

    def test_no_pairs_give_no_images(self) -> None:
        assert warp(torch.zeros(0, 3, 8, 8), torch.zeros(0, 2, 3)).shape == (0, 3, 8, 8)
