"""How a network behaves under the symmetries that fit its inputs, and what adaptive canonicalization would change."""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from adacanon.core.family import Family
from adacanon.core.pytree import batch_size
from adacanon.diagnosis.candidates import applicable
from adacanon.diagnosis.cautions import Caution, Seen, cautions_about_accuracy
from adacanon.diagnosis.class_names import names_of_outputs, own_names, two_orders
from adacanon.diagnosis.family_examination import BATCH, Case, OnProgress, Progress, candidates_of, examined
from adacanon.diagnosis.findings import Diagnosis
from adacanon.diagnosis.models import Network
from adacanon.diagnosis.order import order_of
from adacanon.diagnosis.probing import check_classes, gathered, outputs_of, probed
from adacanon.diagnosis.readings import answers, are_probabilities, log_probabilities, reading
from adacanon.diagnosis.rules import CANDIDATES, TEMPERATURES, rules_of
from adacanon.diagnosis.sample_cautions import cautions_about_samples
from adacanon.errors import InputError
from adacanon.images.resampling import Outside


def doctor(
    model: Network,
    loader: Iterable[tuple[Tensor, Tensor]],
    *,
    families: Mapping[str, Family] | Sequence[str] = (),
    candidates: Sequence[int] = CANDIDATES,
    temperatures: Sequence[float] = TEMPERATURES,
    outside: Outside = "reflection",
    limit: int | None = None,
    class_names: Sequence[str] | None = None,
    class_source: str = "",
    stated_accuracy: float | None = None,
    preparation: Sequence[str] = (),
    seed: int = 0,
    model_name: str | None = None,
    data_name: str = "the given loader",
    on_progress: OnProgress = lambda done, total: None,
) -> Diagnosis:
    """Measure, for each family, how much accuracy falls when inputs are transformed, and what a search brings back.

    Nothing is trained. Every input is transformed once, at random; the search then goes over K transformations of it
    and takes, for every class, the largest score, or the soft maximum of all of them.

    Args:
        model: from inputs to logits or probabilities (batch, classes), on the CPU. It is examined in evaluation mode;
            its mode is restored afterwards.
        loader: batches of images (batch, channels, height, width), in [0, 1] or unsigned of 8 or 16 bits, or of clouds
            (batch, points, 3), with class labels (batch,).
        families: names of some of the families that fit, or families by name; all that fit if not given.
        candidates: the numbers K.
        temperatures: of the soft maximum; 0 is the maximum, infinity the mean. They cost no forward passes.
        outside: what lies outside an image that is turned, shifted or shrunk: its mirror image, its border continued,
            nothing ("zero"), or nothing outside its inscribed disc, to which it is cut first ("disc").
        limit: the largest number of samples that are used.
        class_names: names of all classes, in the order of the network's outputs; if not given, those that the network
            has itself.
        class_source: where that order was taken from, in words, for the page.
        stated_accuracy: what is expected on inputs as given, between 0 and 1; a warning says if it is far from that.
        preparation: what was done to the inputs, in words, for the page.
        seed: of the transformations.

    Example:
        >>> network = nn.Sequential(nn.Flatten(), nn.Linear(64, 2))
        >>> batches = [(torch.rand(4, 1, 8, 8), torch.tensor([0, 1, 1, 0]))]
        >>> found = doctor(network, batches, families=["reflection"], candidates=(1, 2))
        >>> [searched.passes for searched in found.findings[0].searched]
        [1, 2]
    """
    begin = time.perf_counter()
    rules, stated = rules_of(candidates, temperatures), _checked_share(stated_accuracy)
    inputs, labels = gathered(loader, limit)
    families = dict(families) if isinstance(families, Mapping) else applicable(inputs, tuple(families), outside=outside)
    own = own_names(model)
    with _evaluation(model), torch.no_grad():
        tried = probed(model, inputs)
        names, source = names_of_outputs(tried.shape[1], class_names, class_source, own)
        check_classes(tried.shape[1], labels, names, source)
        outputs = outputs_of(model, inputs, batch=BATCH)
        probabilities = are_probabilities(outputs)
        network = _scored(model) if probabilities else model
        most = max(rule.candidates for rule in rules)
        points = {name: candidates_of(family, inputs, most) for name, family in families.items()}
        progress = Progress(2 * len(inputs) * sum(map(batch_size, points.values())), on_progress)
        case = Case(network, inputs, labels, rules, seed, progress)
        findings = [examined(case, name, family, points[name]) for name, family in families.items()]
    alone = answers(log_probabilities(outputs) if probabilities else outputs)
    order = order_of(alone.predicted, labels, classes=len(names))
    named = class_names is not None
    seen = Seen(inputs, labels, names, named, tried, outputs, alone, order, stated)
    return Diagnosis(
        model=model_name or type(model).__name__,
        data=data_name,
        samples=len(inputs),
        shape=tuple(inputs.shape[1:]),
        classes=len(names),
        class_names=names,
        class_samples=tuple(torch.bincount(labels, minlength=len(names)).tolist()),
        class_source=source,
        preparation=tuple(preparation),
        outputs="probabilities" if probabilities else "logits",
        seed=seed,
        stated_accuracy=stated,
        alone=reading(alone, labels),
        order=order,
        cautions=_sorted(
            [*two_orders(class_names, own), *cautions_about_accuracy(seen), *cautions_about_samples(seen)]
        ),
        findings=tuple(findings),
        seconds=time.perf_counter() - begin,
    )


def _checked_share(stated: float | None) -> float | None:
    if stated is not None and not 0 < stated <= 1:
        raise InputError(f"A stated accuracy must lie between 0 and 1, got {stated:g}. Hint: 0.93 for 93 %")
    return stated


def _cautions_about(seen: Seen) -> Iterator[Caution]:
    yield from cautions_about_accuracy(seen)
    yield from cautions_about_samples(seen)


def _sorted(cautions: Sequence[Caution]) -> tuple[Caution, ...]:
    """Warnings first."""
    return tuple(sorted(cautions, key=lambda caution: not caution.serious))


def _scored(model: Network) -> Network:
    return lambda inputs: log_probabilities(model(inputs))


@contextmanager
def _evaluation(model: Any) -> Iterator[None]:
    """Evaluation mode, with every module's own flag given back; an exported program has no modes."""
    modules = list(model.modules()) if isinstance(model, nn.Module) else []
    flags = [(module, module.training) for module in modules if module.training]
    for module, _ in flags:
        module.training = False
    try:
        yield
    finally:
        for module, flag in flags:
            module.training = flag
