"""Questions to the network until an answer is settled: what is asked, when it stops, and what that is worth."""

import math

import pytest
import torch
from torch import Tensor

from adacanon import AnchoredSearch, Canonicalized, Cascade, NegativeEntropy
from adacanon.core.soft import soft_maximum
from adacanon.errors import InputError
from adacanon.maximizers import RankerErrors
from adacanon.maximizers.asking import ask_until_settled
from adacanon.points import Rotations
from adacanon.testing import assert_invariant
from cases.coarse_cases import CLASSES, MaxNetwork, large_clouds
from cases.networks import DenseNetwork, Spy, clouds
from cases.rankers import small_ranker
from oracles.asking import questions

ANCHORS = AnchoredSearch(24)


def scene(seed: int, *, batch: int = 6, candidates: int = 9, classes: int = 4) -> tuple[Tensor, Tensor, RankerErrors]:
    """Values, estimates, and a ranker's errors that were measured on other inputs of the same kind."""
    generator = torch.Generator().manual_seed(seed)

    def drawn(inputs: int) -> tuple[Tensor, Tensor]:
        v, shift, own = (
            torch.randn(*shape, classes, generator=generator, dtype=torch.float64)
            for shape in ((candidates, inputs), (1, inputs), (candidates, inputs))
        )
        return 2 * v, 2 * v + 0.3 + 0.8 * shift + 0.4 * own

    errors = RankerErrors(classes).double()
    errors.measure(*drawn(40))
    return *drawn(batch), errors


def asked(values: Tensor, estimates: Tensor, errors: RankerErrors, *, most: int, tau: float | None = None) -> Tensor:
    temperature = None if tau is None else torch.tensor(tau)
    return ask_until_settled(estimates, lambda i, b: values[i, b], errors, most=most, temperature=temperature).known


@pytest.mark.parametrize("tau", [0.0, 0.5])
@pytest.mark.parametrize("caution", [-0.5, 0.3, 1.0, 3.0])
@pytest.mark.parametrize("most", [1, 4, 20])
def test_what_is_asked_agrees_with_a_slow_loop(most: int, caution: float, tau: float) -> None:
    values, estimates, errors = scene(int(10 * caution) + most)
    errors.caution.fill_(caution)
    known = asked(values, estimates, errors, most=most, tau=tau or None)
    for b in range(values.shape[1]):
        expected = questions(values[:, b], estimates[:, b], errors, most=most, tau=tau)
        assert set(known[:, b].nonzero().squeeze(1).tolist()) == set(expected), b


@pytest.mark.parametrize("tau", [None, 0.5])
def test_a_settled_answer_is_that_of_the_full_search_where_errors_are_within_reach(tau: float | None) -> None:
    """The caution is so large that no value is further from its estimate than it allows: the class is certain."""
    fewer = 0
    for seed in range(20):
        values, estimates, errors = scene(seed)
        errors.caution.fill_(1e-3 + float(((values - estimates - errors.bias).abs() / errors.own).max()) * 2)
        answers = ask_until_settled(
            estimates,
            lambda i, b, values=values: values[i, b],
            errors,
            most=100,
            temperature=None if tau is None else torch.tensor(tau),
        )
        if tau is None:
            found = answers.values.masked_fill(~answers.known.unsqueeze(2), -math.inf).amax(0)
        else:
            found = soft_maximum(answers.values, tau)
        full = values.amax(0) if tau is None else soft_maximum(values, tau)
        assert torch.equal(found.argmax(1), full.argmax(1))
        fewer += int((~answers.known).sum())
    assert fewer > 0


def test_more_caution_asks_more_and_agrees_more_often() -> None:
    counts, right = [], []
    for caution in (-2.0, 0.0, 1.0, 2.0, 4.0):
        count = agreed = 0
        for seed in range(30):
            values, estimates, errors = scene(seed)
            errors.caution.fill_(caution)
            known = asked(values, estimates, errors, most=9)
            found = values.masked_fill(~known.unsqueeze(2), -math.inf).amax(0)
            count += int(known.sum())
            agreed += int((found.argmax(1) == values.amax(0).argmax(1)).sum())
        counts.append(count)
        right.append(agreed)
    assert counts == sorted(counts)
    assert counts[0] < counts[-1]
    assert right[0] < right[-1] == 30 * 6


