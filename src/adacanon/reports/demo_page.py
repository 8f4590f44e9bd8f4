"""The page of the demo, a function of its records."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from adacanon.errors import DataError
from adacanon.reports import demo_words as words
from adacanon.reports.charts import cloud_bytes
from adacanon.reports.hits import Hits
from adacanon.reports.pages import render
from adacanon.reports.pictures import data_address, image_bytes

Record = Mapping[str, Any]
KINDS = ("about", "chair", "shapes", "signals")
"""Of these there is one record each."""


@dataclass(frozen=True)
class Measured:
    """The records of the demo, sorted."""

    upright: Mapping[str, Hits]
    turned: Mapping[str, Hits]
    graphs: Mapping[str, Hits]
    seconds: Mapping[str, float]
    single: Mapping[str, Record]

    @classmethod
    def of(cls, records: Sequence[Record]) -> "Measured":
        """Refuses records of which a part is missing."""
        single = {record["kind"]: record for record in records if record["kind"] in KINDS}
        measured = [record for record in records if "hits" in record]
        figures = {
            part: {r["method"]: Hits(r["hits"]) for r in measured if r.get("poses", "graphs") == part}
            for part in ("upright", "turned", "graphs")
        }
        missing = [kind for kind in KINDS if kind not in single] + [part for part in figures if not figures[part]]
        if missing:
            raise DataError(f"The records of the demo are incomplete: no {', no '.join(missing)}. Hint: adacanon demo")
        seconds = {record["method"]: float(record["seconds"]) for record in measured}
        return cls(figures["upright"], figures["turned"], figures["graphs"], seconds, single)


def page(records: Sequence[Record]) -> str:
    """The whole page, one file."""
    measured = Measured.of(records)
    about, shapes = measured.single["about"], measured.single["shapes"]
    upright, turned = measured.upright, measured.turned
    return render(
        "demo.html",
        {
            "title": "One network, any pose",
            "about": about,
            "chair": _chair(measured.single["chair"]),
            "fall": words.fall(upright[words.PLAIN], turned[words.PLAIN]),
            "wrapping": words.wrapping(upright, turned),
            "nearness": words.nearness(about["near_upright"], about["test"], about["near"]),
            "tuning": words.tuning(upright, turned),
            "invariance": words.invariance(upright[words.TUNED], turned[words.TUNED]),
            "bars_of_clouds": [_bar(name, turned[name], name in (words.WRAPPED, words.TUNED)) for name in turned],
            "headings": ("method", "upright", "turned", "training, s"),
            "rows": table_rows(measured),
            "comparison": [*words.comparison(turned, measured.seconds), words.best(turned)],
            "undetermined": words.undetermined(about["undetermined"], about["test"]),
            "before": _answers("the plain network", shapes["plain"], shapes["truth"]),
            "after": _answers("the fine-tuned network", shapes["tuned"], shapes["truth"]),
            "data": {**shapes["drawn"], "names": [shapes["truth"], _marked(shapes["tuned"], shapes["truth"])]},
            "lowest": "floor",
            "highest": "top",
            "signals": [[_grid(grid) for grid in sample] for sample in measured.single["signals"]["grids"]],
            "graph_bars": [_bar(name, hits, name == words.ADAPTIVE_GRAPHS) for name, hits in measured.graphs.items()],
            "graph_words": words.graphs(measured.graphs),
        },
    )


def table_rows(measured: Measured) -> list[tuple[str, str, str, str]]:
    """Every method on clouds: accuracies, and the time of training."""
    return [
        (name, str(measured.upright[name]), str(measured.turned[name]), f"{measured.seconds[name]:.0f}")
        for name in measured.turned
    ]


def _bar(name: str, hits: Hits, ours: bool) -> dict[str, Any]:
    return {"name": name, "width": round(hits.accuracy, 1), "text": str(hits), "ours": ours}


def _chair(record: Record) -> list[dict[str, Any]]:
    """Every picture of the chair with what the networks say of it."""
    return [
        {
            "title": view["title"],
            "picture": data_address(cloud_bytes(torch.tensor(view["points"]))),
            "lines": [(who, words.said(name, sure, record["truth"]), name == record["truth"])
                      for who, name, sure in view["said"]],
        }
        for view in record["views"]
    ]  # fmt: skip


def _answers(who: str, answers: Sequence[str], truth: Sequence[str]) -> str:
    right = sum(a == b for a, b in zip(answers, truth, strict=True))
    return f"{who} names {right} of these {len(truth)} rightly"


def _marked(answers: Sequence[str], truth: Sequence[str]) -> list[str]:
    return [answer if answer == right else f"{answer}, wrong" for answer, right in zip(answers, truth, strict=True)]


def _grid(rows: Sequence[Sequence[float]]) -> str:
    """A picture of one channel: blue below zero, orange above, white where nothing is."""
    values = torch.tensor(rows).T.flip(0).clamp(-1, 1)
    ends = torch.tensor([[0.76, 0.25, 0.05], [0.12, 0.31, 0.47]])
    colour = torch.where(values[None] > 0, ends[0][:, None, None], ends[1][:, None, None])
    return data_address(image_bytes(1 + (colour - 1) * values.abs()))
