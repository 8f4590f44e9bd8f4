"""The landscape of a prior over transformations, and what searches it (paper: appendix "Random Maximization")."""

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from adacanon.core.family import Family, Fused
from adacanon.core.precision import in_precision, reduced_precision
from adacanon.core.prior import WHY_NO_MAPS, ClassScore, Prior
from adacanon.core.pytree import (
    Tree,
    batch_size,
    cast_like,
    flatten_leading,
    joined,
    map_tensors,
    owners,
    row_numel,
    slice_rows,
    tensors,
    unflatten_leading,
)
from adacanon.core.space import Space
from adacanon.errors import InputError, ScoreError, ShapeError, SpaceError

AUTOMATIC_CHUNK_NUMBERS = 2**14
"""An automatic chunk holds this many input numbers, twice as many in reduced precision: what the layers make of them
then stays in the cache.
"""

PAIRS_PER_FUSED_CHUNK = 4096
"""What a fused evaluation handles at a time if no chunk is set."""


@dataclass(frozen=True)
class Found:
    """What a maximizer returns: the best transformation found for every input and form, and its ranked value.

    Attributes:
        parameters: (batch, forms, *point).
        values: (batch, forms).
        exact: whether the values are those of the landscape at the parameters, to rounding. Then nobody needs to
            evaluate them again; an estimate says False.
    """

    parameters: Tree
    values: Tensor
    exact: bool = False


class Maximizer(ABC):
    """A search strategy. To plug in your own, give an object with this one method."""

    @abstractmethod
    def maximize(self, landscape: "Landscape", *, generator: torch.Generator) -> Found:
        """Search the transformation of largest value for every input and form."""

    def saved(self) -> Iterator[nn.Module]:
        """What the search learns, to be saved with the model."""
        yield from ()

    def within(self, budget: float, landscape: "Landscape") -> "Maximizer":
        """The same search for at most ``budget`` evaluations of the network per input."""
        raise InputError(
            f"{self!r} cannot keep a budget. Hint: RandomSearch, GridSearch, AnchoredSearch and CoarseToFine can"
        )