def test_errors_are_those_that_were_put_in() -> None:
    generator = torch.Generator().manual_seed(0)
    estimates = torch.randn(24, 4000, 3, generator=generator, dtype=torch.float64)
    shift, own = (torch.randn(*n, 3, generator=generator, dtype=torch.float64) for n in ((1, 4000), (24, 4000)))
    deviations = torch.tensor([0.5, 1.0, 2.0])
    errors = RankerErrors(3)
    errors.measure(estimates + 0.7 + deviations * shift + 0.3 * own, estimates)
    torch.testing.assert_close(errors.bias, torch.full((3,), 0.7), atol=0.1, rtol=0)
    torch.testing.assert_close(errors.common, deviations, atol=0.05, rtol=0.05)
    torch.testing.assert_close(errors.own, torch.full((3,), 0.3), atol=0.02, rtol=0)
    known = torch.zeros(24, 4000, dtype=torch.bool)
    known[:6] = True
    true = estimates + 0.7 + deviations * shift + 0.3 * own
    expected, deviation = errors.corrected(estimates, true.where(known.unsqueeze(2), 0.0), known)
    missed = (true - expected)[6:]
    torch.testing.assert_close(missed.square().mean((0, 1)).sqrt().float(), deviation[0].float(), atol=0.01, rtol=0.02)
    assert float(missed.mean()) == pytest.approx(0, abs=0.02)


def test_errors_of_other_shapes_are_refused() -> None:
    with pytest.raises(InputError, match="values and estimates \\(candidates, inputs, outputs\\)"):
        RankerErrors(3).measure(torch.zeros(2, 4, 3), torch.zeros(2, 4))


# In a model


def model(caution: float, *, most: int = 24, temperature: float = 0.0) -> Canonicalized:
    ranker = small_ranker(CLASSES, size=8)
    ranker.errors.common.fill_(0.05)
    ranker.errors.own.fill_(0.05)
    ranker.errors.caution.fill_(caution)
    search = Cascade(ANCHORS, ranker, finalists=most)
    return Canonicalized(MaxNetwork(), Rotations(), search, temperature=temperature).eval()


@pytest.mark.parametrize("temperature", [0.0, 0.7])
@pytest.mark.parametrize("caution", [0.5, 2.0, 30.0])
def test_inputs_of_a_batch_do_not_see_each_other(caution: float, temperature: float) -> None:
    ours, g = model(caution, temperature=temperature), large_clouds()
    alone = torch.cat([ours(one) for one in g.split(1)])
    torch.testing.assert_close(ours(g), alone)
    found = ours.canonicalize(g)
    torch.testing.assert_close(found.logits, alone)
    assert found.evaluations == pytest.approx(sum(ours.canonicalize(one).evaluations for one in g.split(1)) / len(g))


def test_the_network_sees_what_the_record_says() -> None:
    spy = Spy(MaxNetwork())
    for temperature in (0.0, 0.7):
        ours = model(2.0, temperature=temperature)
        ours.network = spy
        spy.calls.clear()
        with torch.no_grad():
            found = ours.canonicalize(large_clouds())
        assert found.evaluations == pytest.approx(sum(rows for rows, _ in spy.calls) / 5 + 24 * 0.05)


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_it_is_as_invariant_as_its_candidates(temperature: float) -> None:
    assert assert_invariant(model(2.0, temperature=temperature), large_clouds(), Rotations(), tolerance=1e-9) < 1e-9


@pytest.mark.parametrize("temperature", [0.0, 0.7])
def test_with_endless_caution_in_numbers_it_is_the_full_search(temperature: float) -> None:
    full = Canonicalized(MaxNetwork(), Rotations(), ANCHORS, temperature=temperature).eval()
    torch.testing.assert_close(model(1e6, temperature=temperature)(large_clouds()), full(large_clouds()))


def test_gradients_of_a_soft_answer_flow_through_what_was_asked() -> None:
    ours, g = model(2.0, temperature=0.7), large_clouds()
    with torch.no_grad():
        expected = ours(g)
    answer = ours(g)
    torch.testing.assert_close(answer, expected)
    answer.square().sum().backward()
    assert float(ours.network.head.weight.grad.abs().sum()) > 0
    assert all(parameter.grad is None for parameter in ours.search.ranker.parameters())


def test_one_shared_form_stops_where_no_other_can_be_better() -> None:
    ranker = small_ranker(1)
    ranker.errors.caution.fill_(1e6)
    full = Canonicalized(DenseNetwork(), Rotations(), ANCHORS, prior=NegativeEntropy()).eval()
    ours = Canonicalized(DenseNetwork(), Rotations(), Cascade(ANCHORS, ranker), prior=NegativeEntropy()).eval()
    assert ours.canonicalize(clouds()).evaluations == pytest.approx(3 + 24 * 0.05)
    every = Canonicalized(
        DenseNetwork(), Rotations(), Cascade(ANCHORS, ranker, finalists=24), prior=NegativeEntropy()
    ).eval()
    torch.testing.assert_close(every(clouds()), full(clouds()))
    ranker.errors.caution.fill_(-1e6)
    assert ours.canonicalize(clouds()).evaluations == pytest.approx(1 + 24 * 0.05)


def test_the_caution_is_saved_with_the_model() -> None:
    ours, other = model(2.0), model(math.inf, most=3)
    other.load_state_dict(ours.state_dict())
    assert float(other.search.ranker.errors.caution) == 2.0
