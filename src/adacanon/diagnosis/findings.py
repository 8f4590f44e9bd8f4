"""The records that the doctor returns."""

import json
import math
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from torch import Tensor

from adacanon.diagnosis.advice import Advice
from adacanon.diagnosis.cautions import Caution
from adacanon.diagnosis.choice import Choice
from adacanon.diagnosis.order import Order
from adacanon.diagnosis.readings import Reading
from adacanon.files import write_whole


@dataclass(frozen=True)
class Searched:
    """The network under adaptive canonicalization with K candidates, without training; in percent.

    Attributes:
        candidates: K.
        temperature: of the soft maximum over them; 0 is the maximum, infinity the mean.
        passes: forward passes per input; a finite family has no more candidates than elements.
        as_given: on the inputs as they are, and ``transformed`` on transformed ones.
        changed: share of predictions that differ between the two.
        recovered: accuracy on transformed inputs minus that of the network alone, in points, with its standard error.
        recovered_error: standard error of ``recovered``, over samples.
        cost: accuracy of the network alone on inputs as given minus that under the search, in points.
        cost_error: standard error of ``cost``, over samples.

    Example:
        >>> import torch
        >>> from adacanon import doctor
        >>> network, batches = torch.nn.Flatten(), [(torch.rand(4, 2, 1, 1), torch.tensor([0, 1, 1, 0]))]
        >>> found = doctor(network, batches, families=["reflection"], candidates=(1, 2)).findings[0].searched
        >>> [(searched.candidates, searched.passes) for searched in found]
        [(1, 1), (2, 2)]
    """

    candidates: int
    temperature: float
    passes: int
    as_given: Reading
    transformed: Reading
    changed: float
    recovered: float
    recovered_error: float
    cost: float
    cost_error: float


@dataclass(frozen=True)
class Example:
    """One input: as it is, transformed, and the canonical form of the class that the search predicts for it.

    Attributes:
        truth: the label; ``before`` and ``after`` are what is predicted without and with the search.

    Example:
        >>> import torch
        >>> from adacanon import doctor
        >>> network, batches = torch.nn.Flatten(), [(torch.rand(4, 2, 1, 1), torch.tensor([0, 1, 1, 0]))]
        >>> finding = doctor(network, batches, families=["reflection"], candidates=(2,)).findings[0]
        >>> len(finding.examples), finding.examples[0].given.shape
        (4, torch.Size([2, 1, 1]))
    """

    given: Tensor
    transformed: Tensor
    canonical: Tensor
    truth: int
    before: int
    after: int


@dataclass(frozen=True)
class Finding:
    """One family.

    Attributes:
        family: its name, with ``definition`` and ``meaning`` in code and in words.
        alone_as_given: the network alone on the inputs as the family prepares them, which may cut a disc.
        alone_transformed: the network alone on transformed inputs.
        changed: share of its predictions that differ between the two, in percent.
        fall: accuracy on transformed inputs minus that on inputs as given, in points, with its standard error.
        fall_error: standard error of ``fall``, over samples.
        doubtful: too little is right on inputs as given for a fall to show, see ``Order``.
        searched: the maximum over each number of candidates.
        softened: the soft maximum over each, for each temperature above zero.
        choice: the best of all of them, judged on samples that did not choose it; None if there was no search.
        advice: what to do, why, and whether that is certain.
        examples: some that the search rescues and some that it spoils, where there are any.

    Example:
        >>> import torch
        >>> from adacanon import doctor
        >>> network, batches = torch.nn.Flatten(), [(torch.rand(4, 2, 1, 1), torch.tensor([0, 1, 1, 0]))]
        >>> finding = doctor(network, batches, families=["reflection"], candidates=(2,)).findings[0]
        >>> finding.family, finding.changed, finding.fall
        ('reflection', 0.0, 0.0)
    """

    family: str
    definition: str
    meaning: str
    alone_as_given: Reading
    alone_transformed: Reading
    changed: float
    fall: float
    fall_error: float
    doubtful: bool
    searched: tuple[Searched, ...]
    softened: tuple[Searched, ...]
    choice: Choice | None
    advice: Advice
    examples: tuple[Example, ...] = field(repr=False)


@dataclass(frozen=True)
class Diagnosis:
    """What the doctor found.

    Attributes:
        model: a name of the network, and ``data`` one of the data.
        shape: of one input.
        class_names: in the order of the network's outputs, with the number of samples of each in ``class_samples``.
        class_source: where that order was taken from, in words.
        preparation: what was done to the inputs before the network saw them, in words.
        stated_accuracy: what was expected on inputs as given, as a share; None if nothing was said.
        outputs: "logits" or "probabilities".
        alone: the network on the inputs, untouched.
        order: whether labels count classes as the network does.
        cautions: what to know before reading the figures, warnings first.
        findings: one for each family.
        seconds: that it took.

    Example:
        >>> import torch
        >>> from adacanon import doctor
        >>> network, batches = torch.nn.Flatten(), [(torch.rand(4, 2, 1, 1), torch.tensor([0, 1, 1, 0]))]
        >>> found = doctor(network, batches, families=["reflection"], candidates=(2,))
        >>> found.samples, found.classes, found.page()[:15]
        (4, 2, '<!doctype html>')
    """

    model: str
    data: str
    samples: int
    shape: tuple[int, ...]
    classes: int
    class_names: tuple[str, ...]
    class_samples: tuple[int, ...]
    class_source: str
    preparation: tuple[str, ...]
    outputs: str
    seed: int
    stated_accuracy: float | None
    alone: Reading
    order: Order
    cautions: tuple[Caution, ...]
    findings: tuple[Finding, ...]
    seconds: float

    def as_json(self) -> dict[str, Any]:
        """All figures; the pictures are left out, and an infinite temperature, the mean, is the word "inf"."""
        findings = [{k: v for k, v in asdict(finding).items() if k != "examples"} for finding in self.findings]
        return _without_infinity({**asdict(self), "findings": findings})

    def page(self) -> str:
        """One HTML page that needs nothing else."""
        from adacanon.reports.doctor_page import page

        examples = {finding.family: [vars(example) for example in finding.examples] for finding in self.findings}
        return page(self.as_json(), examples)

    def save(self, folder: str | Path) -> tuple[Path, Path]:
        """Write ``index.html`` and ``doctor.json``; returns their paths."""
        page, figures = Path(folder) / "index.html", Path(folder) / "doctor.json"
        write_whole(figures, (json.dumps(self.as_json(), indent=1, allow_nan=False) + "\n").encode())
        write_whole(page, self.page().encode())
        return page, figures


def _without_infinity(value: Any) -> Any:
    """JSON has no infinite numbers."""
    if isinstance(value, dict):
        return {key: _without_infinity(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_infinity(item) for item in value]
    return "inf" if isinstance(value, float) and math.isinf(value) else value
