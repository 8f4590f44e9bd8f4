"""The fused first layer of A-NLSF, invariants beside the coefficients, and draws that serve several training steps."""

from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._pytree import tree_map

from adacanon import Canonicalized, Objective, RandomSearch, SampleAndRefine
from adacanon.core import Family, evaluation
from adacanon.core.evaluation import evaluate
from adacanon.core.landscape import Landscape
from adacanon.core.prior import ClassScore, Monotone, Prior
from adacanon.core.pytree import Tree, map_tensors, owners
from adacanon.core.space import Space
from adacanon.errors import InputError, ShapeError
from adacanon.graphs import BandCoefficients, BandRotations, SpectralMLP, uniform
from adacanon.graphs.lifted_mlp import LiftedMLP
from adacanon.maximizers import Restarts

BANDS, ROWS, WIDTH, CHANNELS, CLASSES, BESIDE = 3, 2, 3, 4, 3, 5
FAMILY = BandRotations(uniform(BANDS), rows=ROWS)
TOLERANCE = {torch.float64: 1e-12, torch.float32: 1e-5}


@dataclass(frozen=True)
class Unfused(Family):
    """The same family without its faster way."""

    family: Family

    def prepare(self, g: Any) -> Tree:
        return self.family.prepare(g)

    def space(self, g: Tree) -> Space:
        return self.family.space(g)

    def transform(self, g: Tree, u: Tree, owner: Tensor) -> Tree:
        return self.family.transform(g, u, owner)


def coefficients(
    graphs: int = 6, *, beside: int = 0, dtype: torch.dtype = torch.float64, seed: int = 0
) -> BandCoefficients:
    """Random coefficients: some bands are empty, some of deficient rank."""
    generator = torch.Generator().manual_seed(seed)
    sizes = torch.randint(0, 9, (graphs, BANDS), generator=generator)
    ranks = torch.minimum(sizes, torch.randint(0, WIDTH + 1, (graphs, BANDS), generator=generator))
    factors = torch.randn(graphs, BANDS, WIDTH, CHANNELS, generator=generator, dtype=torch.float64)
    factors = factors * (torch.arange(WIDTH) < ranks[..., None])[..., None]
    invariants = torch.randn(graphs, beside, generator=generator, dtype=torch.float64) if beside else None
    return BandCoefficients(factors, sizes, ranks, invariants).to(dtype)


def network(layers: int = 3, *, beside: int = 0, rows: int = BANDS * ROWS, dropout: float = 0.0) -> SpectralMLP:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(layers)
        sizes = {"classes": CLASSES, "hidden": 16, "layers": layers, "invariants": beside}
        return SpectralMLP(rows, CHANNELS, dropout=dropout, **sizes).double().eval()


def candidates(g: BandCoefficients, count: int = 7) -> Tensor:
    return FAMILY.space(g).sample(count, generator=torch.Generator().manual_seed(3)).to(g.factors.dtype)


def model(family: Family, mlp: SpectralMLP, *, steps: int = 3, **options: Any) -> Canonicalized:
    return Canonicalized(mlp, family, SampleAndRefine(candidates=8, steps=steps), **options)


def gradients(module: torch.nn.Module) -> list[Tensor]:
    return [parameter.grad.clone() for parameter in module.parameters() if parameter.grad is not None]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("beside", [0, BESIDE])
