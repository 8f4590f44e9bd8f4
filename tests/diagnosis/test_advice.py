"""The rule that is chosen, and what is recommended: no difference within chance is taken for certain."""

import math

import pytest
import torch
from torch import Tensor

import adacanon
from adacanon.diagnosis.advice import Fall, advice_on
from adacanon.diagnosis.choice import Choice, chosen
from adacanon.diagnosis.readings import Answers
from adacanon.diagnosis.rules import Rule, answers_of, rules_of
from adacanon.errors import InputError
from cases.brought_models import half, halves

SAMPLES = 400
LABELS = torch.arange(SAMPLES) % 4


def answered(*accuracies: float) -> Answers:
    """Of one rule for each accuracy, the mistakes at random."""
    rows = []
    for number, accuracy in enumerate(accuracies):
        draws = torch.rand(SAMPLES, generator=torch.Generator().manual_seed(number))
        rows.append(torch.where(draws < accuracy, LABELS, (LABELS + 1) % 4))
    return Answers(torch.stack(rows), torch.ones(len(rows), SAMPLES))


def choice_of(given: tuple[float, ...], moved: tuple[float, ...], rules: list[Rule] | None = None) -> Choice:
    found = chosen(rules or [Rule(1), Rule(16)], 64, answered(*given), answered(*moved), LABELS)
    assert found is not None
    return found


class TestRules:
    def test_every_temperature_against_the_formula(self) -> None:
        scores = torch.randn(7, 16, 3, generator=torch.Generator().manual_seed(0)).double()
        rules = rules_of((1, 4, 16), (0.0, 0.5, math.inf))
        found = answers_of(rules, scores)
        for place, rule in enumerate(rules):
            some = scores[:, : rule.candidates]
            tau = rule.temperature
            if tau == 0:
                soft = some.amax(1)
            elif tau == math.inf:
                soft = some.mean(1)
            else:
                soft = tau * (some / tau).exp().mean(1).log()
            assert torch.equal(found[place].predicted, soft.argmax(1))
            torch.testing.assert_close(found[place].confidence, soft.softmax(1).amax(1))

    def test_temperatures_cost_no_forward_passes(self) -> None:
        rows = list[int]()

        def counting(images: Tensor) -> Tensor:
            rows.append(len(images))
            return half()(images)

        for temperatures in ((0.0,), (0.0, 0.3, 1.0, math.inf)):
            rows.clear()
            found = adacanon.doctor(counting, [halves(10)], families=["rotation"], temperatures=temperatures)
            assert sum(rows) == 2 * 10 * 64 + 10 + 8
            assert len(found.findings[0].softened) == 3 * (len(temperatures) - 1)

    def test_what_is_no_temperature_is_refused(self) -> None:
        for value in (-1.0, math.nan, "warm"):
            with pytest.raises(InputError, match="from 0 to infinity"):
                rules_of((1, 4), (value,))


