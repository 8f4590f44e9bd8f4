"""Furniture: what is drawn follows from the seed, lies on the solids, and is not told by its size."""

import math
import re
from pathlib import Path

import pytest
import torch
from torch import Tensor

from adacanon.data import Furniture, random_furniture
from adacanon.data.solids import Interval, Solids, box, cylinder, one_after_another, present, rounded, together
from adacanon.errors import InputError, ShapeError
from adacanon.points.frames import axes_determined

CLASSES = ("bed", "bench", "bookshelf", "chair", "lamp", "sofa", "stool", "table")
ONE = torch.ones(1)


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.fixture(scope="module")
def furniture() -> Furniture:
    return random_furniture(83, generator=seeded(0))


def off_the_surface(point: Tensor, centre: Tensor, size: Tensor, is_round: bool) -> float:
    """How far one point is from the surface of one solid: the slow and obvious version."""
    x, y, z = (point - centre).tolist()
    width, height, depth = size.tolist()
    if is_round:
        across, up = math.hypot(x, z) - width / 2, abs(y) - height / 2
        beyond = math.hypot(max(across, 0), max(up, 0))
        return beyond or min(-across, -up)
    gaps = (abs(x) - width / 2, abs(y) - height / 2, abs(z) - depth / 2)
    return math.hypot(*(max(gap, 0) for gap in gaps)) or min(-gap for gap in gaps)


class TestFurniture:
    def test_it_follows_from_the_seed(self, furniture: Furniture) -> None:
        same, other = (random_furniture(83, generator=seeded(seed)) for seed in (0, 1))
        clouds, labels = furniture.draw(64, generator=seeded(2))
        again, same_labels = same.draw(64, generator=seeded(2))
        assert torch.equal(clouds, again)
        assert torch.equal(labels, same_labels)
        assert not torch.equal(clouds, same.draw(64, generator=seeded(3))[0])
        assert not torch.equal(clouds, other.draw(64, generator=seeded(2))[0])

    def test_all_classes_come_equally_often_and_in_random_order(self, furniture: Furniture) -> None:
        counts = torch.bincount(furniture.labels)
        assert furniture.class_names == CLASSES
        assert (len(counts), int(counts.min()), int(counts.max())) == (8, 10, 11)
        assert not torch.equal(furniture.labels, furniture.labels.sort().values)

    def test_fewer_shapes_than_classes(self) -> None:
        few = random_furniture(3, generator=seeded(0))
        assert few.draw(9, generator=seeded(0))[0].shape == (3, 9, 3)
        assert sorted(few.labels.tolist()) == [0, 1, 2]

    def test_every_point_lies_on_a_solid_of_its_shape(self, furniture: Furniture) -> None:
        solids = furniture.solids
        clouds = solids.surface(12, generator=seeded(0))
        for cloud, centres, sizes, is_round in zip(clouds, solids.centres, solids.sizes, solids.round, strict=True):
            parts = [part for part in zip(centres, sizes, is_round.tolist(), strict=True) if float(part[1].max()) > 0]
            assert len(parts) >= 4
            for point in cloud:
                assert min(off_the_surface(point, *part) for part in parts) < 1e-6

    def test_clouds_are_centred_in_the_unit_ball(self, furniture: Furniture) -> None:
        clouds, _ = furniture.draw(50, generator=seeded(0))
        torch.testing.assert_close(clouds.mean(1), torch.zeros(83, 3), atol=1e-6, rtol=0)
        torch.testing.assert_close(clouds.norm(dim=2).amax(1), torch.ones(83))

    def test_some_shapes_are_drawn_by_their_index(self, furniture: Furniture) -> None:
        index = torch.tensor([7, 3])
        clouds, labels = furniture.draw(2000, index=index, generator=seeded(0))
        assert torch.equal(labels, furniture.labels[index])
        everything = furniture.draw(2000, generator=seeded(1))[0]
        for cloud, own in zip(clouds, (7, 3), strict=True):
            extents = everything.amax(1) - everything.amin(1)
            nearest = (extents - (cloud.amax(0) - cloud.amin(0))).norm(dim=1).argmin()
            assert int(nearest) == own

    def test_extents_say_nothing_about_the_class(self) -> None:
        """Every class but the round ones fills a room of the same distribution."""
        many = random_furniture(4000, generator=seeded(5))
        low = (many.solids.centres - many.solids.sizes / 2).masked_fill(many.solids.sizes == 0, math.inf).amin(1)
        high = (many.solids.centres + many.solids.sizes / 2).masked_fill(many.solids.sizes == 0, -math.inf).amax(1)
        for name in ("bed", "bench", "bookshelf", "chair", "sofa", "table"):
            extents = (high - low)[many.labels == CLASSES.index(name)]
            torch.testing.assert_close(extents.mean(0), torch.full((3,), 0.675), atol=0.03, rtol=0)

    def test_sampled_shapes_have_axes_of_their_own(self) -> None:
        """Round stools and square tables are symmetric, but the points drawn from them are not."""
        clouds, _ = random_furniture(400, generator=seeded(0)).draw(128, generator=seeded(0))
        assert bool(axes_determined(clouds).all())

    def test_what_cannot_be_drawn_is_refused(self, furniture: Furniture) -> None:
        with pytest.raises(InputError, match="positive number of shapes, got 0"):
            random_furniture(0, generator=seeded(0))
        with pytest.raises(ShapeError, match="at least one point, got points=0"):
            furniture.draw(0, generator=seeded(0))