@pytest.mark.parametrize("layers", [1, 2, 3])
class TestTheFusedWayIsTheSameFunction:
    def test_outputs(self, layers: int, beside: int, dtype: torch.dtype) -> None:
        g, mlp = coefficients(beside=beside, dtype=dtype), network(layers, beside=beside).to(dtype)
        u, fused = candidates(g), FAMILY.fused(mlp, g)
        assert fused is not None
        expected = evaluate(mlp, FAMILY, g, u.flatten(0, 1), owners(len(g), 1, u.device, count=len(u)))
        found = fused(u)
        assert found.dtype == dtype
        assert found.shape == (len(u), len(g), CLASSES)
        torch.testing.assert_close(found.flatten(0, 1), expected, atol=TOLERANCE[dtype], rtol=TOLERANCE[dtype])

    def test_values_and_gradients_of_the_landscape(self, layers: int, beside: int, dtype: torch.dtype) -> None:
        g, mlp = coefficients(beside=beside, dtype=dtype), network(layers, beside=beside).to(dtype)
        u = candidates(g, 2 * CLASSES).unflatten(0, (2, CLASSES)).transpose(1, 2)  # (count, batch, forms, *point)
        fast, slow = (Landscape(mlp, family, ClassScore(), g) for family in (FAMILY, Unfused(FAMILY)))
        assert fast.fused is not None
        assert slow.fused is None
        tolerance = {"atol": TOLERANCE[dtype], "rtol": TOLERANCE[dtype]}
        for found, expected in zip(fast.value_and_gradient(u), slow.value_and_gradient(u), strict=True):
            torch.testing.assert_close(found, expected, **tolerance)
        for landscape in (fast, slow):
            torch.testing.assert_close(landscape.values(u), landscape.value_and_gradient(u)[0], **tolerance)
        grid = candidates(g)
        torch.testing.assert_close(fast(grid), slow(grid), **tolerance)

    def test_logits_of_the_canonicalized_network(self, layers: int, beside: int, dtype: torch.dtype) -> None:
        g, mlp = coefficients(beside=beside, dtype=dtype), network(layers, beside=beside).to(dtype)
        fast, slow = (model(family, mlp).eval()(g) for family in (FAMILY, Unfused(FAMILY)))
        torch.testing.assert_close(fast, slow, atol=10 * TOLERANCE[dtype], rtol=10 * TOLERANCE[dtype])


