"""Where the time of a training step goes, in units of the plain forward pass; medians of interleaved repetitions."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from adacanon import Canonicalized, Objective, RandomSearch, SampleAndRefine, one_vs_rest
from adacanon.core import Landscape
from adacanon.core.pytree import distinct_rows
from adacanon.points import Rotations
from benchmarks.frame import measure, networks


def actions(network: nn.Module, clouds: Tensor, labels: Tensor) -> dict[str, Callable[[], object]]:
    """The parts of a step, each ready to be timed."""
    searched = Canonicalized(network, Rotations(), RandomSearch(50)).eval()
    refined = Canonicalized(network, Rotations(), SampleAndRefine(50, steps=3)).eval()
    winners = distinct_winners(searched, clouds)
    winner_labels = torch.zeros(len(winners), dtype=torch.int64)
    objective, objective_refined = (Objective(model, loss=one_vs_rest) for model in (searched, refined))
    return {
        "plain forward": lambda: _forward(network, clouds),
        "plain forward + backward": lambda: _backward(network, one_vs_rest(network(clouds), labels)),
        "search, 50 draws": lambda: _search(searched, clouds),
        "search, 50 draws + 3 steps": lambda: _search(refined, clouds),
        "gradient pass over distinct winners": lambda: _backward(network, one_vs_rest(network(winners), winner_labels)),
        "whole step, 50 draws": lambda: _backward(network, objective(clouds, labels).loss),
        "whole step, 50 draws + 3 steps": lambda: _backward(network, objective_refined(clouds, labels)),
    }


def distinct_winners(model: Canonicalized, clouds: Tensor) -> Tensor:
    """The forms that a gradient pass evaluates, one row per distinct (cloud, rotation) pair."""
    found = model.canonicalize(clouds)
    batch, forms = found.scores.shape
    owner = torch.arange(batch).repeat_interleave(forms)
    first, _ = distinct_rows(owner, found.parameters.flatten(0, 1))
    return found.forms().flatten(0, 1)[first]


def sizes(network: nn.Module, clouds: Tensor) -> dict[str, float]:
    """Evaluations per cloud of the two searches, and distinct pairs per cloud of their gradient passes."""
    counts = {}
    for name, search in {"50 draws": RandomSearch(50), "50 draws + 3 steps": SampleAndRefine(50, steps=3)}.items():
        model = Canonicalized(network, Rotations(), search).eval()
        counts[f"evaluations, {name}"] = float(model.canonicalize(clouds).evaluations)
        counts[f"distinct pairs, {name}"] = len(distinct_winners(model, clouds)) / len(clouds)
    return counts


def _search(model: Canonicalized, clouds: Tensor) -> None:
    """The search alone, without evaluating its winners."""
    landscape = Landscape(model.network, model.family, model.prior, clouds)
    with torch.no_grad():
        model.search.maximize(landscape, generator=torch.Generator().manual_seed(0))


def _forward(function: Callable[[Tensor], object], clouds: Tensor) -> None:
    with torch.no_grad():
        function(clouds)


def _backward(network: nn.Module, loss: Tensor) -> None:
    network.zero_grad()
    loss.backward()


def time_rows(times: dict[int, dict[str, float]]) -> list[measure.Row]:
    """One row per part: milliseconds, and the ratio to the plain forward pass, for each number of classes."""
    parts = next(iter(times.values()))
    rows: list[measure.Row] = [{"part": part} for part in parts]
    for classes, seconds in times.items():
        for row in rows:
            row[f"ms, D={classes}"] = 1e3 * seconds[row["part"]]
            row[f"ratio, D={classes}"] = seconds[row["part"]] / seconds["plain forward"]
    return rows


def main() -> None:
    parser = measure.options(__doc__ or "")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--points", type=int, default=128)
    parser.add_argument("--classes", type=int, nargs="+", default=[10, 40])
    parser.add_argument("--repetitions", type=int, default=15)
    parser.add_argument("--clock", choices=measure.CLOCKS, default="wall", help="processor: undisturbed by other jobs")
    options = measure.start(parser)
    clock = measure.CLOCKS[options.clock]
    clouds, source = networks.clouds(options.batch, options.points, seed=options.seed)
    times, counts = {}, {}
    for classes in options.classes:
        network = networks.random_network(classes, seed=options.seed)
        labels = torch.arange(options.batch) % classes
        parts = actions(network, clouds, labels)
        times[classes] = measure.medians(parts, repetitions=options.repetitions, clock=clock)
        counts[classes] = sizes(network, clouds)
    title = f"Batch {options.batch}, {options.points} points, {source}; {options.threads} threads, {options.clock} time"
    measure.report(time_rows(times), title=title, path=options.json)
    per_cloud = [{"per cloud": k} | {f"D={c}": counts[c][k] for c in counts} for k in counts[options.classes[0]]]
    measure.report(per_cloud, title="Sizes", path=None)


if __name__ == "__main__":
    main()
