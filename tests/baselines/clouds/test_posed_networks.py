"""Learned canonicalization, PCA alignment and PCA frame averaging: rotations, invariance, degenerate clouds."""

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from adacanon.baselines.clouds.learned_canonicalization import (
    FrameNetwork,
    LearnedCanonicalization,
    cn_dgcnn,
    cn_pointnet,
    proper_rotations,
)
from adacanon.baselines.clouds.pca_frames import Frames, PCAAligned, PCAFrameAveraged, aligning_rotations
from adacanon.errors import InputError, ShapeError, UnknownNameError
from adacanon.points import DGCNN, PointNet, principal_frames
from adacanon.points.frames import principal_axes
from adacanon.points.rotations import axis_frames
from adacanon.spaces import SO3

BATCH, POINTS, CLASSES, K = 5, 30, 4, 6
STRETCH = torch.tensor([1.0, 2.0, 4.0])
"""Of the axes, so that the principal axes are well defined."""


@pytest.fixture
def clouds(generator: torch.Generator) -> Tensor:
    return torch.randn(BATCH, POINTS, 3, generator=generator, dtype=torch.float64) * STRETCH


@pytest.fixture
def poses(generator: torch.Generator) -> Tensor:
    return SO3().sample(BATCH, generator=generator).double()


def pointnet() -> nn.Module:
    return PointNet(CLASSES, widths=(8, 16), head=(12,), dropout=0.0)


WRAPPERS: dict[str, Callable[[], nn.Module]] = {
    "CN-PointNet": lambda: LearnedCanonicalization(pointnet(), k=K, channels=5),
    "CN-DGCNN": lambda: LearnedCanonicalization(
        DGCNN(CLASSES, k=K, widths=(8, 12), aggregation=16, head=(8,), dropout=0.0), k=K, channels=5
    ),
    "PCA": lambda: PCAAligned(pointnet()),
    "PCA-FA": lambda: PCAFrameAveraged(pointnet()),
}


