"""The sentences of the demo follow from its figures: every branch, with made-up figures."""

import pytest

from adacanon.reports import demo_words as words
from adacanon.reports.demo_words import ALIGNED, AUGMENTED, AVERAGED, PLAIN, TUNED, WRAPPED
from adacanon.reports.hits import Hits

HIGH, MIDDLE, LOW = (Hits("1" * right + "0" * (100 - right)) for right in (90, 60, 20))
SECONDS = dict.fromkeys((PLAIN, WRAPPED, TUNED, AUGMENTED, ALIGNED, AVERAGED), 7.4)


def figures(plain: Hits = LOW, wrapped: Hits = LOW, tuned: Hits = LOW, others: Hits = LOW) -> dict[str, Hits]:
    return {PLAIN: plain, WRAPPED: wrapped, TUNED: tuned, AUGMENTED: others, ALIGNED: others, AVERAGED: others}


class TestFall:
    def test_a_fall(self) -> None:
        said = words.fall(HIGH, LOW)
        assert "90.0 ± 3.0 % of 100 upright test shapes" in said
        assert said.endswith("20.0 ± 4.0 % of the same shapes turned: a fall of 70.0 ± 4.6 points.")

    def test_no_fall(self) -> None:
        assert words.fall(HIGH, HIGH).endswith("no change beyond chance (+0.0 ± 0.0 points).")

    def test_a_gain(self) -> None:
        assert words.fall(LOW, HIGH).endswith("a gain of 70.0 ± 4.6 points.")


class TestWrapping:
    @pytest.mark.parametrize(
        ("after", "said"),
        [
            (HIGH, "lifts the accuracy on turned shapes from 60.0 ± 4.9 % to 90.0 ± 3.0 % (+30.0 ± 4.6 points)."),
            (MIDDLE, "changes the accuracy on turned shapes by no more than chance (+0.0 ± 0.0 points)."),
            (LOW, "lowers the accuracy on turned shapes from 60.0 ± 4.9 % to 20.0 ± 4.0 % (-40.0 ± 4.9 points)."),
        ],
    )
    def test_what_it_does_to_turned_shapes(self, after: Hits, said: str) -> None:
        assert said in words.wrapping(figures(), figures(plain=MIDDLE, wrapped=after))

    @pytest.mark.parametrize(
        ("after", "said"),
        [
            (HIGH, "On upright shapes it adds to the accuracy (+30.0"),
            (MIDDLE, "On upright shapes it costs nothing beyond chance (+0.0"),
            (LOW, "On upright shapes it costs accuracy (-40.0"),
        ],
    )
    def test_what_it_costs_on_upright_shapes(self, after: Hits, said: str) -> None:
        assert said in words.wrapping(figures(plain=MIDDLE, wrapped=after), figures())


class TestTuning:
    @pytest.mark.parametrize(
        ("after", "said"),
        [
            (HIGH, "A short training under the search lifts this accuracy from 60.0 ± 4.9 % to 90.0 ± 3.0 %"),
            (MIDDLE, "A short training under the search changes this accuracy by no more than chance"),
            (LOW, "A short training under the search lowers this accuracy from 60.0 ± 4.9 % to 20.0 ± 4.0 %"),
        ],
    )
    def test_what_it_adds(self, after: Hits, said: str) -> None:
        assert words.tuning(figures(), figures(wrapped=MIDDLE, tuned=after)).startswith(said)

    @pytest.mark.parametrize(("after", "standing"), [(HIGH, "above"), (MIDDLE, "level with"), (LOW, "below")])
    def test_how_far_it_comes(self, after: Hits, standing: str) -> None:
        said = words.tuning(figures(plain=MIDDLE), figures(tuned=after))
        assert f"It is then {standing} that of the plain network on upright shapes" in said

    def test_whether_the_pose_matters(self) -> None:
        assert words.invariance(HIGH, HIGH) == "It fares the same on each of the 100 shapes, upright or turned."
        assert words.invariance(HIGH, MIDDLE).startswith("On 30 of 100 shapes it is right in one pose and wrong")


class TestControls:
    @pytest.mark.parametrize(("tuned", "standing"), [(HIGH, "above"), (MIDDLE, "level with"), (LOW, "below")])
    def test_each_is_compared(self, tuned: Hits, standing: str) -> None:
        said = words.comparison(figures(tuned=tuned, others=MIDDLE), SECONDS)
        assert len(said) == 3
        for sentence, name in zip(said, (AUGMENTED, ALIGNED, AVERAGED), strict=True):
            assert sentence.startswith(f"The fine-tuned network is {standing} “{name}”")
            assert "7 s and 7 s of training" in sentence

    def test_the_best_one_may_be_a_control(self) -> None:
        said = words.best(figures() | {AVERAGED: HIGH})
        assert said.startswith("The best figure on turned shapes is that of “frame averaging” (90.0 ± 3.0 %).")
        assert said.endswith("No other method is level with it.")

    def test_several_may_be_level(self) -> None:
        said = words.best(figures(tuned=HIGH) | {AVERAGED: HIGH})
        assert said.endswith("Level with it, within 2 standard errors: “frame averaging”.")


def test_how_often_the_search_meets_the_upright_pose() -> None:
    assert "To within 15° it is for 3 of the 12 test shapes (25 %), for the others" in words.nearness(3, 12, 15)
    assert words.nearness(12, 12, 15).endswith("(100 %), which is all of them.")


def test_symmetric_shapes_are_counted() -> None:
    assert words.undetermined(0, 9) == "All 9 test clouds have principal axes of their own."
    assert words.undetermined(2, 9).startswith("2 of 9 test clouds are symmetric to within rounding.")


class TestGraphs:
    def said(self, adaptive: Hits, control: Hits, other: Hits = MIDDLE) -> list[str]:
        return words.graphs({"GIN": other, "Gram MLP": control, "A-NLSF": adaptive})

    @pytest.mark.parametrize(
        ("hits", "standing"), [(HIGH, "above"), (Hits("1" * 52 + "0" * 48), "level with"), (LOW, "below")]
    )
    def test_every_method_is_compared_with_chance(self, hits: Hits, standing: str) -> None:
        assert self.said(HIGH, HIGH, hits)[1] == f"GIN names {hits} rightly, {standing} chance."

    @pytest.mark.parametrize(("adaptive", "standing"), [(HIGH, "above"), (MIDDLE, "level with"), (LOW, "below")])
    def test_the_control_is_named(self, adaptive: Hits, standing: str) -> None:
        last = self.said(adaptive, MIDDLE)[-1]
        assert f"A-NLSF is {standing} it" in last
        assert ("can be solved without a search" in last) == (adaptive is not HIGH)

    def test_a_control_at_chance_solves_nothing(self) -> None:
        even = Hits("10" * 50)
        assert "without a search" not in self.said(even, even)[-1]


def test_an_answer_is_right_or_wrong() -> None:
    assert words.said("lamp", 0.834, "chair") == "“lamp”, 83 % sure, wrong"
    assert words.said("chair", 1.0, "chair") == "“chair”, 100 % sure, right"
