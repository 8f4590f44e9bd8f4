"""The adaptively canonicalized network :math:`f \\circ \\rho_f`."""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.module import _EXTRA_STATE_KEY_SUFFIX

from adacanon.arguments import real_number, whole_number
from adacanon.core.answers import Carried, Kind, carried_back, check_answers, settled
from adacanon.core.canonical import Canonical
from adacanon.core.checks import (
    CHECK_HINT,
    check_ids,
    check_parts,
    checked_result,
    dense_values,
    one_argument,
    other_types,
    source_of_draws,
    where_not_finite,
)
from adacanon.core.evaluation import evaluate
from adacanon.core.evaluation_mode import Network, in_evaluation_mode, in_its_own_mode
from adacanon.core.family import Family, Searches
from adacanon.core.landscape import Landscape
from adacanon.core.maximizer import Maximizer, SearchResult, as_maximizer
from adacanon.core.naming import compare_names, names_of, packed, unpacked
from adacanon.core.precision import callers_precision, in_precision, in_precision_of
from adacanon.core.prior import ClassScore, Prior
from adacanon.core.pytree import (
    Tree,
    batch_size,
    distinct_rows,
    flatten_leading,
    joined,
    map_tensors,
    owners,
    slice_rows,
    take,
    tensors,
)
from adacanon.core.soft import Temperature, as_temperature, compare_temperatures
from adacanon.core.soft_answers import soft_answers, soft_canonical
from adacanon.core.undetermined import warn_of_undetermined
from adacanon.errors import AdacanonError, InputError, ShapeError
from adacanon.notices import warn_caller


