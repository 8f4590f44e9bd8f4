"""The landscape of a prior over transformations (paper: appendix "Random Maximization")."""

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from adacanon.core.answers import Kind, check_outputs
from adacanon.core.evaluation import Evaluation, FusedEvaluation, PlainEvaluation
from adacanon.core.family import Family
from adacanon.core.precision import fused_in_precision, in_precision, reduced_precision
from adacanon.core.prior import ClassScore, Prior
from adacanon.core.pytree import Tree, batch_size, cast_like, flatten_leading, owners, row_numel, tensors
from adacanon.core.space import Space
from adacanon.errors import ScoreError, SpaceError

AUTOMATIC_CHUNK_NUMBERS = 2**14
"""An automatic chunk holds this many input numbers, twice as many in reduced precision: what the layers make of them
then stays in the cache.
"""

RANKER_CHUNKS = 4
"""Automatic chunks that a ranker takes at a time: its layers are narrow, and so is what they make of a chunk."""


class Landscape:
    r"""The functions :math:`u \mapsto h_d(f_d(\kappa_u(g_i)))` of one batch, evaluated in chunks of bounded size.

    Args:
        network: :math:`f`, already in evaluation mode.
        family: :math:`\kappa`.
        prior: :math:`h`.
        g: the prepared batch.
        answers: how the network's answers move with the input.
        chunk_size: pairs per network evaluation; None leaves it to the family, or chooses by the size of a form.
        ids: names of the samples, for searches that remember.
        learning: whether searches may learn from this batch.
        numbers: of the forms in an automatic chunk_size.
        temperature: of the soft maximum that is asked for; None for the maximum.

    Attributes:
        batch: number of inputs.
        space: the transformations.
        real: for one shared form, which points of the inputs are real, (batch, points); None where it is not asked for.
        fused: the faster way to outputs that the family knows for this network, or None.
        pairs_evaluated: pairs of a transformation and an input so far; one on a coarse view counts by its share.
        forms: per input, as the network's outputs say; None as long as nothing was evaluated.

    Example:
        >>> from adacanon.core import ClassScore
        >>> from adacanon.points import PointNet, Rotations
        >>> landscape = Landscape(PointNet(4).eval(), Rotations(), ClassScore(), torch.randn(2, 9, 3))
        >>> candidates = torch.eye(3).expand(5, 2, 3, 3)
        >>> landscape(candidates).shape, landscape.pairs_evaluated
        (torch.Size([5, 2, 4]), 10.0)
    """

    def __init__(
        self,
        network: Callable[[Tree], Tensor],
        family: Family,
        prior: Prior,
        g: Tree,
        *,
        answers: Kind = "invariant",
        chunk_size: int | None = None,
        ids: Tensor | None = None,
        learning: bool = True,
        numbers: int = AUTOMATIC_CHUNK_NUMBERS,
        temperature: Tensor | None = None,
    ) -> None:
        self.network, self.family, self.prior, self.g = network, family, prior, g
        self.answers, self.temperature = answers, temperature
        self.ids, self.learning = ids, learning
        self.batch, self.device = batch_size(g), tensors(g)[0].device
        self.space: Space = family.space(g)
        self.fused = family.fused(network, g)
        self.real = family.real_points(g) if prior.shared else None
        self.pairs_evaluated = 0.0
        self.forms: int | None = None
        self._views: dict[int, Tree] = {}
        self._determined: list[Tensor] = []
        self._evaluate_with(PlainEvaluation(network, family, g, self._ranked, chunk_size, numbers))

    @property
    def chunk_size(self) -> int | None:
        """Pairs per network evaluation; None as long as nothing has asked for it."""
        return self._pairs.chunk_size

    def __call__(self, u: Tree) -> Tensor:
        """Values (count, batch, forms) of candidates (count, batch, *point)."""
        self._count(batch_size(u) * self.batch)
        return self._checked(self._grid.of_candidates(u))

    def outputs(self, u: Tree) -> Tensor:
        """The network's outputs (count, batch, ...) at candidates (count, batch, *point), without gradients."""
        count = batch_size(u)
        self._count(count * self.batch)
        owner = owners(self.batch, 1, self.device, count=count)
        outputs = self._pairs.outputs_of_pairs(flatten_leading(u, 2), owner)
        self._checked(self._ranked(outputs, owner), owner)
        return outputs.unflatten(0, (count, self.batch))

    def outputs_of_pairs(self, u: Tree, owner: Tensor) -> Tensor:
        """The network's outputs (pairs, ...) of a list of pairs, without gradients."""
        self._count(owner.shape[0])
        outputs = self._pairs.outputs_of_pairs(u, owner)
        self._checked(self._ranked(outputs, owner), owner)
        return outputs

    def confidences(self, outputs: Tensor) -> Tensor:
        """What a temperature weighs candidates by, (count, batch, forms), of their outputs (count, batch, ...); from
        outputs with gradients they flow.
        """
        pairs, owner = outputs.flatten(0, 1), owners(self.batch, 1, self.device, count=len(outputs))
        check_outputs(self.answers, self.family, self.prior, pairs, self.g)
        values = self.prior.confidence(pairs, None if self.real is None else self.real[owner])
        return self._checked(values, owner).unflatten(0, outputs.shape[:2])

    def scores(self, u: Tree, owner: Tensor, form: Tensor | None = None) -> Tensor:
        """Values (pairs, forms) of a list of pairs, without gradients; (pairs, 1) if each is asked for one ``form``."""
        self._count(owner.shape[0])
        return self._checked(self._pairs.of_pairs(u, owner, form), owner)

    def values(self, u: Tree, form: Tensor | None = None) -> Tensor:
        """Values (count, batch, n) at points (count, batch, n, *point), where point j of an input is one of its form j,
        or of ``form[input, j]``.
        """
        form = _own_forms(u, form)
        self._count(form.numel())
        return self._checked(self._grid.of_points(u, form).unsqueeze(3)).squeeze(3)

    def value_and_gradient(self, u: Tree, form: Tensor | None = None) -> tuple[Tensor, Tree]:
        """Values (count, batch, n) and ambient gradients at (count, batch, n, *point); forms as in ``values``."""
        form = _own_forms(u, form)
        self._count(form.numel())
        value, gradient = self._grid.with_gradient(u, form)
        return self._checked(value.unsqueeze(3)).squeeze(3), gradient

    def anchors(self) -> Tree | None:
        """The anchors (batch, count, *point) of the inputs, or None if the family has none.

        A search asks here for them, so that ``determined`` knows of it.
        """
        anchors = self.family.anchor(self.g)
        if anchors is None:
            return None
        determined = (self.family.determined if self.prior.shared else self.family.determined_for_scores)(self.g)
        if determined is not None:
            self._determined.append(determined)
        return anchors

    def weighted_anchors(self) -> tuple[Tree, Tensor] | None:
        """Anchors (batch, count, *point) and weights (batch, count) that change continuously with the inputs, or None
        if the family has none. ``determined`` knows of them as of the others.
        """
        found = self.family.weighted_anchor(self.g)
        if found is None:
            return None
        anchors, weights, determined = found
        self._determined.append(determined)
        return anchors, weights

    @property
    def determined(self) -> Tensor | None:
        """For which inputs the anchors that a search used follow from the input, (batch,); None if it used none, or
        if the family's always do.
        """
        return torch.stack(self._determined).all(0) if self._determined else None

    def share(self, size: int) -> float:
        """What an evaluation on coarse views of this size costs, as a share of one on the inputs themselves."""
        return row_numel(self.view(size)) / row_numel(self.g)

    @contextmanager
    def coarse(self, size: int, *, low_precision: bool = True) -> Iterator["Landscape"]:
        """The landscape of coarse views of the inputs, in reduced precision where the hardware has it.

        Its evaluations count by their share of a whole input.
        """
        view = self.view(size)
        dtype = reduced_precision(self.device.type) if low_precision else None
        network = in_precision(self.network, self.device.type, dtype)
        numbers = AUTOMATIC_CHUNK_NUMBERS if dtype is None else 2 * AUTOMATIC_CHUNK_NUMBERS
        landscape = Landscape(
            network,
            self.family,
            self.prior,
            view,
            answers=self.answers,
            ids=self.ids,
            learning=self.learning,
            numbers=numbers,
        )
        landscape._determined = self._determined
        try:
            yield landscape
        except (RuntimeError, ValueError, IndexError, AssertionError) as error:  # the network wants another size
            error.add_note(self._on_coarse_views(view))
            raise
        self._count(landscape.pairs_evaluated * self.share(size))

    def ranked_by(self, ranker: Callable[[Tree], Tensor], points: Tree, *, size: int | None, cost: float) -> Tensor:
        """What another network (forms) -> (pairs, forms) says of candidates (count, batch, *point): its outputs
        (count, batch, forms).

        Args:
            ranker: in evaluation mode.
            size: of the coarse views that it sees; None for the inputs themselves.
            cost: of one evaluation, as a share of one of the network itself; by it they are counted.
        """
        view = self.g if size is None else self.view(size)
        numbers = RANKER_CHUNKS * AUTOMATIC_CHUNK_NUMBERS
        own = Landscape(ranker, self.family, ClassScore(), view, numbers=numbers, learning=False)
        try:
            values = own(points)
        except (RuntimeError, ValueError, IndexError, TypeError, ArithmeticError) as error:
            shape = tuple(tensors(view)[0].shape[1:])
            error.add_note(f"It is the ranker that was called here, on inputs or views of shape {shape}, size={size}")
            raise
        self._count(cost * own.pairs_evaluated)
        return values

    @contextmanager
    def low_precision(self) -> Iterator["Landscape"]:
        """The same landscape in reduced precision where the hardware has it: enough to rank candidates."""
        device = self.device.type
        dtype = reduced_precision(device)
        if dtype is None:
            yield self
            return
        rough = copy.copy(self)
        rough.fused = None if self.fused is None else fused_in_precision(self.fused, device, dtype)
        plain = copy.copy(self._pairs)
        plain.network, plain.rank = in_precision(self.network, device, dtype), rough._ranked
        plain.chunk_size = None if plain.chunk_size is None else 2 * plain.chunk_size
        rough._evaluate_with(plain)
        yield rough
        self.pairs_evaluated, self.forms = rough.pairs_evaluated, rough.forms

    def place(self, points: Tree) -> Tree:
        """Points as drawn by a space, on the device and in the precision of the batch."""
        return cast_like(points, self.g)

    def _evaluate_with(self, plain: PlainEvaluation) -> None:
        """Lists of pairs go one by one; all inputs together go the faster way, if there is one."""
        self._pairs = plain
        self._grid: Evaluation = plain
        if self.fused is not None:
            self._grid = FusedEvaluation(self.fused, self.prior, self._ranked, plain.chunk_size)

    def view(self, size: int) -> Tree:
        """The coarse views of the inputs, of ``size`` points or pixels, made once."""
        if size not in self._views:
            view = self.family.coarse(self.g, size)
            if view is None:
                raise SpaceError(
                    f"{self.family!r} has no coarse views. "
                    "Hint: search without CoarseToFine; a Ranker sees whole inputs with size=None"
                )
            self._views[size] = view
        return self._views[size]

    def _on_coarse_views(self, view: Tree) -> str:
        """What to say of a network that fails on smaller versions of the inputs."""
        small, whole = (tuple(tensors(g)[0].shape[1:]) for g in (view, self.g))
        return (
            f"The network was called on coarse views of shape {small} of inputs of shape {whole}. Hint: a network that "
            "takes inputs of one size only needs a search without coarse views: not CoarseToFine but GridSearch(50), "
            "RandomSearch(50) or SampleAndRefine(50, 3)"
        )

    def _count(self, pairs: float) -> None:
        self.pairs_evaluated += pairs

    def _ranked(self, outputs: Tensor, owner: Tensor) -> Tensor:
        """Values (pairs, forms) of outputs (pairs, ...) for the inputs ``owner``."""
        check_outputs(self.answers, self.family, self.prior, outputs, self.g)
        values = self.prior.rank_among(outputs, None if self.real is None else self.real[owner])
        self.forms = values.shape[1]
        return values

    def _checked(self, values: Tensor, owner: Tensor | None = None) -> Tensor:
        """Refuse NaN among values (count, batch, ..., forms), or (pairs, forms) of pairs with these owners."""
        if bool(values.isnan().any()):
            nan = values.isnan().any(-1)
            first = nan.nonzero()[0]
            sample = int(first[1]) if owner is None else int(owner[first[0]])
            raise ScoreError(
                f"The network gave NaN for a candidate of sample {sample} "
                f"({int(nan.sum())} of {nan.numel()} candidates). A search cannot rank NaN. "
                "Hint: look for a division by zero or an overflow in the network, or lower the learning rate"
            )
        return values


def _own_forms(u: Tree, form: Tensor | None) -> Tensor:
    """The form (count, batch, n) of each of the points (count, batch, n, *point)."""
    leaf = tensors(u)[0]
    own = torch.arange(leaf.shape[2], device=leaf.device) if form is None else form
    return own.expand(leaf.shape[:3])