@dataclass
class Landscape:
    r"""The functions :math:`u \mapsto h_d(f_d(\kappa_u(g_i)))` of one batch, evaluated in chunks of bounded size.

    Args:
        network: :math:`f`, already in evaluation mode.
        family: :math:`\kappa`.
        prior: :math:`h`.
        g: the prepared batch.
        chunk: pairs per network evaluation; None leaves it to the family, or chooses by the size of a form.
        ids: names of the samples, for searches that remember.
        learning: whether searches may learn from this batch.
        numbers: of the forms in an automatic chunk.

    Attributes:
        forms: per input, as the network's outputs say; None as long as nothing was evaluated.
    """

    network: Callable[[Tree], Tensor]
    family: Family
    prior: Prior
    g: Tree
    chunk: int | None = None
    ids: Tensor | None = None
    learning: bool = True
    numbers: int = AUTOMATIC_CHUNK_NUMBERS
    pairs_evaluated: float = field(default=0, init=False)
    forms: int | None = field(default=None, init=False)
    _views: dict[int, Tree] = field(default_factory=dict, init=False, repr=False)
    _determined: list[Tensor] = field(default_factory=list, init=False, repr=False)

    def __post_init__(self) -> None:
        self.batch = batch_size(self.g)
        self.space: Space = self.family.space(self.g)
        self.fused: Fused | None = self.family.fused(self.network, self.g)
        self.device = tensors(self.g)[0].device

    def __call__(self, u: Tree) -> Tensor:
        """Values (count, batch, forms) of candidates (count, batch, *point)."""
        count = batch_size(u)
        if self.fused is not None:
            with torch.no_grad():
                values = torch.cat([self._fused_values(slice_rows(u, a, b)) for a, b in self._grid_chunks(count)])
            self._check(values.flatten(0, 1))
            return values
        owner = owners(self.batch, 1, self.device, count=count)
        values = self.scores(flatten_leading(u, 2), owner)
        return values.unflatten(0, (count, self.batch))

    def scores(self, u: Tree, owner: Tensor, form: Tensor | None = None) -> Tensor:
        """Values (pairs, forms) of a list of pairs, without gradients; (pairs, 1) if each is asked for one ``form``."""
        with torch.no_grad():
            parts = (
                self._chosen(slice_rows(u, a, b), owner[a:b], None if form is None else form[a:b])
                for a, b in self._chunks(u, owner)
            )
            values = joined(parts, owner.shape[0])
        self._check(values, owner)
        return values

    def values(self, u: Tree, form: Tensor | None = None) -> Tensor:
        """Values (count, batch, n) at points (count, batch, n, *point), where point j of an input is one of its form j,
        or of ``form[input, j]``.
        """
        shape = count, batch, chosen = tensors(u)[0].shape[:3]
        form = _own_forms(u, form).expand(count, -1, -1)
        if self.fused is not None:
            values = self(flatten_leading(_forms_first(u), 2)).unflatten(0, (count, chosen))
            return values.gather(3, form.transpose(1, 2).unsqueeze(3)).squeeze(3).transpose(1, 2)
        owner = owners(batch, chosen, self.device, count=count)
        return self.scores(flatten_leading(u, 3), owner, form.reshape(-1)).reshape(shape)

    def value_and_gradient(self, u: Tree, form: Tensor | None = None) -> tuple[Tensor, Tree]:
        """Values (count, batch, n) and ambient gradients at (count, batch, n, *point); forms as in ``values``."""
        shape = count, batch, chosen = tensors(u)[0].shape[:3]
        form = _own_forms(u, form).expand(count, -1, -1)
        if self.fused is not None:
            return self._fused_gradient(u, form)
        pairs = flatten_leading(u, 3)
        owner = owners(batch, chosen, self.device, count=count)
        form = form.reshape(-1)
        parts = (
            self._differentiate(slice_rows(pairs, a, b), owner[a:b], form[a:b]) for a, b in self._chunks(pairs, owner)
        )
        value, gradient = joined(parts, owner.shape[0])
        self._check(value.unsqueeze(1), owner)
        return value.reshape(shape), unflatten_leading(gradient, tuple(shape))

    def anchors(self) -> Tree | None:
        """The anchors (batch, count, *point) of the inputs, or None if the family has none.

        A search asks here for them, so that ``determined`` knows of it.
        """
        anchors = self.family.anchor(self.g)
        if anchors is not None and (determined := self.family.determined(self.g)) is not None:
            self._determined.append(determined)
        return anchors

    @property
    def determined(self) -> Tensor | None:
        """For which inputs the anchors that a search used follow from the input, (batch,); None if it used none, or
        if the family's always do.
        """
        return torch.stack(self._determined).all(0) if self._determined else None

    def share(self, size: int) -> float:
        """What an evaluation on coarse views of this size costs, as a share of one on the inputs themselves."""
        return row_numel(self._view(size)) / row_numel(self.g)

    @contextmanager
    def coarse(self, size: int, *, reduced: bool = True) -> Iterator["Landscape"]:
        """The landscape of coarse views of the inputs, in reduced precision where the hardware has it.

        Its evaluations count by their share of a whole input.
        """
        view = self._view(size)
        dtype = reduced_precision(self.device.type) if reduced else None
        network = in_precision(self.network, self.device.type, dtype)
        numbers = AUTOMATIC_CHUNK_NUMBERS if dtype is None else 2 * AUTOMATIC_CHUNK_NUMBERS
        landscape = Landscape(
            network, self.family, self.prior, view, ids=self.ids, learning=self.learning, numbers=numbers
        )
        landscape._determined = self._determined
        try:
            yield landscape
        except (RuntimeError, InputError, ShapeError) as error:  # what networks raise for sizes that do not fit
            error.add_note(
                f"while coarse views of {size} points or pixels were scored. Hint: a network for inputs of one size "
                "needs a search without coarse views, such as RandomSearch(50) or SampleAndRefine(50, 3)"
            )
            raise
        self.pairs_evaluated += landscape.pairs_evaluated * row_numel(view) / row_numel(self.g)

    @contextmanager
    def rough(self) -> Iterator["Landscape"]:
        """The same landscape in reduced precision where the hardware has it: enough to rank candidates."""
        dtype = reduced_precision(self.device.type)
        if dtype is None:
            yield self
            return
        rough = copy.copy(self)
        rough.network = in_precision(self.network, self.device.type, dtype)
        rough.fused = None if self.fused is None else in_precision(self.fused, self.device.type, dtype)
        rough.chunk = None if self.chunk is None else 2 * self.chunk
        yield rough
        self.pairs_evaluated, self.forms = rough.pairs_evaluated, rough.forms

    def place(self, points: Tree) -> Tree:
        """Points as drawn by a space, on the device and in the precision of the batch."""
        return cast_like(points, self.g)

    def _view(self, size: int) -> Tree:
        if size not in self._views:
            view = self.family.coarse(self.g, size)
            if view is None:
                raise SpaceError(f"{self.family!r} has no coarse views. Hint: search without CoarseToFine")
            self._views[size] = view
        return self._views[size]

    def _chunks(self, u: Tree, owner: Tensor) -> list[tuple[int, int]]:
        total = owner.shape[0]
        if self.chunk is None:
            self.chunk = self.family.at_once(self.g)
        if self.chunk is None:
            with torch.no_grad():
                form = self.family.transform(self.g, slice_rows(u, 0, 1), owner[:1])
            self.chunk = max(1, self.numbers // max(1, row_numel(form)))
        self.pairs_evaluated += total
        return [(a, min(a + self.chunk, total)) for a in range(0, total, self.chunk)]

    def _rank(self, u: Tree, owner: Tensor) -> Tensor:
        return self._ranked(evaluate(self.network, self.family, self.g, u, owner))

    def _ranked(self, outputs: Tensor) -> Tensor:
        """Values (pairs, forms) of outputs (pairs, ...)."""
        if self.family.moves_pixels and outputs.dim() > 2:
            raise ShapeError(
                f"{self.family!r} needs one answer per image, (pairs, classes), got outputs of shape "
                f"{tuple(outputs.shape)}. {WHY_NO_MAPS}"
            )
        values = self.prior.rank(outputs)
        self.forms = values.shape[1]
        return values

    def _chosen(self, u: Tree, owner: Tensor, form: Tensor | None) -> Tensor:
        values = self._rank(u, owner)
        return values if form is None else values.gather(1, form.unsqueeze(1))

    def _differentiate(self, u: Tree, owner: Tensor, form: Tensor) -> tuple[Tensor, Tree]:
        return _slopes(u, lambda u: self._chosen(u, owner, form).squeeze(1))

    def _grid_chunks(self, count: int) -> list[tuple[int, int]]:
        """Candidates are taken for the whole batch at a time."""
        self.pairs_evaluated += count * self.batch
        step = max(1, (self.chunk or PAIRS_PER_FUSED_CHUNK) // self.batch)
        return [(a, min(a + step, count)) for a in range(0, count, step)]

    def _fused_values(self, u: Tree) -> Tensor:
        assert self.fused is not None
        return self._ranks(_at_least_float32(self.fused(u)))

    def _ranks(self, outputs: Tensor) -> Tensor:
        """Values (count, batch, forms) of outputs (count, batch, ...)."""
        return self._ranked(outputs.flatten(0, 1)).unflatten(0, outputs.shape[:2])

    def _fused_gradient(self, u: Tree, form: Tensor) -> tuple[Tensor, Tree]:
        count, batch, chosen = form.shape
        self.pairs_evaluated += form.numel()
        grid = flatten_leading(_forms_first(u), 2)
        own = form.transpose(1, 2).reshape(count * chosen, batch, 1)
        value, gradient = self._fused_slopes(grid, own)
        self._check(value.reshape(-1, 1))
        back = _forms_first(unflatten_leading(gradient, (count, chosen)))
        return value.unflatten(0, (count, chosen)).transpose(1, 2), back

    def _fused_slopes(self, grid: Tree, form: Tensor) -> tuple[Tensor, Tree]:
        """One of the values (count, batch, forms) for each point, and its gradient."""

        def chosen(values: Tensor) -> Tensor:
            return values.gather(2, form).squeeze(2)

        pulled = pullback(grid) if (pullback := getattr(self.fused, "pullback", None)) else None
        if pulled is None:
            return _slopes(grid, lambda grid: chosen(self._fused_values(grid)))
        outputs, back = pulled
        if isinstance(self.prior, ClassScore):
            value, cotangent = chosen(outputs), torch.zeros_like(outputs).scatter_(2, form, 1.0)
        else:
            value, cotangent = _slopes(outputs, lambda outputs: chosen(self._ranks(outputs)))
        return value, map_tensors(Tensor.nan_to_num, back(cotangent))

    def _check(self, values: Tensor, owner: Tensor | None = None) -> None:
        """Refuse NaN among the values of pairs, which go round the batch if their owners are not given."""
        if bool(values.isnan().any()):
            nan = values.isnan().any(1)
            pair = int(nan.nonzero()[0])
            sample = pair % self.batch if owner is None else int(owner[pair])
            raise ScoreError(
                f"The network gave NaN for a candidate of sample {sample} "
                f"({int(nan.sum())} of {values.shape[0]} candidates). A search cannot rank NaN. "
                "Hint: look for a division by zero or an overflow in the network, or lower the learning rate"
            )


def evaluate(network: Callable[[Tree], Tensor], family: Family, g: Tree, u: Tree, owner: Tensor) -> Tensor:
    """Network outputs :math:`f(\\kappa_{u[p]}(g[owner[p]]))`, at least in float32; geometry is never autocast."""
    with torch.autocast(owner.device.type, enabled=False):
        forms = family.transform(g, u, owner)
    outputs = network(forms)
    if not isinstance(outputs, Tensor) or outputs.dim() < 1 or outputs.shape[0] != owner.shape[0]:
        came = tuple(outputs.shape) if isinstance(outputs, Tensor) else type(outputs).__name__
        raise ShapeError(
            f"The network must return a tensor with one row per form, {owner.shape[0]} rows, got {came}. "
            "Hint: return logits of shape (batch, classes)"
        )
    return _at_least_float32(outputs)


def _at_least_float32(outputs: Tensor) -> Tensor:
    return outputs.float() if outputs.dtype in (torch.float16, torch.bfloat16) else outputs


def _own_forms(u: Tree, form: Tensor | None) -> Tensor:
    """(1, batch, n) for points (count, batch, n, *point)."""
    leaf = tensors(u)[0]
    return torch.arange(leaf.shape[2], device=leaf.device).expand(1, *leaf.shape[1:3]) if form is None else form[None]


def _forms_first(u: Tree) -> Tree:
    """Exchange the second and third axis, batch and forms."""
    return map_tensors(lambda leaf: leaf.transpose(1, 2), u)


def _slopes(u: Tree, function: Callable[[Tree], Tensor]) -> tuple[Tensor, Tree]:
    """Values and their gradients by the floating leaves."""
    with torch.enable_grad():
        u = map_tensors(lambda leaf: leaf.detach().clone().requires_grad_(leaf.is_floating_point()), u)
        inputs = [leaf for leaf in tensors(u) if leaf.requires_grad]
        value = function(u)
        slopes = iter(
            torch.autograd.grad(value.sum(), inputs, allow_unused=True) if inputs and value.requires_grad else []
        )
    gradient = map_tensors(
        lambda leaf: _or_zeros(next(slopes, None), leaf) if leaf.requires_grad else torch.zeros_like(leaf), u
    )
    return value.detach(), gradient


def _or_zeros(gradient: Tensor | None, leaf: Tensor) -> Tensor:
    return torch.zeros_like(leaf) if gradient is None else gradient.nan_to_num()
