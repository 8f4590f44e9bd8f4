"""Vectors, poses and scores of points: carried back from one shared form, or blended."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from adacanon import (
    AnchoredSearch,
    Canonicalized,
    Composition,
    Confidence,
    EqualWeights,
    GridSearch,
    LargestScore,
    LogSumExp,
    NegativeEntropy,
    Objective,
    RandomSearch,
    Temperature,
)
from adacanon.core import Carried, Prior
from adacanon.core.naming import unpacked
from adacanon.core.polar import proper_rotations
from adacanon.core.soft import RunningBlend, soft_weights
from adacanon.errors import InputError, ScoreError, ShapeError, SpaceError, UnknownNameError
from adacanon.images import Windows
from adacanon.points import AxisRotations, Isometries, Rotations
from adacanon.spaces import SO3, rotation_group
from adacanon.testing import assert_equivariant, assert_invariant
from cases.networks import DenseNetwork, Mirror, cloud_network, clouds
from oracles.answers import blended, turned_back

CUBE = rotation_group("cube").double()
TAU = 0.3
WEIGHTED = [(Confidence(), 0.0), (Confidence(), TAU), (Confidence(), math.inf), (EqualWeights(), math.inf)]


class Dense(nn.Module):
    """Outputs (pairs, points, channels) that are not equivariant."""

    def __init__(self, channels: int = 3) -> None:
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(3)
            self.layers = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, channels)).double()

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x)


NETWORKS = {
    "a vector": ("vectors", lambda more: cloud_network(3 + more)),
    "two vectors": ("vectors", lambda more: cloud_network(6 + more)),
    "a vector per point": ("vectors", lambda more: Dense(3 + more)),
    "a pose": ("rotations", lambda more: cloud_network(9 + more)),
    "scalars": ("invariant", lambda more: cloud_network(2 + more)),
    "scores per point": ("invariant", lambda more: Dense(4 + more)),
}


def model(name: str, temperature: Any = TAU, prior: Prior | None = None, search: Any = None) -> Canonicalized:
    kind, network = NETWORKS[name]
    prior = prior or Confidence()
    search = search or GridSearch(points=CUBE)
    extra = int(isinstance(prior, Confidence))
    return Canonicalized(network(extra), Rotations(), search, prior=prior, answers=kind, temperature=temperature)


def expected(name: str, temperature: float, network: nn.Module, *, confident: bool = True) -> Tensor:
    kind, _ = NETWORKS[name]

    def confidence(output: Tensor) -> tuple[Tensor, Tensor]:
        return (output[..., -1].mean(), output[..., :-1]) if confident else (output.sum() * 0, output)

    answers = blended(
        network, lambda u, x: x @ u.T, lambda u, y: turned_back(kind, u, y), clouds(), CUBE, confidence, temperature
    )
    return proper_rotations(answers) if kind == "rotations" else answers


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("temperature", [0.0, TAU, math.inf])
class TestAgainstTheOracle:
    def test_in_blocks_at_once_and_in_the_record(self, name: str, temperature: float) -> None:
        ours = model(name, temperature).eval()
        answers = expected(name, temperature, ours.network).detach()
        torch.testing.assert_close(ours(clouds()).detach(), answers)
        with torch.no_grad():
            torch.testing.assert_close(ours(clouds()), answers)
        found = ours.canonicalize(clouds())
        torch.testing.assert_close(found.answers, answers)
        assert found.logits is found.answers
        assert (found.weights is None) == (temperature == 0)

    def test_gradients_of_any_loss(self, name: str, temperature: float) -> None:
        ours = model(name, temperature).train()
        theirs = model(name, temperature).network
        target = torch.randn(expected(name, temperature, theirs).shape, dtype=torch.float64)
        Objective(ours, loss=functional.mse_loss)(clouds(), target).loss.backward()
        functional.mse_loss(expected(name, temperature, theirs), target).backward()
        moved = 0.0
        for a, b in zip(ours.network.parameters(), theirs.parameters(), strict=True):
            torch.testing.assert_close(a.grad, b.grad)
            moved += float(a.grad.abs().sum())
        assert moved > 0


@pytest.mark.parametrize(("prior", "temperature"), WEIGHTED, ids=repr)
@pytest.mark.parametrize("name", NETWORKS)
def test_anchored_answers_are_equivariant_up_to_rounding(name: str, temperature: float, prior: Prior) -> None:
    ours = model(name, temperature, prior, AnchoredSearch(24)).eval()
    turn = SO3().sample(1, generator=torch.Generator().manual_seed(3))[0]

    def on_answers(y: Tensor) -> Tensor:
        kind = NETWORKS[name][0]
        return y if kind == "invariant" else turn @ y if kind == "rotations" else _turned(y, turn)

    assert_equivariant(ours, clouds(), lambda x: x @ turn.T, on_answers, tolerance=1e-9)
    assert_equivariant(ours, clouds(), Rotations(), NETWORKS[name][0], tolerance=1e-9)
    if NETWORKS[name][0] != "invariant":
        with pytest.raises(AssertionError, match="not invariant"):
            assert_invariant(ours, clouds(), Rotations(), tolerance=1e-2)
        kind, network = NETWORKS[name]
        alone = network(0)
        with pytest.raises(AssertionError, match="not equivariant"):
            assert_equivariant(lambda x: _shaped(alone(x), kind), clouds(), Rotations(), kind, tolerance=1e-2)


def _turned(y: Tensor, turn: Tensor) -> Tensor:
    return (y.reshape(-1, 3) @ turn.T).view_as(y)


def _shaped(y: Tensor, kind: str) -> Tensor:
    return y.unflatten(1, (3, 3)) if kind == "rotations" else y


@pytest.mark.parametrize("family", [Isometries(), AxisRotations((1, 2, 2))], ids=repr)
def test_other_families_of_clouds_carry_vectors_too(family: Any) -> None:
    ours = Canonicalized(cloud_network(4), family, prior=Confidence(), answers="vectors", temperature=TAU).eval()
    assert_equivariant(ours, clouds(), family, "vectors", tolerance=1e-9)


def test_a_composition_undoes_the_second_first() -> None:
    first, second = AxisRotations((0, 0, 1)), AxisRotations((1, 0, 0))
    u = (torch.tensor([0.4], dtype=torch.float64), torch.tensor([1.1], dtype=torch.float64))
    family, g = Composition(first, second), clouds(1)
    turned = family.transform(g, u, torch.tensor([0]))
    torch.testing.assert_close(family.act(u, turned, "vectors").answers, g)


class TestPoses:
    def test_the_nearest_rotation(self) -> None:
        matrices = torch.randn(20, 3, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
        torch.testing.assert_close(proper_rotations(matrices), SO3().project(matrices))

    def test_its_derivative(self) -> None:
        matrices = torch.randn(6, 3, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
        assert torch.autograd.gradcheck(proper_rotations, (matrices.requires_grad_(),))

    def test_its_derivative_exists_at_rotations(self) -> None:
        assert torch.autograd.gradcheck(proper_rotations, (CUBE[:5].clone().requires_grad_(),))

    def test_poses_half_a_turn_apart_have_no_mean_and_the_projection_jumps(self) -> None:
        half = torch.diag(torch.tensor([1.0, -1.0, -1.0], dtype=torch.float64))
        a, b = (proper_rotations((0.5 + d) * torch.eye(3) + (0.5 - d) * half) for d in (1e-9, -1e-9))
        assert float((a - b).norm()) > 2

    def test_answers_are_rotations(self) -> None:
        for temperature in (0.0, TAU, math.inf):
            answers = model("a pose", temperature).eval()(clouds()).detach()
            torch.testing.assert_close(answers @ answers.mT, torch.eye(3, dtype=torch.float64).expand(3, 3, 3))
            torch.testing.assert_close(torch.linalg.det(answers), torch.ones(3, dtype=torch.float64))


class TestPriors:
    def test_the_largest_score_names_the_class_of_a_form_per_class(self) -> None:
        g = clouds(16)
        per_class = Canonicalized(cloud_network(), Rotations(), GridSearch(points=CUBE)).eval()(g)
        shared = Canonicalized(cloud_network(), Rotations(), GridSearch(points=CUBE), prior=LargestScore()).eval()(g)
        assert torch.equal(shared.argmax(1), per_class.argmax(1))
        torch.testing.assert_close(shared.amax(1), per_class.amax(1))
        assert bool((shared <= per_class + 1e-12).all())

    @pytest.mark.parametrize(
        ("prior", "value"),
        [
            (LargestScore(), lambda x: x.max()),
            (LogSumExp(), lambda x: x.exp().sum().log()),
            (NegativeEntropy(), lambda x: (x.softmax(0) * x.log_softmax(0)).sum()),
            (Confidence(), lambda x: x[-1]),
        ],
        ids=["largest score", "log-sum-exp", "entropy", "confidence"],
    )
    def test_the_shared_form_is_the_one_of_the_largest_value(self, prior: Prior, value: Any) -> None:
        ours = Canonicalized(cloud_network(), Rotations(), GridSearch(points=CUBE), prior=prior).eval()
        found = ours.canonicalize(clouds())
        for i, x in enumerate(clouds()):
            values = torch.stack([value(ours.network((x @ u.T).unsqueeze(0))[0]) for u in CUBE]).detach()
            torch.testing.assert_close(found.parameters[i, 0], CUBE[int(values.argmax())])
            torch.testing.assert_close(found.scores[i, 0], values.max())

    @pytest.mark.parametrize("prior", [NegativeEntropy(), LargestScore(), LogSumExp(), Confidence()], ids=repr)
    def test_weights_do_not_depend_on_how_often_the_points_come(self, prior: Prior) -> None:
        """A confidence is a mean over points: a cloud of doubled points has the same weights."""
        options = {"prior": prior, "temperature": TAU}
        ours = Canonicalized(Dense(4), Rotations(), GridSearch(points=CUBE), **options).eval()
        once, twice = ours.canonicalize(clouds()), ours.canonicalize(torch.cat([clouds(), clouds()], 1))
        assert once.weights is not None
        assert once.effective_forms is not None
        torch.testing.assert_close(once.weights, twice.weights)
        assert bool(((once.effective_forms > 1.001) & (once.effective_forms < 24)).all())

    @pytest.mark.parametrize("prior", [NegativeEntropy(), LargestScore(), LogSumExp(), Confidence()], ids=repr)
    @pytest.mark.parametrize("temperature", [0.0, TAU])
    def test_padding_does_not_count_even_if_the_network_answers_for_it(self, prior: Prior, temperature: float) -> None:
        network = Dense(4)
        options = {"prior": prior, "temperature": temperature}
        ours = Canonicalized(lambda g: network(g[0]), Rotations(), GridSearch(points=CUBE), **options).eval()
        real = torch.tensor([[True] * 4, [True] * 3 + [False], [True] * 2 + [False] * 2])
        padded = ours.canonicalize((torch.where(real.unsqueeze(2), clouds(), 9.0), real))
        for i in range(3):
            g = clouds()[i : i + 1, real[i]]
            alone = ours.canonicalize((g, torch.ones(g.shape[:2], dtype=torch.bool)))
            torch.testing.assert_close(alone.parameters[0], padded.parameters[i])
            torch.testing.assert_close(alone.answers[0], padded.answers[i, real[i]])

    def test_equal_weights_are_the_mean_at_every_temperature(self) -> None:
        network = cloud_network()
        answers = expected("a vector", math.inf, network, confident=False).detach()
        for temperature in (TAU, math.inf):
            ours = model("a vector", temperature, EqualWeights()).eval()
            torch.testing.assert_close(ours(clouds()).detach(), answers)
            assert torch.equal(ours.canonicalize(clouds()).effective_forms.round(), torch.full((3, 1), 24.0).double())

    def test_a_learned_temperature_of_a_blend_gets_a_gradient(self) -> None:
        ours = model("a vector", Temperature(1.0, learned=True)).train()
        ours(clouds()).square().sum().backward()
        (parameter,) = ours.temperature.parameters()
        assert float(parameter.grad) != 0


def test_memory_does_not_grow_with_the_candidates() -> None:
    """Answers are carried back at most 16 candidates at a time, and blocks give the answer of all at once."""
    sizes = []

    class Counting(Rotations):
        def act(self, u: Tensor, answers: Tensor, kind: Any) -> Carried:
            sizes.append(len(answers))
            return super().act(u, answers, kind)

    options = {"prior": Confidence(), "answers": "vectors", "temperature": TAU}
    ours = Canonicalized(cloud_network(4), Counting(), RandomSearch(150), **options).eval()
    with torch.no_grad():
        in_blocks = ours(clouds())
    assert len(sizes) == 10
    assert max(sizes) == 16 * 3
    torch.testing.assert_close(ours(clouds()).detach(), in_blocks)
    assert sizes[-1] == 150 * 3


def test_a_blend_of_known_shares_in_blocks_is_the_one_at_once() -> None:
    generator = torch.Generator().manual_seed(0)
    c, y, known = (torch.randn(9, 2, *s, generator=generator, dtype=torch.float64) for s in ((1,), (3, 4), (1, 4)))
    counts = torch.rand(9, 2, generator=generator) > 0.3
    for temperature in (0.0, TAU, math.inf):
        running = RunningBlend(temperature)
        for rows in torch.arange(9).split(4):
            running.add(c[rows], y[rows], counts[rows], known[rows])
        weights = soft_weights(c, temperature, counts=counts).unsqueeze(3)
        torch.testing.assert_close(running.result(), ((weights * y).sum(0), (weights * known).sum(0)))


# What is refused


def of_clouds(network: Any = None, family: Any = None, **options: Any) -> Tensor:
    family = family or Rotations()
    search = RandomSearch(4)
    return Canonicalized(network or cloud_network(), family, search, **options).eval()(clouds())


class NaNAnswers(nn.Module):
    """The confidence is always a number, an answer is not."""

    def forward(self, x: Tensor) -> Tensor:
        outputs = x[:, 0].repeat(1, 2)[:, :4]
        return outputs.masked_fill((outputs[:, :1] > 0) & (torch.arange(4) == 1), math.nan)


REFUSED = {
    "an unknown kind": (
        lambda: of_clouds(answers="vector"),
        UnknownNameError,
        ["vectors, rotations, maps", "'vector'"],
    ),
    "vectors with a form per class": (
        lambda: of_clouds(answers="vectors"),
        InputError,
        ["ClassScore", "one shared form", "Confidence()", "EqualWeights()"],
    ),
    "maps of clouds": (
        lambda: of_clouds(answers="maps", prior=NegativeEntropy(axis=1)),
        SpaceError,
        ["Rotations()", "'maps'", "stays with it"],
    ),
    "poses of mirrored clouds": (
        lambda: of_clouds(family=Isometries(), answers="rotations", prior=Confidence()),
        SpaceError,
        ["Isometries", "'rotations'", "mirror image"],
    ),
    "vectors of a family that cannot": (
        lambda: of_clouds(family=Mirror(), answers="vectors", prior=Confidence()),
        SpaceError,
        ["Mirror", "carries and act"],
    ),
    "maps of windows": (
        lambda: Canonicalized(nn.Identity(), Windows(), prior=NegativeEntropy(axis=1), answers="maps"),
        SpaceError,
        ["Windows", "cuts away", "Rotations"],
    ),
    "vectors of two numbers": (
        lambda: of_clouds(cloud_network(2), answers="vectors", prior=EqualWeights(), temperature=math.inf),
        ShapeError,
        ["(pairs, 3)", "(12, 2)", "invariant"],
    ),
    "a confidence that was forgotten": (
        lambda: of_clouds(cloud_network(3), answers="vectors", prior=Confidence()),
        ShapeError,
        ["(12, 2)", "(12, 3)", "Confidence()"],
    ),
    "a confidence alone": (
        lambda: of_clouds(cloud_network(1), prior=Confidence()),
        ShapeError,
        ["(12, 1)", "one more"],
    ),
    "poses of eight numbers": (
        lambda: of_clouds(cloud_network(8), answers="rotations", prior=EqualWeights(), temperature=1.0),
        ShapeError,
        ["(pairs, 3, 3) or (pairs, 9)", "(12, 8)"],
    ),
    "points on the axis of classes": (
        lambda: of_clouds(DenseNetwork(5), prior=NegativeEntropy(axis=1)),
        ShapeError,
        ["axis 1", "4 points", "NegativeEntropy(axis=-1)"],
    ),
    "an axis of the pairs": (lambda: NegativeEntropy(axis=0), InputError, ["axis", "0", "1 for maps"]),
    "an axis that the outputs do not have": (
        lambda: of_clouds(prior=LargestScore(axis=2)),
        ShapeError,
        ["LargestScore(axis=2)", "(12, 3)"],
    ),
    "one form of equal weights": (lambda: of_clouds(prior=EqualWeights()), InputError, ["no single best", "inf"]),
    "one form of equal weights by a temperature of zero": (
        lambda: of_clouds(prior=EqualWeights(), temperature=Temperature(0.0)),
        InputError,
        ["no single best", "inf"],
    ),
    "temperatures for another number of classes": (
        lambda: of_clouds(temperature=[1.0, 2.0]),
        ShapeError,
        ["3 numbers", "got 2", "single number"],
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_fit_is_refused_with_the_right_choice(name: str) -> None:
    call, kind, words = REFUSED[name]
    with pytest.raises(kind) as error:
        call()
    assert all(word in str(error.value) for word in words), str(error.value)


@pytest.mark.parametrize("gradients", [False, True])
def test_temperatures_of_the_wrong_length_are_refused_everywhere(gradients: bool) -> None:
    ours = Canonicalized(cloud_network(), Rotations(), RandomSearch(4), temperature=[1.0])
    with torch.set_grad_enabled(gradients), pytest.raises(ShapeError, match="3 numbers"):
        ours.eval()(clouds())
    with pytest.raises(ShapeError, match="3 numbers"):
        ours.canonicalize(clouds())
    with pytest.raises(ShapeError, match="3 numbers"):
        Objective(ours.train(), forms=2)(clouds(), torch.tensor([0, 1, 2]))


@pytest.mark.parametrize(("prior", "temperature"), WEIGHTED, ids=repr)
@pytest.mark.parametrize("gradients", [False, True])
def test_nan_in_an_answer_is_refused_though_the_confidence_is_a_number(
    prior: Prior, temperature: float, gradients: bool
) -> None:
    ours = Canonicalized(NaNAnswers(), Rotations(), RandomSearch(4), prior=prior, temperature=temperature).eval()
    with torch.set_grad_enabled(gradients), pytest.raises(ScoreError, match="NaN"):
        ours(clouds())
    with pytest.raises(ScoreError, match="NaN"):
        ours.canonicalize(clouds())


class TestCheckpoints:
    def test_one_of_other_answers_is_refused(self) -> None:
        ours, theirs = (
            Canonicalized(cloud_network(), Rotations(), RandomSearch(4), prior=LargestScore(), answers=kind)
            for kind in ("invariant", "vectors")
        )
        with pytest.raises(InputError, match="answers vectors in the checkpoint, invariant in the model"):
            ours.load_state_dict(theirs.state_dict())
        with pytest.raises(InputError, match="answers invariant in the checkpoint, vectors in the model"):
            theirs.load_state_dict(ours.state_dict())
        assert "answers" not in unpacked(ours.state_dict()["_extra_state"])

    def test_the_same_answers_come_back(self) -> None:
        ours, other = model("a vector").eval(), model("a vector").eval()
        nn.init.normal_(other.network[1].weight)
        assert not torch.allclose(other(clouds()), ours(clouds()))
        other.load_state_dict(ours.state_dict())
        assert torch.equal(other(clouds()), ours(clouds()))

    def test_the_model_says_what_its_answers_are(self) -> None:
        assert "answers='vectors'" in repr(model("a vector"))
        assert "answers" not in repr(Canonicalized(cloud_network(), Rotations()))
