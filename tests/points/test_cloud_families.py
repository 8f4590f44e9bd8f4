"""Families on clouds: their laws with normals, masks and categories; what depends on the order of points and on
padding; parts of shapes under one shared form.
"""

import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from adacanon import AnchoredSearch, Canonicalized, CoarseToFine, GridSearch, NegativeEntropy, RandomSearch
from adacanon.baselines.clouds.vn_features import VNFeatures
from adacanon.errors import InputError, ShapeError
from adacanon.points import (
    AxisRotations,
    CloudFamily,
    DeepSet,
    Isometries,
    PointNet,
    PointNetSegmentation,
    Rotations,
    Unpacked,
    padded_clouds,
    principal_frames,
)
from adacanon.points.rotations import rotations_about
from adacanon.spaces import SO3, Circle
from adacanon.testing import assert_invariant, check_family

BATCH, POINTS, PARTS, CATEGORIES = 4, 12, 5, 3
LAWS = ("pairs", "purity", "continuity", "equicontinuity", "identity", "gradients")
AXIS = (1.0, 2.0, -2.0)


def points(channels: int = 3, *, seed: int = 0) -> Tensor:
    return torch.randn(BATCH, POINTS, channels, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def mask() -> Tensor:
    """Of 12, 9, 7 and 5 real points, not all of them in front."""
    real = torch.arange(POINTS) < torch.tensor([12, 9, 7, 5])[:, None]
    return torch.stack([real[0], real[1].roll(2), real[2].flip(0), real[3]])


def categories() -> Tensor:
    return torch.eye(CATEGORIES, dtype=torch.float64)[[0, 2, 2, 1]]


def seeded(build: Any) -> Any:
    """A network with statistics of its own."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        network = build().double()
        for parameter in network.parameters():
            parameter.data += 0.2 * torch.randn_like(parameter)
    return network.eval()


class TakesTwo(nn.Module):
    """A network of points and a mask."""

    def forward(self, x: Tensor, real: Tensor) -> Tensor:
        return (x * real.unsqueeze(2)).sum(1)


def pointnet(channels: int = 3) -> PointNet:
    return seeded(lambda: PointNet(4, channels=channels, widths=(16, 24), head=(12,)))


def segmentation() -> PointNetSegmentation:
    return seeded(lambda: PointNetSegmentation(PARTS, categories=CATEGORIES, widths=(8, 16), head=(12,)))


@pytest.mark.parametrize("beside", ["nothing", "a mask", "a category", "both"])
@pytest.mark.parametrize("vectors", [1, 2])
@pytest.mark.parametrize("build", [Rotations, Isometries, lambda vectors: AxisRotations(AXIS, vectors=vectors)])
def test_the_laws_of_a_family(build: Any, vectors: int, beside: str) -> None:
    x = points(3 * vectors)
    others = {"nothing": (), "a mask": (mask(),), "a category": (categories(),), "both": (categories(), mask())}
    g = (x, *others[beside]) if others[beside] else x
    assert check_family(build(vectors=vectors), g) == LAWS


class TestAction:
    def test_normals_turn_as_coordinates_do(self, generator: torch.Generator) -> None:
        x, owner = points(6), torch.tensor([2, 0, 2])
        for family in (Rotations(vectors=2), Isometries(vectors=2), AxisRotations(AXIS, vectors=2)):
            u = family.space(x).sample(3, generator=generator)
            turned = family.transform(x, u, owner)
            for p, i in enumerate(owner):
                for part in (slice(0, 3), slice(3, 6)):
                    expected = torch.stack([family.matrices(u)[p] @ row for row in x[i, :, part]])
                    torch.testing.assert_close(turned[p, :, part], expected)

    def test_isometries_reach_reflections_and_rotations_do_not(self, generator: torch.Generator) -> None:
        signs = [
            torch.linalg.det(family.matrices(family.space(points()).sample(40, generator=generator))).sign().unique()
            for family in (Rotations(), Isometries(), AxisRotations(AXIS))
        ]
        assert [sign.tolist() for sign in signs] == [[1.0], [-1.0, 1.0], [1.0]]

    def test_rotations_about_an_axis_are_the_exponentials_of_its_generator(self) -> None:
        import roma

        angles = torch.linspace(-3, 3, 13, dtype=torch.float64)
        unit = torch.tensor(AXIS, dtype=torch.float64) / 3
        torch.testing.assert_close(rotations_about(AXIS, angles), roma.rotvec_to_rotmat(angles[:, None] * unit))

    def test_an_axis_must_be_a_direction(self) -> None:
        for axis in ((0, 0, 0), (math.nan, 0, 1), (0, math.inf, 1), (1, 0), 5, None, "xyz"):
            with pytest.raises(InputError, match="An axis is a direction of three finite numbers"):
                AxisRotations(axis)  # type: ignore[arg-type]

    @pytest.mark.parametrize("length", [1e-300, 1e-13, 1e13, 1e300])
    def test_the_length_of_an_axis_does_not_matter(self, length: float) -> None:
        angles = torch.linspace(-3, 3, 7, dtype=torch.float64)
        x, y, z = (length * n for n in AXIS)
        torch.testing.assert_close(rotations_about((x, y, z), angles), rotations_about(AXIS, angles))
        short, unit = (AxisRotations(axis).anchor(points()) for axis in ((x, y, z), AXIS))
        torch.testing.assert_close(short, unit)

    def test_names(self) -> None:
        assert repr(Rotations()) == "Rotations()"
        assert repr(Isometries(vectors=2)) == "Isometries(vectors=2)"
        assert repr(AxisRotations((0, 1, 0))) == "AxisRotations(axis=(0, 1, 0), vectors=1)"


@pytest.mark.parametrize("family", [Rotations(), Isometries(), AxisRotations(AXIS)], ids=repr)
def test_an_anchored_search_is_invariant_also_with_padding(family: CloudFamily) -> None:
    g = (points(), mask())
    model = Canonicalized(Unpacked(pointnet()), family, AnchoredSearch(candidates=6)).eval()
    assert_invariant(model, g, family, tolerance=1e-9)


def test_a_covering_of_the_circle_is_invariant_to_its_own_angles() -> None:
    family, x = AxisRotations(AXIS), points()
    model = Canonicalized(pointnet(), family, GridSearch(12)).eval()
    turned = family.transform(x, torch.full((BATCH,), math.pi / 3, dtype=torch.float64), torch.arange(BATCH))
    torch.testing.assert_close(model(turned), model(x))
    skew = family.transform(x, torch.full((BATCH,), 0.2, dtype=torch.float64), torch.arange(BATCH))
    assert (model(skew) - model(x)).abs().max() > 1e-6


class TestPadding:
    SEARCHES = (
        RandomSearch(7),
        AnchoredSearch(candidates=5),
        CoarseToFine(RandomSearch(9), size=6, low_precision=False),
    )

    @staticmethod
    def model(search: Any, build: Any = pointnet) -> Canonicalized:
        return Canonicalized(Unpacked(build()), Rotations(), search).eval()

    @pytest.mark.parametrize("search", SEARCHES, ids=repr)
    def test_it_is_not_seen(self, search: Any) -> None:
        model, x = self.model(search), points()
        padded = model((x.masked_fill(~mask()[..., None], 50.0), mask()))
        for cloud, real, scores in zip(x, mask(), padded, strict=True):
            alone = cloud[real][None], torch.ones(1, int(real.sum()), dtype=torch.bool)
            torch.testing.assert_close(model(alone)[0], scores)

    def test_clouds_of_unequal_sizes_are_one_batch(self) -> None:
        model, clouds = self.model(RandomSearch(7)), [x[real] for x, real in zip(points(), mask(), strict=True)]
        together = model(padded_clouds(clouds))
        alone = torch.cat([model(padded_clouds([cloud])) for cloud in clouds])
        torch.testing.assert_close(together, alone)
        with pytest.raises(ShapeError, match=r"equal channels, got \[\(12, 3\), \(4,\)\]"):
            padded_clouds([points()[0], torch.ones(4)])
        with pytest.raises(ShapeError, match=r"equal channels, got \[\]"):
            padded_clouds([])

    @pytest.mark.parametrize("search", SEARCHES, ids=repr)
    def test_the_order_of_points_does_not_matter(self, search: Any, generator: torch.Generator) -> None:
        model, x = self.model(search), points()
        order = torch.stack([torch.randperm(POINTS, generator=generator) for _ in range(BATCH)])
        permuted = x.gather(1, order.unsqueeze(2).expand_as(x)), mask().gather(1, order)
        torch.testing.assert_close(model(permuted), model((x, mask())))

    def test_a_sum_over_points_counts_the_real_ones(self) -> None:
        model = self.model(RandomSearch(3), lambda: seeded(lambda: DeepSet(4, widths=(8,), head=(6,))))
        whole = torch.ones_like(mask())
        assert (model((points(), mask())) - model((points(), whole))).abs()[1:].min() > 1e-6

    def test_coarse_views_are_farthest_real_points_or_all_of_them(self) -> None:
        x = points()
        view, real = Rotations().coarse((x, mask()), 6)  # type: ignore[misc]
        assert real.sum(1).tolist() == [6, 6, 6, 5]
        for i in range(BATCH):
            own = {tuple(row) for row in x[i][mask()[i]].tolist()}
            seen = {tuple(row) for row in view[i][real[i]].tolist()}
            assert len(seen) == real[i].sum()
            assert seen <= own

    def test_coarse_views_keep_normals_and_categories(self) -> None:
        x = points(6)
        view, shape = Rotations(vectors=2).coarse((x, categories()), 5)  # type: ignore[misc]
        rows = {tuple(row) for row in x.flatten(0, 1).tolist()}
        assert view.shape == (BATCH, 5, 6)
        assert {tuple(row) for row in view.flatten(0, 1).tolist()} <= rows
        assert torch.equal(shape, categories())


class TestParts:
    """One shared form per shape, that of the smallest entropy summed over its points."""

    @staticmethod
    def model(search: Any = None) -> Canonicalized:
        return Canonicalized(
            Unpacked(segmentation()), Rotations(), search or RandomSearch(9), prior=NegativeEntropy()
        ).eval()

    def test_the_form_has_the_smallest_entropy_of_all_candidates(self) -> None:
        model, candidates = self.model(GridSearch(15)), SO3().cover(15)
        found = model.canonicalize((points(), categories()))
        assert found.parameters.shape == (BATCH, 1, 3, 3)
        network = segmentation()
        for i in range(BATCH):
            entropies = []
            for rotation in candidates:
                p = network(points()[i : i + 1] @ rotation.mT, categories()[i : i + 1]).softmax(-1)
                entropies.append(float(-(p * p.log()).detach().sum()))
            best = int(torch.tensor(entropies).argmin())
            torch.testing.assert_close(found.parameters[i, 0], candidates[best])
            expected = network(points()[i : i + 1] @ candidates[best].mT, categories()[i : i + 1])
            torch.testing.assert_close(found.logits[i : i + 1], expected.detach())

    def test_padding_changes_neither_the_form_nor_the_answers(self) -> None:
        model = self.model()
        padded = model.canonicalize((points(), categories(), mask()))
        assert (padded.logits[~mask()] == 0).all()
        for i in range(BATCH):
            real = mask()[i]
            whole = torch.ones(1, int(real.sum()), dtype=torch.bool)
            alone = model.canonicalize((points()[i, real][None], categories()[i : i + 1], whole))
            torch.testing.assert_close(alone.parameters[0], padded.parameters[i])
            torch.testing.assert_close(alone.logits[0], padded.logits[i, real])

    def test_much_padding_rounds_no_difference_between_poses_away(self) -> None:
        """In float32, with a thousand places of padding for every point."""
        generator = torch.Generator().manual_seed(1)
        answers = 0.1 * torch.randn(200, 16, PARTS, generator=generator)
        padded = torch.cat([answers, answers.new_zeros(200, 16_000, PARTS)], 1)
        exact = NegativeEntropy()(answers.double())
        ranks = NegativeEntropy().rank(padded)
        shifted = exact + answers.shape[1] * math.log(PARTS)
        torch.testing.assert_close(ranks.double(), shifted, rtol=0, atol=1e-2 * float(shifted.std()))

    def test_the_category_is_handed_on(self) -> None:
        model = self.model()
        other = model((points(), categories().roll(1, 1)))
        assert (other - model((points(), categories()))).abs().amax((1, 2)).min() > 1e-3

    def test_a_coarse_search_answers_for_all_points(self) -> None:
        model = self.model(CoarseToFine(RandomSearch(9), size=6, low_precision=False))
        assert model((points(), categories())).shape == (BATCH, POINTS, PARTS)


class TestRepresentations:
    """Canonicalization behind equivariant layers: vector features are turned, not the input."""

    CHANNELS = 4

    def encoder(self) -> VNFeatures:
        return seeded(lambda: VNFeatures(k=5, widths=(6, self.CHANNELS)))

    def head(self, search: Any) -> Canonicalized:
        return Canonicalized(pointnet(3 * self.CHANNELS), Rotations(vectors=self.CHANNELS), search)

    def test_the_vectors_turn_with_the_cloud(self, generator: torch.Generator) -> None:
        poses, features = SO3().sample(BATCH, generator=generator), self.encoder()(points())
        expected = Rotations(vectors=self.CHANNELS).transform(features, poses, torch.arange(BATCH))
        torch.testing.assert_close(self.encoder()(points() @ poses.mT), expected)
        assert features.norm(dim=2).min() > 1e-3

    def test_every_class_takes_its_best_pose_of_the_vectors(self) -> None:
        model = nn.Sequential(self.encoder(), self.head(GridSearch(9))).eval()
        features = self.encoder()(points()).unflatten(2, (-1, 3))
        poses = SO3().cover(9)
        scores = torch.stack([pointnet(3 * self.CHANNELS)((features @ pose.mT).flatten(2)) for pose in poses])
        torch.testing.assert_close(model(points()), scores.amax(0))

    def test_an_anchored_search_makes_it_invariant(self) -> None:
        model = nn.Sequential(self.encoder(), self.head(AnchoredSearch(candidates=6))).eval()
        assert_invariant(model, points(), Rotations(), tolerance=1e-8)
        plain = nn.Sequential(self.encoder(), pointnet(3 * self.CHANNELS))
        with pytest.raises(AssertionError):
            assert_invariant(plain, points(), Rotations(), tolerance=1e-3)

    def test_it_trains_the_layers_before_it(self) -> None:
        model = nn.Sequential(self.encoder(), self.head(RandomSearch(5))).train()
        model(points()).square().sum().backward()
        gradients = [parameter.grad for parameter in model[0].parameters()]
        assert all(gradient is not None and gradient.abs().sum() > 0 for gradient in gradients)

    def test_padding_is_not_seen(self) -> None:
        features = self.encoder()(points(), mask())
        assert (features[~mask()] == 0).all()
        alone = self.encoder()(points()[2, mask()[2]][None])
        torch.testing.assert_close(features[2, mask()[2]], alone[0])

    def test_it_needs_layers(self) -> None:
        with pytest.raises(InputError, match="at least one layer and one neighbour"):
            VNFeatures(widths=())


class TestErrors:
    @pytest.mark.parametrize(
        ("family", "g", "message"),
        [
            (Rotations(), points(6), r"\(batch, points, 3\), got \(4, 12, 6\). Hint: Rotations\(vectors=2\)"),
            (Isometries(vectors=2), points(), r"points, 6\), got \(4, 12, 3\). Hint: Isometries\(vectors=1\)"),
            (AxisRotations(AXIS), points().mT, r"AxisRotations expects .*Hint: move the coordinates last"),
            (Rotations(), (points(), mask()[:3]), r"one row for each of 4 clouds .* got \[\(3, 12\)\]"),
            (Rotations(), (points(), "chair"), r"beside the points, got \['str'\]"),
            (Rotations(), (points(), mask()[:, :5]), r"a mask of shape \(4, 12\).*got \(4, 5\)"),
            (
                Rotations(),
                (points(), mask().float()),
                r"\(4, 12\) and type bool.*got .*float32. Hint: .*mask.bool",
            ),
            (Rotations(), (points(), mask().byte()), r"type bool, True for real points, got \(4, 12\) of torch.uint8"),
            (Rotations(), (points(), mask()[..., None]), r"a mask of shape \(4, 12\).*got \(4, 12, 1\) of torch.bool"),
            (Rotations(), (points(), categories().bool()), r"of torch.bool. Hint: one per point; .*as numbers"),
            (Rotations(), (points(), mask().tolist()), r"beside the points, got \['list'\]"),
            (Rotations(), (), r"got tuple"),
            (Rotations(), points(4), r"got \(4, 12, 4\). Hint: numbers .*\(points\[..., :3\], points\[..., 3:\]\)"),
            (Rotations(), points(6), r"Hint: Rotations\(vectors=2\), if all .*; numbers .*colour.*Unpacked\(network\)"),
            (Rotations(vectors=2), points(7), r"points\[..., :6\], points\[..., 6:\]"),
            (
                Rotations(),
                list(points()),
                r"got a list of 4 clouds, the first of shape \(12, 3\). Hint: .*padded_clouds",
            ),
            (Isometries(), (points()[0], points()[1, :5]), r"got a tuple of 2 clouds, .*padded_clouds.*Unpacked"),
            (Rotations(), [points()[0].numpy()], r"got a list of 1 clouds, .*padded_clouds"),
        ],
    )
    def test_batches_of_another_shape(self, family: CloudFamily, g: Any, message: str) -> None:
        with pytest.raises(ShapeError, match=message):
            family.prepare(g)

    def test_a_cloud_of_padding_alone(self) -> None:
        nothing = mask()
        nothing[2] = False
        with pytest.raises(InputError, match=r"at least 1 real point in every cloud, cloud 2 has 0"):
            Rotations().prepare((points(), nothing))

    def test_numbers_that_are_not_finite(self) -> None:
        model, x = Canonicalized(Unpacked(pointnet()), Rotations(), RandomSearch(3)).eval(), points()
        expected = model((x, mask()))
        x[~mask()] = math.nan
        assert torch.equal(model((x, mask())), expected)
        x[1, 3, 0] = math.nan
        with pytest.raises(InputError, match=r"NaN|finite"):
            model((x, mask()))

    def test_one_hot_categories_may_be_as_many_as_points(self) -> None:
        g = points(), torch.eye(12, dtype=torch.float64)[:4]
        assert len(Rotations().prepare(g)) == 2

    @pytest.mark.parametrize(
        "network",
        [nn.Flatten(), nn.Linear(3, 2), lambda x: x.mean(1), TakesTwo()],
        ids=["flatten", "linear", "own", "two"],
    )
    def test_a_network_of_tensors_is_told_of_unpacked(self, network: Any) -> None:
        with pytest.raises((TypeError, AttributeError)) as caught:
            Canonicalized(network, Rotations()).eval()((points(), mask()))
        (note,) = caught.value.__notes__
        assert "one argument, a tuple of 2 tensors. Hint: adacanon.points.Unpacked(network)" in note

    def test_a_network_in_unpacked_is_told_what_it_was_called_with(self) -> None:
        with pytest.raises(TypeError) as caught:
            Canonicalized(Unpacked(nn.Linear(3, 2)), Rotations()).eval()((points(), mask()))
        (note,) = caught.value.__notes__
        assert note.startswith("Unpacked called Linear with 2 tensors, of shapes (")

    def test_an_error_of_a_network_on_tensors_has_no_word_of_tuples(self) -> None:
        with pytest.raises(TypeError) as caught:
            Canonicalized(TakesTwo(), Rotations()).eval()(points())
        assert not getattr(caught.value, "__notes__", ())

    def test_unpacked_takes_a_network_and_not_its_class(self) -> None:
        with pytest.raises(InputError, match=r"Unpacked expects a module, got .*PointNet.*Hint: an instance"):
            Unpacked(PointNet)  # type: ignore[arg-type]

    def test_a_feature_of_zeros_and_ones_takes_two_columns(self) -> None:
        feature = mask().double().unsqueeze(2)
        with pytest.raises(ShapeError, match=r"Hint: .*torch.cat\(\[x, 1 - x\], 2\)"):
            Rotations().prepare((points(), feature))
        assert len(Rotations().prepare((points(), torch.cat([feature, 1 - feature], 2)))) == 2

    def test_unpacked_says_what_it_unpacks(self) -> None:
        with pytest.raises(ShapeError, match=r"as a tuple, got Tensor. Hint"):
            Unpacked(pointnet())(points())  # type: ignore[arg-type]

    def test_clouds_whose_points_are_identical_have_a_form(self) -> None:
        x = torch.full((2, 8, 3), 0.5, dtype=torch.float64)
        for search in (RandomSearch(4), CoarseToFine(RandomSearch(4), size=4), AnchoredSearch(candidates=3)):
            assert Canonicalized(pointnet(), Rotations(), search).eval()(x).isfinite().all()


class TestAnchors:
    def test_they_are_all_orders_and_signs_of_the_principal_axes(self) -> None:
        x = points()
        frames = Rotations().anchor(x)
        assert frames.shape == (BATCH, 24, 3, 3)
        torch.testing.assert_close(torch.linalg.det(frames), torch.ones(BATCH, 24, dtype=x.dtype))
        inside = (frames.unsqueeze(2) @ frames[:, :1].unsqueeze(1).mT).squeeze(2)
        assert (inside.abs().round() - inside.abs()).abs().max() < 1e-9  # signed permutations
        assert len(inside[0].round().flatten(1).unique(dim=0)) == 24
        torch.testing.assert_close(frames[:, :4].sort(1).values, principal_frames(x).sort(1).values)

    def test_those_of_isometries_are_also_mirrored(self) -> None:
        determinants = torch.linalg.det(Isometries().anchor(points()))
        assert determinants.shape == (BATCH, 48)
        assert determinants[:, :24].min() > 0.99
        assert determinants[:, 24:].max() < -0.99

    def test_those_about_an_axis_turn_with_the_cloud_and_fill_the_circle(self) -> None:
        family, x = AxisRotations(AXIS), points()
        angles = family.anchor(x)
        assert angles.shape == (BATCH, 16)
        torch.testing.assert_close(
            angles.sort(1).values.diff(dim=1), torch.full((BATCH, 15), math.pi / 8, dtype=x.dtype)
        )
        turned = family.transform(x, torch.full((BATCH,), 0.7, dtype=x.dtype), torch.arange(BATCH))
        moved = Circle().project(family.anchor(turned) + 0.7)
        torch.testing.assert_close(moved.sort(1).values, angles.sort(1).values)

    def test_one_of_those_about_an_axis_turns_the_longer_axis_into_a_fixed_direction(self) -> None:
        family, x = AxisRotations((0, 0, 1)), points()
        turned = family.transform(x, family.anchor(x)[:, 0], torch.arange(BATCH))
        centred = turned - turned.mean(1, keepdim=True)
        covariance = (centred.mT @ centred)[:, :2, :2]
        assert covariance[:, 0, 1].abs().max() < 1e-9 * covariance.abs().max()

    def test_a_budget_below_their_number_takes_the_first_ones(self) -> None:
        model = Canonicalized(pointnet(), Rotations(), AnchoredSearch(48)).eval()
        assert [model.canonicalize(points(), budget=b).evaluations for b in (3, 24, 30, 100)] == [3, 24, 24, 48]


def test_numbers_of_every_point_stay_with_their_points_in_coarse_views() -> None:
    """The element of an atom; a category is not one, even if there are as many categories as points."""
    where, real = points(), mask()
    number = torch.arange(BATCH * POINTS, dtype=torch.float64).view(BATCH, POINTS, 1).repeat(1, 1, 2)
    category = torch.eye(POINTS, dtype=torch.float64)[:BATCH]
    view, kept, numbers, same = Rotations().coarse((where, real, number, category), 6)
    assert torch.equal(same, category)
    assert numbers.shape == (BATCH, 6, 2)
    torch.testing.assert_close(where.flatten(0, 1)[numbers[..., 0].long()], view)
    assert torch.equal(real.flatten()[numbers[..., 0].long()], kept)
