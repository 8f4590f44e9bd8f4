"""Truncation: the continuous version against exact fractions, the finite one against crop and resize."""

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn.functional import interpolate

from adacanon import Canonicalized, GridSearch
from adacanon.errors import InputError, ShapeError, UnknownNameError
from adacanon.images import Truncations, Windows, area_average
from adacanon.images.averaging import smaller
from adacanon.spaces import Finite, Rectangles
from adacanon.testing import check_space
from cases.image_cases import images
from oracles.area_average import area_average as exact_average

SPACES = [Rectangles(), Rectangles(0.3, 0.3), Rectangles(0.05, 0.8), Rectangles(0.9, 1.0)]


class TestRectangles:
    @pytest.mark.parametrize("space", SPACES, ids=repr)
    def test_laws_of_a_space(self, space: Rectangles) -> None:
        laws = ("draws", "projection", "tangents", "retraction", "distance", "identity", "cover")
        assert check_space(space, count=32) == laws

    @pytest.mark.parametrize("space", SPACES, ids=repr)
    def test_draws_are_rectangles_of_the_given_sides(self, space: Rectangles, generator: torch.Generator) -> None:
        for points in (space.sample(2000, generator=generator), space.cover(500)):
            low, high = points[:, :2], points[:, 2:]
            assert (low >= 0).all()
            assert (high <= 1 + 1e-12).all()
            assert ((high - low) >= space.smallest - 1e-12).all()
            assert ((high - low) <= space.largest + 1e-12).all()

    def test_draws_are_uniform(self, generator: torch.Generator) -> None:
        """Of all pairs a < b uniform in the square, those with sides in the range."""
        pairs = torch.rand(400_000, 2, generator=generator, dtype=torch.float64)
        side = pairs[:, 1] - pairs[:, 0]
        kept = pairs[(side >= 0.2) & (side <= 0.7)]
        drawn = Rectangles(0.2, 0.7).sample(100_000, generator=generator)[:, [0, 2]]
        torch.testing.assert_close(drawn.mean(0), kept.mean(0), atol=5e-3, rtol=0)
        torch.testing.assert_close(drawn.T.cov(), kept.T.cov(), atol=2e-3, rtol=0)

    @pytest.mark.parametrize("space", SPACES, ids=repr)
    def test_projection_is_the_nearest_point(self, space: Rectangles, generator: torch.Generator) -> None:
        outside = 3 * torch.rand(50, 4, generator=generator, dtype=torch.float64) - 1
        nearest = space.distance(outside, space.project(outside))
        others = space.sample(20_000, generator=generator)
        assert (nearest.unsqueeze(1) <= torch.cdist(outside, others) + 1e-9).all()
        assert (torch.cdist(outside, others).amin(1) - nearest < 0.1).all()

    @pytest.mark.parametrize("space", SPACES, ids=repr)
    def test_tangents_at_the_boundary_are_derivatives_of_the_projection(
        self, space: Rectangles, generator: torch.Generator
    ) -> None:
        """T v = lim (P(u + tv) - u) / t, also at sides and corners."""
        u = space.project(3 * torch.rand(200, 4, generator=generator, dtype=torch.float64) - 1)
        v = torch.randn(200, 4, generator=generator, dtype=torch.float64)
        slope = (space.project(u + 1e-7 * v) - u) / 1e-7
        torch.testing.assert_close(space.tangent(u, v), slope, atol=1e-6, rtol=0)

    @pytest.mark.parametrize("sides", [(0.6, 0.5), (0.0, 0.5), (-1.0, 1.0), (0.5, 1.1), (float("nan"), 1.0)])
    def test_sides_in_the_wrong_order_are_refused(self, sides: tuple[float, float]) -> None:
        for kind in (Rectangles, Truncations, Windows):
            with pytest.raises(
                InputError, match=rf"0 < smallest <= .*smallest={sides[0]}|smallest to be a number, got nan"
            ):
                kind(*sides)


