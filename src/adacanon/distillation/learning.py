r"""How a ranker learns the values that a search found.

.. math:: \mathrm{loss} = \frac{1}{|P|}\sum_{i,d} \Big(\frac{\hat v_{id} - v_{id}}{s_d}\Big)^2
    - \lambda \sum_{i,d} p_{id} \log \hat p_{id},

with the distributions :math:`p \propto e^{v}` over candidates i and classes d of an input, and :math:`\hat p` alike;
:math:`s_d` is the deviation of the values of a class. The first term learns numbers, which a temperature sums. The
second one learns who comes first.
"""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from adacanon.core.evaluation import evaluate
from adacanon.core.family import Family
from adacanon.core.pytree import Tree, batch_size, flatten_leading, owners
from adacanon.distillation.lessons import Lesson
from adacanon.maximizers.ranker import Ranker, spread_of

PAIRS_AT_ONCE = 768
"""Forms in a step, at most: as many inputs as have no more candidates than this in all."""

RATE, COPY_RATE = 5e-3, 5e-4
"""First learning rates: of a ranker that knows nothing, and of one that starts from a copy of the network."""

ORDER = 1.0
"""The weight :math:`\\lambda` of the order."""


def learn(
    ranker: Ranker,
    family: Family,
    lessons: Sequence[Lesson],
    *,
    steps: int,
    learning_rate: float | None,
    generator: torch.Generator,
    tell: Callable[[int, int], None],
) -> None:
    """Train a ranker, and leave it in evaluation mode, its parameters without gradients."""
    if learning_rate is None:
        learning_rate = COPY_RATE if ranker.scaled else RATE
    known = torch.cat([lesson.values.flatten(0, 1) for lesson in lessons])
    ranker.set_scale(known)
    spread = spread_of(known)
    ranker.train().requires_grad_(True)
    optimizer = torch.optim.Adam(ranker.parameters(), lr=learning_rate, weight_decay=1e-4)
    rates = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=steps)
    with torch.inference_mode(False), torch.enable_grad():
        for step in range(1, steps + 1):
            lesson = _drawn(lessons, generator)
            optimizer.zero_grad()
            distillation_loss(estimates_of(ranker, family, lesson), lesson.values, spread).backward()
            optimizer.step()
            rates.step()
            tell(step, steps)
    optimizer.zero_grad()
    ranker.steps += steps
    ranker.eval().requires_grad_(False)


def distillation_loss(estimates: Tensor, values: Tensor, spread: Tensor) -> Tensor:
    """The loss above, of estimates and values (candidates, batch, forms) and the spread of values (forms,)."""
    regression = ((estimates - values) / spread).square().mean()
    wanted, said = (v.transpose(0, 1).flatten(1) for v in (values, estimates))
    order = -(wanted.softmax(1) * said.log_softmax(1)).sum(1).mean()
    return regression + ORDER * order


def _drawn(lessons: Sequence[Lesson], generator: torch.Generator) -> Lesson:
    """All candidates of some inputs of a batch."""
    lesson = lessons[int(torch.randint(len(lessons), (), generator=generator))]
    candidates, batch = lesson.values.shape[:2]
    count = max(2, PAIRS_AT_ONCE // candidates)
    if count >= batch:
        return lesson
    return lesson.of_inputs(torch.randperm(batch, generator=generator)[:count].to(lesson.values.device))


def estimates_of(ranker: Callable[[Tree], Tensor], family: Family, lesson: Lesson) -> Tensor:
    """Estimates (candidates, batch, forms) from which gradients flow to the ranker."""
    shape = lesson.values.shape[:2]
    owner = owners(batch_size(lesson.view), 1, lesson.values.device, count=shape[0])
    return evaluate(ranker, family, lesson.view, flatten_leading(lesson.points, 2), owner).unflatten(0, shape)