def network(name: str) -> nn.Module:
    """In float64 and training mode, with statistics of some batches."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = WRAPPERS[name]().double()
        for parameter in model.parameters():
            parameter.data += 0.3 * torch.randn_like(parameter)
        for _ in range(3):
            model(torch.randn(BATCH, POINTS, 3, dtype=torch.float64) * STRETCH)
    return model


def assert_rotations(rotations: Tensor) -> None:
    eye = torch.eye(3, dtype=rotations.dtype).expand_as(rotations)
    torch.testing.assert_close(rotations @ rotations.mT, eye)
    torch.testing.assert_close(torch.linalg.det(rotations), torch.ones_like(rotations[:, 0, 0]))


class TestWrappers:
    @pytest.mark.parametrize("training", [True, False])
    @pytest.mark.parametrize("name", WRAPPERS)
    def test_rotations_do_not_matter(self, clouds: Tensor, poses: Tensor, name: str, training: bool) -> None:
        model = network(name).train(training)
        torch.testing.assert_close(model(clouds @ poses.mT), model(clouds), rtol=1e-7, atol=1e-7)

    @pytest.mark.parametrize("build", [cn_pointnet, cn_dgcnn, lambda d: PCAAligned(PointNet(d))])
    def test_published_sizes_do_not_see_rotations_in_single_precision(
        self, build: Callable[[int], nn.Module], generator: torch.Generator
    ) -> None:
        torch.manual_seed(1)
        model, clouds = build(40), torch.randn(6, 48, 3, generator=generator) * STRETCH / 4
        model(clouds)
        model.eval()
        poses = SO3().sample(6, generator=generator).float()
        torch.testing.assert_close(model(clouds @ poses.mT), model(clouds), rtol=0, atol=1e-4)

    @pytest.mark.parametrize("name", WRAPPERS)
    def test_the_order_of_points_does_not_matter(self, clouds: Tensor, name: str, generator: torch.Generator) -> None:
        model = network(name)
        order = torch.randperm(POINTS, generator=generator)
        torch.testing.assert_close(model(clouds[:, order]), model(clouds), rtol=1e-7, atol=1e-7)

    @pytest.mark.parametrize("name", WRAPPERS)
    def test_padding_is_not_seen(self, clouds: Tensor, name: str, generator: torch.Generator) -> None:
        mask = torch.rand(BATCH, POINTS, generator=generator) < 0.7
        mask[1, 0] = False
        model = network(name).eval()
        result = model(clouds.masked_fill(~mask[..., None], 1e3), mask=mask)
        alone = torch.cat([model(cloud[real][None]) for cloud, real in zip(clouds, mask, strict=True)])
        torch.testing.assert_close(result, alone)

    @pytest.mark.parametrize("name", WRAPPERS)
    def test_errors(self, clouds: Tensor, name: str) -> None:
        model = network(name)
        with pytest.raises(InputError, match=r"takes a mask by its name\. Hint"):
            model(clouds, torch.ones(BATCH, POINTS, dtype=torch.bool))
        with pytest.raises(ShapeError, match=r"\(batch, points, 3\).*points.mT"):
            model(clouds.mT)

    @pytest.mark.parametrize("name", WRAPPERS)
    def test_all_parameters_learn(self, clouds: Tensor, name: str) -> None:
        model = network(name)
        model(clouds).sin().sum().backward()
        for key, parameter in model.named_parameters():
            assert parameter.grad is not None, key
            assert parameter.grad.abs().sum() > 0, key

    @pytest.mark.parametrize("name", WRAPPERS)
    def test_autocast_does_not_touch_the_geometry(self, clouds: Tensor, poses: Tensor, name: str) -> None:
        """The cloud and its turned copy come to the network alike; only what it computes is in reduced precision."""
        seen: list[Tensor] = []
        model = network(name).float().eval()
        model.network.register_forward_pre_hook(lambda _, arguments: seen.append(arguments[0]))  # type: ignore[union-attr, operator, func-returns-value]
        with torch.autocast("cpu", dtype=torch.bfloat16):
            for x in (clouds, clouds @ poses.mT):
                model(x.float())
        assert seen[0].dtype == torch.float32
        torch.testing.assert_close(seen[1].abs(), seen[0].abs(), rtol=0, atol=1e-3)  # frames differ in signs

    def test_an_empty_batch_leaves_the_statistics_of_the_predictor_as_they_are(self) -> None:
        model = cn_pointnet(CLASSES, k=4)
        with pytest.raises(ShapeError, match="needs two of them, got 0"):
            model(torch.randn(0, POINTS, 3))
        assert all(value.isfinite().all() for value in model.state_dict().values())


class TestProperRotations:
    def test_of_nearly_parallel_vectors_are_orthogonal_in_single_precision(self, generator: torch.Generator) -> None:
        vectors = torch.randn(1000, 3, 3, generator=generator)
        vectors[:, 1] = vectors[:, 0] + 2e-3 * torch.randn(1000, 3, generator=generator)
        assert_rotations(proper_rotations(vectors))

    def test_are_gram_schmidt(self, generator: torch.Generator) -> None:
        vectors = torch.randn(20, 3, 3, generator=generator, dtype=torch.float64)
        rotations = proper_rotations(vectors)
        assert_rotations(rotations)
        lower = vectors @ rotations.mT
        torch.testing.assert_close(lower[:, 0, 1:], torch.zeros_like(lower[:, 0, 1:]))
        torch.testing.assert_close(lower[:, 1, 2], torch.zeros_like(lower[:, 1, 2]))
        assert (lower[:, 0, 0] > 0).all()
        assert (lower[:, 1, 1] > 0).all()

    def test_turn_with_their_vectors(self, generator: torch.Generator) -> None:
        vectors = torch.randn(20, 3, 3, generator=generator, dtype=torch.float64)
        pose = SO3().sample(1, generator=generator)[0].double()
        torch.testing.assert_close(proper_rotations(vectors @ pose.T), proper_rotations(vectors) @ pose.T)

    def test_a_spare_vector_keeps_them_equivariant(self, generator: torch.Generator) -> None:
        vectors = torch.randn(4, 3, 3, generator=generator, dtype=torch.float64)
        vectors[0, 0], vectors[1, 1], vectors[2, 1] = 0, 0, 5 * vectors[2, 0]
        pose = SO3().sample(1, generator=generator)[0].double()
        assert_rotations(proper_rotations(vectors))
        torch.testing.assert_close(proper_rotations(vectors @ pose.T), proper_rotations(vectors) @ pose.T)

    @pytest.mark.parametrize("size", [1.0, 1e-30, 1e30, 1e-44, 0.0])
    @pytest.mark.parametrize("rank", [1, 2, 3])
    @pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
    def test_are_rotations_with_finite_derivatives_whatever_the_vectors(
        self, generator: torch.Generator, size: float, rank: int, dtype: torch.dtype
    ) -> None:
        factors = [torch.randn(10, *shape, generator=generator, dtype=dtype) for shape in [(3, rank), (rank, 3)]]
        vectors = (factors[0] @ factors[1] * size).requires_grad_()
        rotations = proper_rotations(vectors)
        assert_rotations(rotations)
        rotations.sin().sum().backward()
        assert vectors.grad is not None
        assert vectors.grad.isfinite().all()

    def test_derivatives(self, generator: torch.Generator) -> None:
        vectors = torch.randn(3, 3, 3, generator=generator, dtype=torch.float64, requires_grad=True)
        assert torch.autograd.gradcheck(proper_rotations, vectors)


class TestLearned:
    def test_the_predictor_turns_with_the_cloud(self, clouds: Tensor, poses: Tensor) -> None:
        predictor = FrameNetwork(k=K, channels=5).double()
        torch.testing.assert_close(predictor(clouds @ poses.mT), predictor(clouds) @ poses.mT, rtol=0, atol=1e-10)

    def test_rotations_are_proper(self, clouds: Tensor) -> None:
        assert_rotations(network("CN-PointNet").rotations(clouds))  # type: ignore[operator]

    def test_the_rotation_learns_from_the_network(self, clouds: Tensor) -> None:
        """The gradient of the predictor is that of the loss along it: a step against it lowers the loss."""
        model = network("CN-PointNet")
        target = torch.arange(BATCH) % CLASSES

        def loss() -> Tensor:
            return nn.functional.cross_entropy(model(clouds), target)

        before = loss()
        before.backward()
        with torch.no_grad():
            for parameter in model.predictor.parameters():  # type: ignore[union-attr]
                assert parameter.grad is not None
                parameter -= 1e-4 * parameter.grad / parameter.grad.norm()
        assert loss() < before

    @pytest.mark.parametrize("kind", ["origin", "one place", "line", "plane", "sphere"])
    def test_degenerate_clouds(self, kind: str, generator: torch.Generator) -> None:
        noise = torch.randn(BATCH, POINTS, 3, generator=generator, dtype=torch.float64)
        points = (
            {
                "origin": 0 * noise,
                "one place": noise[:, :1].expand(-1, POINTS, -1),
                "line": noise[..., :1] * torch.tensor([1.0, 2.0, 3.0]),
                "plane": noise * torch.tensor([1.0, 1.0, 0.0]),
                "sphere": torch.cat([noise[:, : POINTS // 2], -noise[:, : POINTS // 2]], 1),
            }[kind]
            .clone()
            .requires_grad_()
        )
        model = network("CN-PointNet")
        assert_rotations(model.rotations(points))  # type: ignore[operator]
        scores = model(points)
        scores.sum().backward()
        assert scores.isfinite().all()
        assert points.grad is not None
        assert points.grad.isfinite().all()
        assert all(p.grad is None or p.grad.isfinite().all() for p in model.parameters())

    @pytest.mark.parametrize("padding", [math.nan, math.inf, 1e3])
    @pytest.mark.parametrize("name", WRAPPERS)
    def test_padding_enters_no_derivative(self, clouds: Tensor, name: str, padding: float) -> None:
        mask = torch.arange(POINTS).expand(BATCH, POINTS) < POINTS - 3
        model, gradients = network(name), []
        for value in (0.0, padding):
            points = clouds.masked_fill(~mask.unsqueeze(2), value).requires_grad_()
            model.zero_grad()
            model(points, mask=mask).square().sum().backward()
            assert points.grad is not None
            gradients.append([points.grad, *(p.grad for p in model.parameters() if p.grad is not None)])
        assert len(gradients[0]) > 5
        torch.testing.assert_close(gradients[1], gradients[0], rtol=0, atol=1e-10)

    def test_vectors_without_a_length(self) -> None:
        vectors = torch.full((1, 3, 3), 1e-40, requires_grad=True)
        rotations = proper_rotations(vectors)
        rotations.sin().sum().backward()
        assert_rotations(rotations.double())
        assert vectors.grad is not None
        assert vectors.grad.isfinite().all()

    def test_too_few_points(self, clouds: Tensor) -> None:
        with pytest.raises(InputError, match="FrameNetwork needs at least 6 points in every cloud, got 5"):
            network("CN-PointNet")(clouds[:, :5])

    def test_the_predictor_is_small(self) -> None:
        """About a thousand parameters, as in arnab39/equiadapt (VNSmall); the network it serves has 0.8 million."""
        layers = [(3, 21), (21, 21), (21, 3)]
        expected = sum(2 * a * b + 2 * b for a, b in layers)
        assert sum(p.numel() for p in FrameNetwork().parameters()) == expected == 1_224


class TestPrincipalAxes:
    def test_alignment_is_a_rotation_to_increasing_variances(self, clouds: Tensor, poses: Tensor) -> None:
        rotations = aligning_rotations(clouds @ poses.mT)
        assert_rotations(rotations)
        aligned = clouds @ poses.mT @ rotations.mT
        aligned = aligned - aligned.mean(1, keepdim=True)
        covariance = aligned.mT @ aligned
        variances = covariance.diagonal(dim1=1, dim2=2)
        torch.testing.assert_close(covariance, torch.diag_embed(variances), atol=1e-9, rtol=0)
        assert (variances.diff(dim=1) > 0).all()
        assert (aligned.pow(3).sum(1)[:, 1:] > 0).all()

    def test_the_four_frames_contain_the_alignment(self, clouds: Tensor) -> None:
        frames, aligned = principal_frames(clouds), aligning_rotations(clouds)
        assert_rotations(frames.flatten(0, 1))
        assert ((frames - aligned.unsqueeze(1)).abs().amax((2, 3)) < 1e-12).sum(1).tolist() == [1] * BATCH

    @pytest.mark.parametrize(("frames_of", "count"), [(principal_frames, 4), (axis_frames, 24)])
    def test_averaging_is_the_mean_over_the_frames(self, frames_of: Frames, count: int, clouds: Tensor) -> None:
        model = PCAFrameAveraged(pointnet(), frames_of).double().eval()
        frames = frames_of(clouds, None).unbind(1)
        assert len(frames) == count
        around = clouds - clouds.mean(1, keepdim=True)
        expected = torch.stack([model.network(around @ frame.mT) for frame in frames]).mean(0)  # type: ignore[operator]
        torch.testing.assert_close(model(clouds), expected)

    @pytest.mark.parametrize("build", [PCAAligned, PCAFrameAveraged])
    def test_translations_change_nothing(self, build: Callable[[nn.Module], nn.Module], clouds: Tensor) -> None:
        model, moved = build(pointnet()).double().eval(), clouds + torch.tensor([3.0, -1.0, 2.0])
        torch.testing.assert_close(model(moved), model(clouds))
        mask = (torch.arange(POINTS) < 20).expand(BATCH, -1)
        torch.testing.assert_close(model(moved, mask=mask), model(clouds[:, :20]))

    def test_padding_has_no_axes(self, clouds: Tensor) -> None:
        mask = torch.arange(POINTS).expand(BATCH, -1) < 20
        padded = clouds.masked_fill(~mask[..., None], 1e6)
        torch.testing.assert_close(principal_axes(padded, mask), principal_axes(clouds[:, :20]))

    @pytest.mark.parametrize("build", [PCAAligned, PCAFrameAveraged])
    def test_degenerate_clouds(self, build: Callable[[nn.Module], nn.Module]) -> None:
        model = build(pointnet())
        for points in (torch.zeros(BATCH, POINTS, 3), torch.linspace(0, 1, POINTS)[:, None].expand(BATCH, -1, 3)):
            assert model(points).isfinite().all()

    def test_other_inputs_are_handed_on(self, clouds: Tensor) -> None:
        class WithCategory(nn.Module):
            def forward(self, points: Tensor, category: Tensor) -> Tensor:
                return points * category[:, None, None]

        category = torch.arange(BATCH)
        assert (PCAFrameAveraged(WithCategory())(clouds, category)[0] == 0).all()
        result = PCAAligned(WithCategory())(clouds, category)
        torch.testing.assert_close(result[2].norm(dim=1), 2 * (clouds[2] - clouds[2].mean(0)).norm(dim=1))


class FirstVector(nn.Module):
    """The first real point, squared in one coordinate: a vector that depends on the pose in which it is found."""

    def forward(self, points: Tensor, mask: Tensor | None = None) -> Tensor:
        return points[:, 0] + points[:, 0].square() * points.new_tensor([1.0, 0.0, 0.0])


@pytest.mark.parametrize("wrapper", [PCAAligned, PCAFrameAveraged])
class TestVectors:
    def test_they_turn_with_the_cloud(self, wrapper: Callable[..., nn.Module], clouds: Tensor, poses: Tensor) -> None:
        model = wrapper(FirstVector(), answers="vectors")
        expected = (poses @ model(clouds).unsqueeze(2)).squeeze(2)
        torch.testing.assert_close(model(clouds @ poses.mT), expected)
        left = wrapper(FirstVector())
        assert not torch.allclose(left(clouds @ poses.mT), (poses @ left(clouds).unsqueeze(2)).squeeze(2), atol=0.1)

    def test_other_shapes_and_names_are_refused(self, wrapper: Callable[..., nn.Module], clouds: Tensor) -> None:
        with pytest.raises(ShapeError, match=r'"vectors" have shape .*got .*Hint: answers="invariant" for scalars'):
            wrapper(nn.Sequential(nn.Flatten(), nn.Linear(3 * POINTS, 4).double()), answers="vectors")(clouds)
        with pytest.raises(UnknownNameError, match='has the answers "invariant" and "vectors", got \'maps\''):
            wrapper(FirstVector(), answers="maps")


def test_frame_averaging_turns_back_each_frame_before_the_mean(clouds: Tensor) -> None:
    network = FirstVector()
    found = PCAFrameAveraged(network, answers="vectors")(clouds)
    for cloud, answer in zip(clouds - clouds.mean(1, keepdim=True), found, strict=True):
        each = [frame.T @ network((cloud @ frame.T)[None])[0] for frame in principal_frames(cloud[None])[0]]
        torch.testing.assert_close(answer, sum(each) / 4)