class TestAreaAverage:
    @pytest.mark.parametrize("size", [(1, 1), (4, 4), (5, 7), (9, 3)])
    def test_every_pixel_is_the_exact_average(self, size: tuple[int, int], generator: torch.Generator) -> None:
        g = images(12, 1, *size, dtype=torch.float64)
        rectangles = Rectangles(0.02, 1.0).sample(12, generator=generator)
        found = area_average(g, rectangles)[:, 0].numpy()
        expected = [exact_average(image, u) for image, u in zip(g[:, 0].numpy(), rectangles.tolist(), strict=True)]
        np.testing.assert_allclose(found, np.stack(expected), atol=1e-12, rtol=0)

    def test_single_precision_on_real_sizes(self, generator: torch.Generator) -> None:
        g = images(4, 3, 32, 32, dtype=torch.float64)
        u = Rectangles().sample(4, generator=generator)
        torch.testing.assert_close(area_average(g.float(), u.float()).double(), area_average(g, u), atol=1e-5, rtol=0)

    @pytest.mark.parametrize("size", [(8, 8), (28, 28), (31, 45), (224, 224)])
    def test_the_whole_image_returns_itself(self, size: tuple[int, int]) -> None:
        g = images(2, 3, *size, dtype=torch.float32)
        whole = torch.tensor([0.0, 0.0, 1.0, 1.0]).expand(2, 4)
        assert torch.equal(area_average(g, whole), g)

    def test_half_of_the_image_doubles_its_pixels(self) -> None:
        g = images(1, 1, 6, 6, dtype=torch.float32)
        half = area_average(g, torch.tensor([[0.5, 0.0, 1.0, 0.5]]))
        assert torch.equal(half, g[..., :3, 3:].repeat_interleave(2, 2).repeat_interleave(2, 3))

    def test_the_mean_is_that_of_the_rectangle(self) -> None:
        g = images(1, 1, 8, 8, dtype=torch.float64)
        cut = area_average(g, torch.tensor([[0.25, 0.125, 0.75, 0.875]], dtype=torch.float64))
        torch.testing.assert_close(cut.mean(), g[..., 1:7, 2:6].mean())

    def test_gradients_are_those_of_finite_differences(self, generator: torch.Generator) -> None:
        g = images(3, 2, 5, 6, dtype=torch.float64).requires_grad_()
        u = Rectangles(0.2).sample(3, generator=generator).requires_grad_()
        assert torch.autograd.gradcheck(area_average, (g, u), eps=1e-7, atol=1e-5)

    def test_lipschitz_in_the_rectangle(self, generator: torch.Generator) -> None:
        r"""An edge of a cell moves by at most the step :math:`\delta`; the average over a cell of length
        :math:`\ell/N` changes by at most :math:`2\delta N/\ell` times the range of the image, for each axis."""
        g, space = images(64, 1, 12, 12, dtype=torch.float64), Rectangles(0.5)
        u = space.sample(64, generator=generator)
        v = torch.randn(64, 4, generator=generator, dtype=torch.float64)
        for length in (1e-2, 1e-4, 1e-6, 1e-9):
            moved = space.retract(u, length * v)
            change = (area_average(g, moved) - area_average(g, u)).abs().flatten(1).amax(1)
            bound = 2 * 2 * space.distance(u, moved) * 12 / 0.5
            assert (change <= bound + 1e-12).all()
            assert (change > 0).any()

    def test_half_precision_is_averaged_in_single_precision(self) -> None:
        g, u = images(2, dtype=torch.float16), torch.tensor([[0.1, 0.2, 0.9, 0.8]]).expand(2, 4)
        torch.testing.assert_close(area_average(g, u), area_average(g.float(), u).half())

    def test_bad_input(self) -> None:
        g = images(2, dtype=torch.float32)
        with pytest.raises(ShapeError, match=r"rectangles of shape \(2, 4\), one per image, got \(3, 4\)"):
            area_average(g, torch.rand(3, 4))
        with pytest.raises(ShapeError, match=r"\(batch, channels, height, width\), got \(2, 6, 9\)"):
            area_average(g[:, 0], torch.rand(2, 4))


class TestCoarseViews:
    @pytest.mark.parametrize(("size", "pixels", "expected"), [((32, 32), 64, (8, 8)), ((10, 40), 100, (5, 20))])
    def test_as_many_pixels_as_asked_for(self, size: tuple[int, int], pixels: int, expected: tuple[int, int]) -> None:
        g = images(2, 3, *size, dtype=torch.float64)
        view = smaller(g, pixels)
        assert view.shape == (2, 3, *expected)
        blocks = g.unflatten(3, (expected[1], -1)).unflatten(2, (expected[0], -1)).mean((3, 5))
        torch.testing.assert_close(view, blocks)

    def test_no_view_is_larger_than_the_image(self) -> None:
        g = images(dtype=torch.float32)
        assert smaller(g, 54) is g
        assert smaller(g, 1).shape == (3, 2, 1, 1)


