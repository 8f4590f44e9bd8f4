"""The laws of a search."""

from collections.abc import Callable

import torch
from torch import Tensor

from adacanon.core.landscape import Landscape
from adacanon.core.maximizer import Maximizer, SearchResult, as_maximizer
from adacanon.core.prior import ClassScore
from adacanon.core.pytree import Tree, cast_like, flatten_leading, take, tensors, unflatten_leading
from adacanon.core.space import candidates
from adacanon.testing.comparison import require, require_close, require_own_randomness
from adacanon.testing.problems import Problem, rotation_problem
from adacanon.testing.returns import described

TOLERANCE = 1e-6


def check_maximizer(
    search: Maximizer, problem: Problem | None = None, *, generator: torch.Generator | None = None
) -> SearchResult:
    r"""For the functions :math:`F_{id}(u) = f_d(\kappa_u(g_i))` of a small problem with known maxima:

    - shapes: parameters (batch, forms, *point) on the space, values (batch, forms);
    - values: :math:`\text{value}_{id} = F_{id}(u_{id})`;
    - bounds: no value above :math:`\max_u F_{id}(u)`, and on average none below that of a random u;
    - randomness: equal generators give equal outcomes, the global random state plays no part;
    - independence: the outcome for input i and form d does not depend on the other inputs and forms.

    Args:
        search: the search under test.
        problem: what to maximize; rotations of small point clouds if not given.
        generator: for the search.

    Returns:
        what was found, so that a test can go on from there.

    Example:
        >>> from adacanon import RandomSearch
        >>> check_maximizer(RandomSearch(8)).values.shape
        torch.Size([4, 3])
    """
    search, problem = as_maximizer(search), problem or rotation_problem()
    seed = int(torch.randint(2**62, (), generator=generator)) if generator else 0
    found = _run(search, problem, seed)
    _shapes(search, problem, found)
    _values(search, problem, found)
    _bounds(search, problem, found)
    require_own_randomness(lambda own: _pair(_found(search, problem, own)), f"{search!r}: a search")
    _forms_are_independent(search, problem, found, seed)
    _inputs_are_independent(search, problem, found, seed)
    return found


def _landscape(problem: Problem) -> Landscape:
    return Landscape(problem.network, problem.family, ClassScore(), problem.g)


def _run(search: Maximizer, problem: Problem, seed: int) -> SearchResult:
    return _found(search, problem, torch.Generator().manual_seed(seed))


def _found(search: Maximizer, problem: Problem, generator: torch.Generator) -> SearchResult:
    """What a search returns, if it is what a search must return."""
    found = search.maximize(_landscape(problem), generator=generator)
    call = f"{search!r}: maximize must return SearchResult(parameters, values)"
    require(isinstance(found, SearchResult), f"{call}, got {described(found)}")
    require(bool(tensors(found.parameters)), f"{call} with tensors as parameters, got {described(found.parameters)}")
    require(isinstance(found.values, Tensor), f"{call} with a tensor of values, got {described(found.values)}")
    return found


def _pair(found: SearchResult) -> tuple[object, Tensor]:
    return found.parameters, found.values


def _shapes(search: Maximizer, problem: Problem, found: SearchResult) -> None:
    expected, space = problem.maximum.shape, _landscape(problem).space
    values = f"{search!r}: values must have shape {tuple(expected)}, got {tuple(found.values.shape)}"
    require(found.values.shape == expected, values)
    point = tensors(space.identity())
    shapes = [tuple(leaf.shape) for leaf in tensors(found.parameters)]
    wanted = [tuple(expected) + tuple(leaf.shape[0 if space.members is None else 1 :]) for leaf in point]
    require(shapes == wanted, f"{search!r}: parameters must have shapes {wanted}, got {shapes}")
    owner = torch.arange(expected[0]).repeat_interleave(expected[1])
    pairs = flatten_leading(found.parameters, 2)
    law = f"{search!r}: parameters must lie on the space"
    require_close(space.select(owner).project(pairs), pairs, law, TOLERANCE)


def _values(search: Maximizer, problem: Problem, found: SearchResult) -> None:
    batch, forms = found.values.shape
    owner = torch.arange(batch).repeat_interleave(forms)
    scores = _landscape(problem).scores(flatten_leading(found.parameters, 2), owner)
    own = unflatten_leading(scores, (batch, forms)).diagonal(dim1=1, dim2=2)
    law = f"{search!r}: values must be those of the landscape at the parameters"
    require_close(found.values, own, law, TOLERANCE)


def _bounds(search: Maximizer, problem: Problem, found: SearchResult) -> None:
    excess = float((found.values - problem.maximum).max())
    require(excess <= TOLERANCE, f"{search!r}: a value exceeds the true maximum by {excess:.3g}")
    landscape = _landscape(problem)
    points = landscape.space.sample(256, generator=torch.Generator().manual_seed(1))
    random = landscape(candidates(landscape.space, cast_like(points, problem.g), landscape.batch)).mean(0)
    short = float((random - found.values).mean())
    require(short <= TOLERANCE, f"{search!r}: values are on average {short:.3g} below those of random points")


def _forms_are_independent(search: Maximizer, problem: Problem, found: SearchResult, seed: int) -> None:
    for d in range(found.values.shape[1]):
        only = Problem(_class(problem, d), problem.family, problem.g, problem.maximum[:, d : d + 1])
        alone = _run(search, only, seed)
        law = f"{search!r}: the outcome for form {d} must not depend on the other forms"
        require_close(alone.values[:, 0], found.values[:, d], law, TOLERANCE)


def _class(problem: Problem, d: int) -> Callable[[Tree], Tensor]:
    return lambda forms: problem.network(forms)[:, d : d + 1]


def _inputs_are_independent(search: Maximizer, problem: Problem, found: SearchResult, seed: int) -> None:
    batch = found.values.shape[0]
    for owner in ([0], list(range(batch))[::-1], [batch - 1, 0]):
        index = torch.tensor(owner)
        part = Problem(problem.network, problem.family, take(problem.g, index), problem.maximum[index])
        law = f"{search!r}: the outcome for inputs {owner} must not depend on the rest of the batch"
        require_close(_run(search, part, seed).values, found.values[index], law, TOLERANCE)