class Canonicalized(nn.Module):
    r"""The adaptively canonicalized network :math:`g \mapsto (f_d(\kappa_{u_d}(g)))_d`,
    with :math:`u_d \in \arg\max_u h_d(f_d(\kappa_u(g)))`.

    The search runs outside autograd with the network in evaluation mode: it leaves BatchNorm statistics,
    dropout, training flags and the caller's random state as they are. Gradients flow through the chosen forms only,
    and each distinct (input, transformation) pair is evaluated once.

    In evaluation mode any number of threads may call one model. In training mode a model belongs to one thread, while
    others may train, read or call the network itself; only a network that draws random numbers even in evaluation mode
    takes them from the global random state, as it does when it is called alone.

    In evaluation mode the candidates follow from ``seed``, which is saved with the model: the same input gets the same
    answer twice, alone or in a batch. In training mode they are drawn anew at each call, from ``generator`` if one
    is given and otherwise from a stream that is saved with the model too.

    Args:
        network: :math:`f`, any module from the family's forms to (pairs, classes), or to other answers (pairs, ...). A
            plain function is called as it is: what it hides cannot be put in evaluation mode.
        family: :math:`\kappa`, which names the space and transforms.
        search: where the maximum is looked for; if left out, the search that the family names
            (:meth:`Family.searches`).
        training_search: another search for training mode, where estimates are enough; the same one if left out.
        prior: :math:`h`; a form per class unless the prior is shared.
        answers: how answers move with the input, see ``core.answers``: "invariant" for class scores, scalars and labels
            of points, "vectors", "rotations" for poses, "maps" for an answer per pixel. All but the first need one
            shared form, and are carried back to the input.
        temperature: :math:`\tau` of soft prior maximization, a dial from the maximum (0, the paper's rule) to the mean
            (infinity): a number, one per class, or a :class:`~adacanon.core.soft.Temperature` that is learned. It needs
            a search over a finite set of candidates. With a shared prior, answers are blended by their confidence. If
            left out, the family's (:meth:`Family.temperature`) where its own search and a form per class are used, and
            0 otherwise.
        chunk_size: pairs per network evaluation in the search; None leaves it to the family, or to the size of a form.
        seed: determines the candidates.
        resample_every: calls in training that share one set of draws. Raise it where sampling candidates is expensive.

    Example:
        >>> from adacanon.points import Rotations
        >>> from adacanon.maximizers import RandomSearch
        >>> network = nn.Sequential(nn.Flatten(), nn.Linear(12, 2))
        >>> model = Canonicalized(network, Rotations(), RandomSearch(candidates=8)).eval()
        >>> model(torch.randn(5, 4, 3)).shape
        torch.Size([5, 2])

    Reference: Lin & Levie, ICLR 2026, section "Prior Maximization Adaptive Canonicalization".
    """

    seed: Tensor
    draws: Tensor
    _warned: bool = False

    def __init__(
        self,
        network: Callable[[Tree], Tensor],
        family: Family,
        search: Maximizer | None = None,
        *,
        prior: Prior | None = None,
        answers: Kind = "invariant",
        temperature: float | Sequence[float] | Tensor | Temperature | None = None,
        training_search: Maximizer | None = None,
        chunk_size: int | None = None,
        seed: int = 0,
        resample_every: int = 1,
    ) -> None:
        super().__init__()
        check_parts(network, family, prior)
        if chunk_size is not None:
            hint = "None chooses by the size of a form"
            chunk_size = whole_number("Canonicalized", "chunk_size", chunk_size, least=1, hint=hint)
        hint = "1 draws candidates at every call"
        resample_every = whole_number("Canonicalized", "resample_every", resample_every, least=1, hint=hint)
        seed = whole_number("Canonicalized", "seed", seed, most=2**63 - 1)
        if seed < -(2**63):
            raise InputError(f"Canonicalized expects a seed of 64 bits, got {seed}")
        automatic = search is None
        if search is None:
            search, in_training = _searches_of(family)
            training_search = in_training if training_search is None else training_search
        search = as_maximizer(search)
        training_search = None if training_search is None else as_maximizer(training_search)
        self.network = network
        self.family = family
        self.search = search
        self.training_search = training_search
        self.search_state = nn.ModuleList(_search_state(search, training_search))
        self.prior = ClassScore() if prior is None else prior
        if temperature is None:
            temperature = family.temperature() if automatic and prior is None else 0.0
        self.temperature = as_temperature(temperature)
        check_answers(answers, family, self.prior, self.temperature)
        self.answers = answers
        self.chunk_size = chunk_size
        self.resample_every = resample_every
        self.register_buffer("seed", torch.tensor(seed, dtype=torch.int64))
        self.register_buffer("draws", torch.tensor(0, dtype=torch.int64))

    def get_extra_state(self) -> Tensor:
        """Family, searches and prior by name, so that a checkpoint of one model is not taken for that of another."""
        return packed(names_of(self.family, self.search, self.training_search, self.prior, self.answers))

    def set_extra_state(self, state: Tensor) -> None:
        """Names are compared before anything is loaded."""

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *others: Any) -> None:
        key = f"{prefix}{_EXTRA_STATE_KEY_SUFFIX}"
        if key in state_dict:
            compare_names(unpacked(state_dict[key]), unpacked(self.get_extra_state()), key=key)
            compare_temperatures(state_dict, f"{prefix}temperature.", self.temperature)
        else:  # written by an older version, or the caller has removed it
            warn_caller(
                f"The checkpoint does not name its family and search, and is loaded into {self.family!r}. "
                "Hint: save it again to add them"
            )
            state_dict[key] = self.get_extra_state()
        super()._load_from_state_dict(state_dict, prefix, *others)

    def extra_repr(self) -> str:
        names = ["family", "search", "prior"] + ["training_search"] * (self.training_search is not None)
        names += ["answers"] * (self.answers != "invariant")
        lines = (f"{name}={getattr(self, name)!r}," for name in names)
        return "\n".join((*lines, f"chunk={self.chunk_size or 'automatic'}"))

    def forward(
        self,
        g: Any,
        *,
        ids: Tensor | None = None,
        generator: torch.Generator | None = None,
        budget: float | None = None,
    ) -> Tensor:
        """Class scores (batch, classes) at the canonical forms; with a shared prior, the answers at the shared form,
        carried back.

        Args:
            ids: names of the samples, for searches that remember them from epoch to epoch.
            generator: source of the candidates, in place of the model's own.
            budget: evaluations of the network per input that the search may take at most, one on a coarse view counted
                by its share; None leaves the search as it is.
        """
        g = self.prepare(g)
        if self.temperature is not None:
            return soft_answers(self, self.temperature(), g, ids=ids, generator=generator, budget=budget)
        found, landscape = self.maximize(g, ids=ids, generator=generator, budget=budget)
        with in_its_own_mode(self.network):
            outputs = self._at(self.network, g, found, landscape)
        return self._carried(outputs, found).answers

    def outputs_at(self, g: Tree, u: Tree, owner: Tensor, landscape: Landscape) -> Tensor:
        """Network outputs (pairs, ...) for a list of pairs, equal ones evaluated once; gradients flow."""
        with in_its_own_mode(self.network):
            outputs, place = self._distinct_outputs(self.network, g, u, owner, landscape)
        return outputs[place]

    def canonicalize(
        self,
        g: Any,
        *,
        ids: Tensor | None = None,
        generator: torch.Generator | None = None,
        budget: float | None = None,
    ) -> Canonical:
        """Search, and return everything that was found; no gradients. Arguments as in ``forward``."""
        given = g
        with torch.no_grad():
            g = self.prepare(g)
            if self.temperature is not None:
                soft = soft_canonical(self, self.temperature(), g, ids=ids, generator=generator, budget=budget)
                return replace(soft, given=given)
            found, landscape = self.maximize(g, ids=ids, generator=generator, budget=budget)
            with in_evaluation_mode(self.network) as network:
                outputs = self._at(network, g, found, landscape)
            batch, forms = found.values.shape
            scores = self.prior(outputs).reshape(batch, forms)
            carried = self._carried(outputs, found)
        mask = landscape.space.mask()
        return Canonical(
            parameters=found.parameters,
            scores=scores,
            logits=carried.answers,
            evaluations=landscape.pairs_evaluated / landscape.batch,
            mask=None if mask is None else map_tensors(lambda leaf: leaf.unsqueeze(1), mask),
            family=self.family,
            g=g,
            determined=landscape.determined,
            known=carried.known,
            model=self,
            given=given,
        )

    def prepare(self, g: Any) -> Tree:
        """Check a batch and turn it into the pytree that the family reads."""
        dense_values(g)
        given, g = g, self.family.prepare(g)
        if not tensors(given):  # the family has computed numbers, from graphs for example
            g = in_precision_of(self.network, g)
        if not tensors(g):
            raise ShapeError(f"{self.family!r} expects a batch of tensors, got {type(g).__name__}")
        if batch_size(g) == 0:
            raise InputError("The batch is empty. Hint: skip empty batches, or set drop_last in the loader")
        for leaf in tensors(g):
            if leaf.is_floating_point() and not bool(leaf.sum().isfinite()) and not bool(leaf.isfinite().all()):
                raise InputError(where_not_finite(leaf))
        return g

    def maximize(
        self,
        g: Tree,
        *,
        ids: Tensor | None = None,
        generator: torch.Generator | None = None,
        budget: float | None = None,
    ) -> tuple[SearchResult, Landscape]:
        """The search's outcome for a prepared batch as it is, and the landscape that it searched; no gradients."""
        with self.searching(g, ids, budget) as (search, landscape):
            found = search.maximize(landscape, generator=source_of_draws(generator, self.next_generator))
            return checked_result(found, landscape), landscape

    @contextmanager
    def searching(self, g: Tree, ids: Tensor | None, budget: float | None) -> Iterator[tuple[Maximizer, Landscape]]:
        """The search and the landscape of a batch, outside autograd and with the network in evaluation mode."""
        device = tensors(g)[0].device.type
        precision = callers_precision(device)
        with (
            torch.inference_mode(False),
            torch.no_grad(),
            in_evaluation_mode(self.network) as network,
            torch.autocast(device, enabled=False),
        ):
            network = in_precision(network, device, precision)
            g = map_tensors(lambda leaf: leaf.clone() if leaf.is_inference() else leaf.detach(), g)
            check_ids(ids, batch_size(g))
            landscape = Landscape(
                network,
                self.family,
                self.prior,
                g,
                answers=self.answers,
                chunk_size=self.chunk_size,
                ids=ids,
                learning=self.training,
                temperature=None if self.temperature is None else self.temperature().detach(),
            )
            search = self.training_search or self.search if self.training else self.search
            try:
                if budget is not None:
                    search = _with_budget(search, budget, landscape)
                yield search, landscape
            except AdacanonError as error:
                error.add_note(f"while {search!r} searched {self.family!r} for a batch of {landscape.batch}")
                raise
            except RuntimeError as error:  # from the network
                if note := other_types(self.network, g):
                    error.add_note(note)
                raise
            except (TypeError, AttributeError) as error:
                if note := one_argument(error, g):
                    error.add_note(note)
                raise
            self._warn_once(landscape)

    def _warn_once(self, landscape: Landscape) -> None:
        """Say at the first input without anchors of its own what that means. The note is no state of the model: it is
        not saved, and a copy of a model that has warned is silent.
        """
        if not self._warned and landscape.determined is not None and not bool(landscape.determined.all()):
            warn_of_undetermined(self.family, landscape.determined)
            self._warned = True

    def next_generator(self) -> torch.Generator:
        """Evaluation: always the same stream. Training: the next one of the sequence saved with the model."""
        stream = 0
        if self.training:
            self.draws += 1
            stream = -(-int(self.draws) // self.resample_every)
        return torch.Generator().manual_seed((int(self.seed) * 0x9E3779B97F4A7C15 + stream) % 2**63)

    def _at(self, network: Network, g: Tree, found: SearchResult, landscape: Landscape) -> Tensor:
        """Evaluate the network once at every distinct (input, winner) pair and hand each class its own."""
        batch, forms = found.values.shape
        if found.exact and forms == landscape.forms and isinstance(self.prior, ClassScore) and not _learns(network):
            return found.values
        outputs = landscape.fused.with_gradients(network, g, found.parameters) if landscape.fused else None
        if outputs is not None:
            self._check_forms(forms, outputs.shape[2])
            return outputs[:, 0] if self.prior.shared else outputs.diagonal(dim1=1, dim2=2)
        owner = owners(batch, forms, found.values.device)
        outputs, place = self._distinct_outputs(network, g, flatten_leading(found.parameters, 2), owner, landscape)
        self._check_forms(forms, outputs.shape[1])
        if self.prior.shared:
            return outputs[place]
        return outputs[place.unflatten(0, (batch, forms)), torch.arange(forms, device=place.device)]

    def _carried(self, outputs: Tensor, found: SearchResult) -> Carried:
        """The answers in the outputs (batch, ...), carried back from the shared form."""
        if not self.prior.shared:
            return Carried(outputs)
        u = map_tensors(lambda leaf: leaf[:, 0], found.parameters)
        return settled(carried_back(self.family, self.answers, u, self.prior.answers_of(outputs)), self.answers)

    def _distinct_outputs(
        self, network: Network, g: Tree, u: Tree, owner: Tensor, landscape: Landscape
    ) -> tuple[Tensor, Tensor]:
        """Outputs of the distinct pairs, and for every pair its place among them."""
        first, place = distinct_rows(owner, u)
        return self._outputs(network, g, take(u, first), owner[first], landscape.chunk_size), place

    def _check_forms(self, forms: int, classes: int) -> None:
        expected = 1 if self.prior.shared else classes
        if forms != expected:
            raise ShapeError(f"A search must return {expected} forms per input, got {forms}. {CHECK_HINT}")

    def _outputs(self, network: Network, g: Tree, u: Tree, owner: Tensor, chunk_size: int | None) -> Tensor:
        """Chunks are for evaluation only: splitting a training batch would split BatchNorm's statistics."""
        total = owner.shape[0]
        if chunk_size is None or _learns(network):
            chunk_size = total
        if chunk_size >= total:
            return evaluate(network, self.family, g, u, owner)
        parts = (
            evaluate(network, self.family, g, slice_rows(u, a, a + chunk_size), owner[a : a + chunk_size])
            for a in range(0, total, chunk_size)
        )
        return joined(parts, total)


def _learns(network: Network) -> bool:
    return getattr(network, "training", False) or torch.is_grad_enabled()


def _searches_of(family: Family) -> Searches:
    searches = family.searches()
    if searches is None:
        raise InputError(f"{family!r} names no search of its own. Hint: give one, such as SampleAndRefine(50, steps=3)")
    return searches


def _search_state(*maximizers: Maximizer | None) -> list[nn.Module]:
    """What is saved of the searches; one that serves twice is saved once."""
    saved = (module for search in maximizers if search is not None for module in search.search_state())
    return list({id(module): module for module in saved}.values())


def _with_budget(search: Maximizer, budget: float, landscape: Landscape) -> Maximizer:
    budget = real_number("Canonicalized", "budget", budget, least=1, hint="evaluations of the network per input")
    if math.isinf(budget):
        raise InputError(
            "Canonicalized expects a finite budget, got inf. Hint: leave it out, and the whole search is done"
        )
    return search.with_budget(budget, landscape)