class TestGradientsOfForms:
    """With few forms the coefficients are rotated first, with many the first layer is merged with them."""

    @pytest.mark.parametrize("forms", [1, 2, 40])
    @pytest.mark.parametrize("beside", [0, BESIDE])
    def test_are_those_of_the_network_called_on_every_pair(self, forms: int, beside: int) -> None:
        g, mlp = coefficients(beside=beside), network(beside=beside)
        g.factors.requires_grad_()
        u = candidates(g, forms).transpose(0, 1)
        owner = torch.arange(len(g)).repeat_interleave(forms)
        parameters = [*mlp.parameters(), g.factors]
        expected = evaluate(mlp, FAMILY, g, u.flatten(0, 1), owner).unflatten(0, (len(g), forms))
        found = LiftedMLP(mlp, g, ROWS).with_gradients(mlp, g, u)
        torch.testing.assert_close(found, expected, atol=1e-12, rtol=1e-12)
        weights = torch.randn(expected.shape, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
        both = (torch.autograd.grad((outputs * weights).sum(), parameters) for outputs in (found, expected))
        for fast, slow in zip(*both, strict=True):
            torch.testing.assert_close(fast, slow, atol=1e-11, rtol=1e-11)


class TestThePullback:
    @pytest.mark.parametrize("layers", [1, 2, 3])
    def test_is_the_transposed_derivative(self, layers: int) -> None:
        g, mlp = coefficients(beside=BESIDE), network(layers, beside=BESIDE)
        u, fused = candidates(g).requires_grad_(), LiftedMLP(mlp, g, ROWS)
        expected = fused(u)
        cotangent = torch.randn(expected.shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
        pulled = fused.pullback(u)
        assert pulled is not None
        outputs, back = pulled
        torch.testing.assert_close(outputs, expected.detach(), atol=1e-12, rtol=1e-12)
        torch.testing.assert_close(
            back(cotangent), torch.autograd.grad(expected, u, cotangent)[0], atol=1e-12, rtol=1e-12
        )

    def test_other_priors(self) -> None:
        g, mlp, prior = coefficients(), network(), Monotone([torch.sigmoid, torch.neg, torch.exp])
        u = candidates(g, CLASSES).unflatten(0, (1, CLASSES)).transpose(1, 2)
        fast, slow = (Landscape(mlp, family, prior, g).value_and_gradient(u) for family in (FAMILY, Unfused(FAMILY)))
        for found, expected in zip(fast, slow, strict=True):
            torch.testing.assert_close(found, expected, atol=1e-12, rtol=1e-12)

    def test_leaves_layers_that_it_does_not_know_to_autograd(self) -> None:
        g, mlp = coefficients(), network()
        mlp.rest[0] = torch.nn.Tanh()
        assert LiftedMLP(mlp, g, ROWS).pullback(candidates(g)) is None
        u = candidates(g, CLASSES).unflatten(0, (1, CLASSES)).transpose(1, 2)
        fast, slow = (
            Landscape(mlp, family, ClassScore(), g).value_and_gradient(u) for family in (FAMILY, Unfused(FAMILY))
        )
        for found, expected in zip(fast, slow, strict=True):
            torch.testing.assert_close(found, expected, atol=1e-12, rtol=1e-12)


class TestTraining:
    @pytest.mark.parametrize("beside", [0, BESIDE])
    def test_gradients_reach_parameters_and_inputs_as_without_it(self, beside: int) -> None:
        targets, found = torch.tensor([0, 1, 2, 0, 1, 2]), []
        for family in (FAMILY, Unfused(FAMILY)):
            mlp, g = network(beside=beside).train(), coefficients(beside=beside)
            g.factors.requires_grad_()
            Objective(model(family, mlp).train())(g, targets).loss.backward()
            assert g.factors.grad is not None
            found.append([*gradients(mlp), g.factors.grad])
        assert len(found[0]) == 1 + len(list(network(beside=beside).parameters()))
        for fast, slow in zip(*found, strict=True):
            assert float(fast.abs().max()) > 0
            torch.testing.assert_close(fast, slow, atol=1e-11, rtol=1e-11)

    def test_the_search_leaves_no_gradients_behind(self) -> None:
        mlp, g = network().train(), coefficients()
        model(FAMILY, mlp).canonicalize(g)
        assert gradients(mlp) == []

    def test_dropout_is_off_in_the_search_and_on_in_the_training_pass(self) -> None:
        mlp, g = network(dropout=0.5).train(), coefficients()
        trained = model(FAMILY, mlp)
        first, second = (trained(g, generator=torch.Generator().manual_seed(0)) for _ in range(2))
        assert not torch.equal(first, second)
        found = [trained.canonicalize(g, generator=torch.Generator().manual_seed(0)).scores for _ in range(2)]
        assert torch.equal(*found)
        assert all(module.training for module in mlp.modules())


class TestWhatChangesNothing:
    @pytest.mark.parametrize("chunk_size", [1, 5, 6, 7, 1000, None])
    def test_chunks(self, chunk_size: int | None) -> None:
        g, mlp = coefficients(beside=BESIDE), network(beside=BESIDE)
        expected = model(FAMILY, mlp, chunk_size=13).eval()(g)
        torch.testing.assert_close(
            model(FAMILY, mlp, chunk_size=chunk_size).eval()(g), expected, atol=1e-12, rtol=1e-12
        )

    @pytest.mark.parametrize(("chunk_size", "at_a_time"), [(1, {1}), (6, {1}), (12, {2}), (100, {8})])
    def test_no_more_pairs_are_evaluated_at_a_time_than_asked_for(
        self, chunk_size: int, at_a_time: set[int], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """8 candidates of 6 graphs; one candidate of every graph is the least."""
        seen, call = set[int](), LiftedMLP.__call__

        def counted(lifted: LiftedMLP, u: Tree) -> Tensor:
            seen.add(len(u))  # type: ignore[arg-type]
            return call(lifted, u)

        monkeypatch.setattr(LiftedMLP, "__call__", counted)
        model(FAMILY, network(), steps=0, chunk_size=chunk_size).eval()(coefficients())
        assert seen == at_a_time

    @pytest.mark.parametrize("outputs", [1, 20, 40])
    def test_gradients_some_points_at_a_time(self, outputs: int, monkeypatch: pytest.MonkeyPatch) -> None:
        g, mlp = coefficients(beside=BESIDE), network(beside=BESIDE)
        search = SampleAndRefine(4, 2)
        expected = Canonicalized(mlp, FAMILY, search).eval()(g)
        widest, pullback = list[int](), LiftedMLP.pullback

        def recorded(self: LiftedMLP, u: Tensor) -> Any:
            widest.append(len(u))
            return pullback(self, u)

        monkeypatch.setattr(LiftedMLP, "pullback", recorded)
        monkeypatch.setattr(evaluation, "OUTPUTS_PER_GRADIENT_CHUNK", outputs)
        found = Canonicalized(mlp, FAMILY, search).eval()(g)
        torch.testing.assert_close(found, expected, atol=1e-12, rtol=1e-12)
        assert max(widest) == max(1, outputs // (6 * CLASSES))

    def test_inference_mode(self) -> None:
        g, mlp = coefficients(beside=BESIDE), network(beside=BESIDE)
        adaptive = model(FAMILY, mlp).eval()
        expected = adaptive(g)
        with torch.no_grad():
            without_gradients = adaptive(g)
        torch.testing.assert_close(without_gradients, expected, atol=1e-12, rtol=1e-12)
        with torch.inference_mode():
            copied = coefficients(beside=BESIDE)
            found = [adaptive(g), adaptive(copied)]
        for logits in found:
            assert torch.equal(logits, without_gradients)

    def test_a_graph_alone_or_in_a_batch(self) -> None:
        g, adaptive = coefficients(), model(FAMILY, network()).eval()
        alone = torch.cat([adaptive(g[i : i + 1]) for i in range(len(g))])
        torch.testing.assert_close(alone, adaptive(g), atol=1e-11, rtol=1e-11)

    @pytest.mark.parametrize("search", [RandomSearch(8), Restarts(SampleAndRefine(4, steps=2), times=2)])
    def test_other_searches(self, search: Any) -> None:
        g, mlp = coefficients(), network()
        fast, slow = (Canonicalized(mlp, family, search).eval()(g) for family in (FAMILY, Unfused(FAMILY)))
        torch.testing.assert_close(fast, slow, atol=1e-11, rtol=1e-11)

    def test_a_prior_with_one_form_for_all_classes(self) -> None:
        class Largest(Prior):
            shared = True

            def __call__(self, outputs: Tensor) -> Tensor:
                return outputs.amax(1, keepdim=True)

        g, mlp = coefficients(), network()
        fast, slow = (
            Canonicalized(mlp, family, SampleAndRefine(8), prior=Largest()).eval()(g)
            for family in (FAMILY, Unfused(FAMILY))
        )
        assert fast.shape == (len(g), CLASSES)
        torch.testing.assert_close(fast, slow, atol=1e-11, rtol=1e-11)

    def test_evaluations_are_counted_alike(self) -> None:
        g, mlp = coefficients(), network()
        spent = [model(family, mlp).canonicalize(g).evaluations for family in (FAMILY, Unfused(FAMILY))]
        assert spent[0] == spent[1] > 8


class TestWhereThereIsNoFasterWay:
    def test_rows_that_differ_between_bands(self) -> None:
        family, g = BandRotations(uniform(BANDS), rows=(1, 2, 3)), coefficients()
        mlp = network()
        assert family.fused(mlp, g) is None
        assert model(family, mlp).eval()(g).shape == (len(g), CLASSES)

    def test_equal_rows_give_the_same_answer_either_way(self) -> None:
        g, mlp = coefficients(), network()
        one, each = (model(BandRotations(uniform(BANDS), rows=rows), mlp).eval()(g) for rows in (2, (2, 2, 2)))
        torch.testing.assert_close(one, each, atol=1e-11, rtol=1e-11)

    def test_autocast(self) -> None:
        g, mlp = coefficients(dtype=torch.float32), network().float()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            assert FAMILY.fused(mlp, g) is None
            fast, slow = (model(family, mlp).eval()(g) for family in (FAMILY, Unfused(FAMILY)))
        assert torch.equal(fast, slow)
        assert fast.dtype == torch.float32

    def test_another_network(self) -> None:
        g, wrapped = coefficients(), torch.nn.Sequential(network())
        assert FAMILY.fused(wrapped, g) is None
        torch.testing.assert_close(
            model(FAMILY, wrapped).eval()(g),  # type: ignore[arg-type]
            model(FAMILY, wrapped[0]).eval()(g),  # type: ignore[arg-type]
            atol=1e-11,
            rtol=1e-11,
        )


class TestInvariantsBesideTheCoefficients:
    def test_a_network_that_expects_them_needs_them(self) -> None:
        with pytest.raises(ShapeError, match="invariants"):
            model(FAMILY, network(beside=BESIDE)).eval()(coefficients())

    def test_a_network_that_does_not_expect_them_refuses_them(self) -> None:
        with pytest.raises(ShapeError, match="invariants"):
            model(FAMILY, network()).eval()(coefficients(beside=BESIDE))

    @pytest.mark.parametrize("family", [FAMILY, Unfused(FAMILY)], ids=["fused", "not fused"])
    def test_another_number_of_them_is_refused(self, family: Family) -> None:
        with pytest.raises(ShapeError, match=r"5 invariants.*got.*4"):
            model(family, network(beside=BESIDE)).eval()(coefficients(beside=BESIDE - 1))

    def test_wrong_rows_still_get_the_error_of_the_network(self) -> None:
        with pytest.raises(ShapeError, match="rows is the sum of J_k"):
            model(FAMILY, network(rows=5)).eval()(coefficients())

    def test_they_survive_indexing_casting_and_mapping(self) -> None:
        g = coefficients(beside=BESIDE)
        assert g.invariants is not None
        index = torch.tensor([4, 0, 4])
        assert torch.equal(g[index].invariants, g.invariants[index])  # type: ignore[arg-type]
        assert torch.equal(g[1:3].invariants, g.invariants[1:3])  # type: ignore[arg-type]
        assert g.to(torch.float32).invariants.dtype == torch.float32  # type: ignore[union-attr]
        assert g.to(torch.float32).sizes.dtype == torch.int64
        doubled = tree_map(lambda leaf: 2 * leaf, g)
        assert isinstance(doubled, BandCoefficients)
        assert torch.equal(doubled.invariants, 2 * g.invariants)  # type: ignore[arg-type]
        assert map_tensors(lambda leaf: leaf[:2], g).invariants.shape == (2, BESIDE)

    def test_none_stays_none(self) -> None:
        g = coefficients()
        for other in (g[:2], g.to(torch.float32), map_tensors(torch.clone, g)):
            assert other.invariants is None


class TestDrawsForSeveralTrainingSteps:
    def drawn(self, adaptive: Canonicalized, calls: int) -> list[Tensor]:
        """The transformations that each call finds; without refinement these are draws."""
        return [adaptive.canonicalize(coefficients()).parameters for _ in range(calls)]

    @pytest.mark.parametrize("resample_every", [1, 2, 3])
    def test_as_many_calls_share_their_draws_and_then_they_change(self, resample_every: int) -> None:
        found = self.drawn(model(FAMILY, network(), steps=0, resample_every=resample_every).train(), 3 * resample_every)
        for call, other in zip(range(len(found)), found[1:], strict=False):
            assert torch.equal(found[call], other) == ((call + 1) % resample_every != 0)
        assert not torch.equal(found[0], found[2 * resample_every])

    def test_a_restored_model_goes_on_where_the_saved_one_stood(self) -> None:
        saved = model(FAMILY, network(), steps=0, resample_every=3).train()
        self.drawn(saved, 4)
        restored = model(FAMILY, network(), steps=0, resample_every=3).train()
        restored.load_state_dict(saved.state_dict())
        ahead = self.drawn(saved, 5)
        for mine, other in zip(ahead, self.drawn(restored, 5), strict=True):
            assert torch.equal(mine, other)
        assert torch.equal(ahead[0], ahead[1])
        assert not torch.equal(ahead[1], ahead[2])

    def test_evaluation_does_not_notice(self) -> None:
        g, plain, shared = coefficients(), model(FAMILY, network()), model(FAMILY, network(), resample_every=5)
        expected = plain.eval()(g)
        for calls in range(3):
            shared.train()
            self.drawn(shared, calls)
            assert torch.equal(shared.eval()(g), expected)
        assert int(shared.draws) == 3

    def test_a_given_generator_has_the_last_word(self) -> None:
        shared = model(FAMILY, network(), steps=0, resample_every=5).train()
        found = [
            shared.canonicalize(coefficients(), generator=torch.Generator().manual_seed(seed)).parameters
            for seed in (0, 1, 0)
        ]
        assert torch.equal(found[0], found[2])
        assert not torch.equal(found[0], found[1])
        assert int(shared.draws) == 0

    @pytest.mark.parametrize("resample_every", [0, -1])
    def test_numbers_that_mean_nothing_are_refused(self, resample_every: int) -> None:
        with pytest.raises(InputError, match=r"resample_every to be a whole number, at least 1.*Hint"):
            model(FAMILY, network(), resample_every=resample_every)