class TestChoice:
    def test_it_is_made_on_one_half_and_judged_on_the_other(self) -> None:
        """Among many rules without any merit, the best on all samples looks better than it is; the judged one does
        not, in the mean over many draws.
        """
        rules = [Rule(1), *(Rule(k) for k in range(2, 42))]
        looks, judged = list[float](), list[float]()
        for seed in range(30):
            generator = torch.Generator().manual_seed(seed)
            draws = torch.rand(2, len(rules), SAMPLES, generator=generator)
            given, moved = (Answers(torch.where(d < 0.5, LABELS, (LABELS + 1) % 4), d) for d in draws)
            found = chosen(rules, 64, given, moved, LABELS)
            assert found is not None
            assert found.chosen_on == found.judged_on == SAMPLES // 2
            judged.append(found.net)
            right = (given.predicted == LABELS).double() + (moved.predicted == LABELS).double()
            looks.append(100 * float((right.mean(1) - right[0].mean()).max()))
        error = torch.tensor(judged).std() / math.sqrt(30)
        assert sum(looks) / 30 > 5
        assert abs(sum(judged) / 30) < 3 * float(error)

    def test_its_figures_are_those_of_the_judging_half(self) -> None:
        given, moved = answered(0.9, 0.85), answered(0.4, 0.8)
        found = chosen([Rule(1), Rule(16)], 64, given, moved, LABELS)
        assert found is not None
        rows = LABELS.argsort(stable=True)[1::2]
        accuracy = [100 * float((a.predicted[i, rows] == LABELS[rows]).double().mean()) for a in (given, moved)
                    for i in (0, 1)]  # fmt: skip
        expected = [found.plain_as_given, found.wrapped_as_given, found.plain_transformed, found.wrapped_transformed]
        assert expected == pytest.approx(accuracy)
        assert found.cost == pytest.approx(accuracy[0] - accuracy[1])
        assert found.recovered == pytest.approx(accuracy[3] - accuracy[2])
        assert found.net == pytest.approx(found.recovered - found.cost)

    def test_equal_rules_of_a_small_family_count_once_and_the_cheapest_is_taken(self) -> None:
        same = answered(0.9, 0.9, 0.9, 0.9)
        same = Answers(same.predicted[:1].expand(4, -1), same.confidence)
        found = chosen([Rule(1), Rule(1), Rule(4), Rule(16)], 2, same, same, LABELS)
        assert found is not None
        assert (found.compared, found.passes, found.candidates) == (1, 2, 4)
        assert chosen([Rule(1)], 64, same, same, LABELS) is None
        assert chosen([Rule(1), Rule(4)], 64, same, same, LABELS[:1]) is None


class TestAdvice:
    def test_no_fall(self) -> None:
        sure = advice_on(Fall(-0.2, 0.3, False, 1000), None, doubtful=False)
        assert (sure.recommendation, sure.certain) == ("leave it", True)
        little = advice_on(Fall(-0.5, 0.1, True, 9000), None, doubtful=False)
        assert (little.recommendation, little.certain) == ("leave it", True)
        assert "falls by very little" in little.reason

    def test_few_samples_rule_nothing_out(self) -> None:
        for fall in (Fall(-3.0, 4.0, False, 30), Fall(0.0, 0.0, False, 30)):
            unsure = advice_on(fall, None, doubtful=False)
            assert (unsure.recommendation, unsure.certain) == ("leave it", False)
            assert "cannot rule out" in unsure.reason

    @pytest.mark.parametrize(
        ("given", "moved", "recommendation", "certain"),
        [
            ((0.9, 0.88), (0.4, 0.85), "wrap", True),
            ((0.9, 0.9), (0.4, 0.72), "wrap", False),
            ((0.9, 0.88), (0.4, 0.53), "fine-tune", True),
            ((0.9, 0.55), (0.4, 0.7), "fine-tune", False),
            ((0.9, 0.3), (0.4, 0.6), "fine-tune", True),
            ((0.9, 0.9), (0.4, 0.41), "augment", True),
        ],
    )
    def test_a_fall_of_fifty_points(
        self, given: tuple[float, ...], moved: tuple[float, ...], recommendation: str, certain: bool
    ) -> None:
        advice = advice_on(Fall(-50.0, 3.0, True, SAMPLES), choice_of(given, moved), doubtful=False)
        assert (advice.recommendation, advice.certain) == (recommendation, certain)

    def test_a_small_fall_and_a_search_within_chance(self) -> None:
        advice = advice_on(Fall(-4.0, 1.2, True, SAMPLES), choice_of((0.9, 0.9), (0.86, 0.87)), doubtful=False)
        assert (advice.recommendation, advice.certain) == ("augment", False)
        assert "cannot rule out" in advice.reason

    def test_from_which_share_on_it_pays(self) -> None:
        choice = choice_of((0.9, 0.8), (0.4, 0.85))
        advice = advice_on(Fall(-50.0, 3.0, True, SAMPLES), choice, doubtful=False)
        share = 100 * choice.cost / (choice.cost + choice.recovered)
        assert f"more than {math.ceil(share)} % of your inputs" in advice.reason
        s = share / 100
        assert s * choice.recovered == pytest.approx((1 - s) * choice.cost)

    def test_doubtful_data_come_first(self) -> None:
        advice = advice_on(Fall(-50.0, 3.0, True, SAMPLES), choice_of((0.9, 0.8), (0.4, 0.8)), doubtful=True)
        assert (advice.recommendation, advice.certain) == ("check first", False)