class TestWindows:
    def test_the_whole_set_and_the_default_subset_on_32_pixels(self) -> None:
        every, some = Windows(levels=None).windows(32, 32), Windows().windows(32, 32)
        assert len(every) == 1785 == sum((32 - side + 1) ** 2 for side in range(16, 33))
        assert len(some) == 55
        assert some[:, 2].unique(return_counts=True)[0].tolist() == [16, 20, 24, 28, 32]
        assert some[:, 2].unique(return_counts=True)[1].tolist() == [25, 16, 9, 4, 1]
        assert {tuple(w) for w in some.tolist()} <= {tuple(w) for w in every.tolist()}

    def test_as_many_levels_as_sides_are_all_windows(self) -> None:
        every, levels = Windows(levels=None).windows(32, 32), Windows(levels=17).windows(32, 32)
        assert {tuple(w) for w in every.tolist()} == {tuple(w) for w in levels.tolist()}

    @pytest.mark.parametrize("size", [(32, 32), (28, 28), (20, 31), (31, 20), (2, 2), (1, 1)])
    @pytest.mark.parametrize("levels", [1, 5, None])
    def test_windows_are_distinct_and_inside(self, size: tuple[int, int], levels: int | None) -> None:
        windows = Windows(0.5 if min(size) > 1 else 1.0, levels=levels).windows(*size)
        top, left, rows, columns = windows.unbind(1)
        assert len(windows.unique(dim=0)) == len(windows) >= 1
        assert (windows[:, :2] >= 0).all()
        assert (windows[:, 2:] >= 1).all()
        assert (top + rows <= size[0]).all()
        assert (left + columns <= size[1]).all()
        assert windows[0].tolist() == [0, 0, *size]

    def test_sides_are_rounded_down_as_in_the_paper_but_not_by_rounding_errors(self) -> None:
        assert Windows(0.5, 0.7, levels=None).windows(9, 9)[:, 2].unique().tolist() == [4, 5, 6]
        assert Windows(0.29, 0.29).windows(100, 100)[:, 2].unique().tolist() == [29]

    @pytest.mark.parametrize("size", [(8, 8), (7, 11)])
    def test_bilinear_windows_are_crops_that_torch_resizes(self, size: tuple[int, int]) -> None:
        g, family = images(1, 3, *size, dtype=torch.float64), Windows(levels=None)
        u = torch.arange(family.space(g).size)
        forms = family.transform(g, u, torch.zeros_like(u))
        for form, (top, left, rows, columns) in zip(forms, family.windows(*size).tolist(), strict=True):
            crop = g[..., top : top + rows, left : left + columns]
            expected = interpolate(crop, size, mode="bilinear", align_corners=False)[0]
            torch.testing.assert_close(form, expected)

    def test_area_windows_are_truncations(self) -> None:
        g, family = images(1, 3, 8, 8, dtype=torch.float64), Windows(levels=None, resize="area")
        u = torch.arange(family.space(g).size)
        top, left, rows, columns = (family.windows(8, 8).double() / 8).unbind(1)
        rectangles = torch.stack([left, top, left + columns, top + rows], dim=1)
        expected = Truncations().transform(g, rectangles, torch.zeros_like(u))
        torch.testing.assert_close(family.transform(g, u, torch.zeros_like(u)), expected)

    def test_the_set_may_be_built_in_inference_mode_and_used_outside(self) -> None:
        g, family = images(2, 1, 11, 13, dtype=torch.float32), Windows(0.61)
        with torch.inference_mode():
            family.transform(g, torch.tensor([0]), torch.tensor([0]))
        g.requires_grad_()
        family.transform(g, torch.tensor([2, 1]), torch.tensor([0, 1])).sum().backward()
        assert g.grad is not None

    def test_without_a_named_search_all_windows_of_the_subset_are_tried(self) -> None:
        def mean_and_corner(x: Tensor) -> Tensor:
            return torch.stack([x.mean((1, 2, 3)), -x[:, 0, 0, 0]], dim=1)

        g = images(2, 3, 32, 32, dtype=torch.float64)
        model = Canonicalized(mean_and_corner, Windows(), temperature=0).eval()
        found = model.canonicalize(g)
        assert found.evaluations == 55
        every = torch.arange(55).repeat(2), torch.arange(2).repeat_interleave(55)
        scores = mean_and_corner(Windows().transform(g, *every)).unflatten(0, (2, 55))
        torch.testing.assert_close(found.scores, scores.amax(1))
        assert Canonicalized(mean_and_corner, Windows(levels=None)).eval().canonicalize(g).evaluations == 50

    def test_bad_input(self) -> None:
        with pytest.raises(InputError, match="levels to be a whole number, at least 1"):
            Windows(levels=0)
        with pytest.raises(UnknownNameError, match="bilinear, area, got 'cubic'"):
            Windows(resize="cubic")  # type: ignore[arg-type]
        g = torch.rand(2, 3, 8, 4)
        for family in (Windows(0.2), Truncations(0.2)):
            with pytest.raises(InputError, match=r"windows smaller than a pixel of images of 8 x 4.*smallest=0.25"):
                family.prepare(g)
        with pytest.raises(InputError, match=r"torch.int64. Hint: images.float\(\) / 255"):
            Windows().prepare(torch.zeros(2, 3, 8, 8, dtype=torch.int64))
        assert Windows(0.25).prepare(g) is g


def test_truncations_try_the_whole_image_and_a_covering_set() -> None:
    search, _ = Truncations().searches()
    assert isinstance(search, GridSearch)
    assert search.points.shape == (49, 4)
    assert search.points[0].tolist() == [0, 0, 1, 1]
    assert isinstance(Windows().space(torch.zeros(1, 1, 8, 8)), Finite)