class TestSolids:
    def unit_box(self) -> Solids:
        return box(Interval(-ONE, ONE), Interval(0.0, 3 * ONE), Interval(0.0, ONE))

    def test_points_are_uniform_by_area(self) -> None:
        """A box of 2 by 3 by 1 and a cylinder of diameter 2 and height 1: the share of each of their faces."""
        solids = together(self.unit_box(), cylinder(5.0, 0.0, 2 * ONE, Interval(0.0, ONE)))
        points = solids.surface(200_000, generator=seeded(0))[0].double()
        whole = 2 * (2 * 3 + 3 * 1 + 2 * 1) + 2 * math.pi * 1 + 2 * math.pi
        x, y, z = points.unbind(1)
        in_box, radius = x < 2, (x - 5).square() + z.square()
        disc = ~in_box & (y > 1 - 1e-6)
        shares = {
            "top of the box": (in_box & (y > 3 - 1e-6), 2),
            "left of the box": (in_box & (x < -1 + 1e-6), 3),
            "front of the box": (in_box & (z > 1 - 1e-6), 6),
            "upper disc": (disc, math.pi),
            "inner half of the upper disc": (disc & (radius < 0.5), math.pi / 2),
            "lower half of the mantle": (~in_box & (radius > 1 - 1e-5) & (y > 1e-6) & (y < 0.5), math.pi),
        }
        for name, (there, area) in shares.items():
            assert float(there.double().mean()) == pytest.approx(area / whole, rel=0.03), name

    def test_a_quarter_turn_exchanges_width_and_depth(self) -> None:
        """About the vertical: (x, y, z) goes to (z, y, -x), and the faces keep their areas."""
        solids = self.unit_box()
        order = [2, 1, 0]
        turned = Solids(
            solids.centres[..., order] * torch.tensor([1.0, 1.0, -1.0]), solids.sizes[..., order], solids.round
        )
        assert torch.equal(turned.areas(), solids.areas()[..., order])
        points, other = (s.surface(50_000, generator=seeded(0))[0] for s in (solids, turned))
        back = torch.stack([-other[:, 2], other[:, 1], other[:, 0]], 1)
        torch.testing.assert_close(points.mean(0), back.mean(0), atol=0.02, rtol=0)
        torch.testing.assert_close(points.T.cov(), back.T.cov(), atol=0.02, rtol=0)

    def test_absent_parts_have_no_points(self) -> None:
        two = box(Interval(torch.zeros(2), 1.0), Interval(0.0, 1.0), Interval(0.0, 1.0))
        far = box(Interval(torch.full((2,), 9.0), 10.0), Interval(0.0, 1.0), Interval(0.0, 1.0))
        clouds = together(two, present(far, torch.tensor([True, False]))).surface(500, generator=seeded(0))
        assert [bool((cloud[:, 0] > 5).any()) for cloud in clouds] == [True, False]

    def test_shapes_of_more_and_fewer_parts_stand_in_one_list(self) -> None:
        one, three = self.unit_box(), together(*[self.unit_box()] * 3)
        both = one_after_another([one, three])
        assert len(both) == 2
        assert both.sizes.shape == (2, 3, 3)
        assert both.areas().sum((1, 2)).tolist() == [22, 66]

    def test_only_the_named_shapes_are_rounded(self) -> None:
        two = box(Interval(torch.zeros(2), 1.0), Interval(0.0, 1.0), Interval(0.0, 1.0))
        assert rounded(two, torch.tensor([True, False])).round.tolist() == [[True], [False]]
        assert rounded(two).round.all()


def test_the_code_on_the_page_of_the_demo_prints_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    text = (Path(__file__).parents[2] / "docs" / "demo.md").read_text()
    (block,) = re.findall(r"```python\n(.*?)```", text, flags=re.S)
    exec(compile(block, "demo.md", "exec"), {})
    assert f"```\n{capsys.readouterr().out}```" in text
