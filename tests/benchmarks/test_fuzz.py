"""A small share of the campaign of ``make fuzz``, and the judge that it relies on."""

import os
import time

import pytest
import torch
from benchmarks.fuzz import report
from benchmarks.fuzz.campaign import AREAS, campaign, findings_of, numbered
from benchmarks.fuzz.draw import Draw
from benchmarks.fuzz.judging import SilentlyWrongError, judged

from adacanon.errors import InputError

CASES = 400


def test_a_share_of_the_campaign_finds_nothing() -> None:
    findings: list[str] = []
    tallies = campaign(CASES, 7, on_finding=lambda name, number, v: findings.append(f"{name} {number}: {v.words}"))
    assert findings == []
    assert sum(sum(tally.outcomes.values()) for tally in tallies.values()) == CASES
    assert all(tally.outcomes for tally in tallies.values())
    page = report.page_of(report.title_of(7, tallies), report.rows_of(tallies))
    assert "400 cases" in page
    assert "0 × raw exception" in page


def wrong(draw: Draw) -> None:
    raise SilentlyWrongError("two and two is five")


def raw(draw: Draw) -> None:
    raise KeyError("key")


def refused(draw: Draw) -> None:
    raise InputError("no")


def computing(draw: Draw) -> None:
    while True:
        pass


def waiting(draw: Draw) -> None:
    while True:
        time.sleep(0.01)


def draws(draw: Draw) -> None:
    torch.randn(1)


def environment(draw: Draw) -> None:
    os.environ["ADACANON_FUZZ"] = "1"


@pytest.mark.parametrize(
    ("kind", "outcome"),
    [
        (lambda draw: None, "right"),
        (refused, "refused"),
        (raw, "raw exception"),
        (wrong, "silent wrong answer"),
        (computing, "hang"),
        (waiting, "hang"),
        (draws, "state changed"),
        (environment, "state changed"),
    ],
)
def test_the_judge_tells_outcomes_apart(kind: object, outcome: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ADACANON_FUZZ", raising=False)
    assert judged(kind, Draw("case"), seconds=0.05).outcome == outcome  # type: ignore[arg-type]
    os.environ.pop("ADACANON_FUZZ", None)


def test_a_campaign_counts_what_it_finds() -> None:
    tallies = campaign(6, 1, areas={"area": {"wrong": (wrong, 1), "raw": (raw, 2)}})
    assert findings_of(tallies) == {"raw exception": 4, "silent wrong answer": 2, "state changed": 0, "hang": 0}


def test_cases_follow_from_their_names() -> None:
    a, b = (Draw("1/files, TU/9") for _ in range(2))
    assert a.whole(0, 10**9) == b.whole(0, 10**9)
    assert torch.equal(a.normal(3), b.normal(3))


def test_a_short_campaign_has_every_kind() -> None:
    kinds = {name for kinds in AREAS.values() for name in kinds}
    assert {name for name, _, _ in numbered(CASES)} == kinds
