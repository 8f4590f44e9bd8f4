"""What a canonicalized network refuses, and in which words."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from adacanon.core.family import Family
from adacanon.core.landscape import Landscape
from adacanon.core.maximizer import SearchResult
from adacanon.core.prior import ClassScore, Prior
from adacanon.core.pytree import Tree, tensors
from adacanon.errors import InputError, ScoreError, ShapeError

CHECK_HINT = "Hint: check it with adacanon.testing.check_maximizer"


def check_parts(network: Any, family: Any, prior: Any) -> None:
    """Refuse what is no network, no family or no prior."""
    if isinstance(network, type) or not callable(network):
        raise InputError(
            f"The network must be a module or a function, got {network!r}. "
            f"Hint: an instance, {getattr(network, '__name__', 'Network')}()"
        )
    prior = ClassScore() if prior is None else prior
    expected = {"family": (family, Family, "Rotations()"), "prior": (prior, Prior, "ClassScore()")}
    for name, (part, kind, example) in expected.items():
        if not isinstance(part, kind):
            raise InputError(f"The {name} must be a {kind.__name__}, got {part!r}. Hint: an instance such as {example}")


def check_ids(ids: Any, batch: int) -> None:
    """Refuse sample indices that do not belong to the batch."""
    if ids is not None and (not isinstance(ids, Tensor) or ids.shape != (batch,)):
        came = tuple(ids.shape) if isinstance(ids, Tensor) else type(ids).__name__
        raise ShapeError(f"ids must be a tensor with one id per sample, shape ({batch},), got {came}")
    if ids is not None and ids.is_floating_point():
        raise InputError(f"ids must be whole numbers, got {ids.dtype}. Hint: ids.long()")


def checked_result(found: SearchResult, landscape: Landscape) -> SearchResult:
    """What a search returned, whoever wrote it; refused if it does not fit the batch or holds NaN."""
    if not isinstance(found, SearchResult):
        raise ShapeError(
            f"A search must return a SearchResult, got {type(found).__name__}. Hint: return SearchResult(parameters, "
            "values), and check the search with adacanon.testing.check_maximizer"
        )
    values = found.values
    leading = {tuple(leaf.shape[:2]) for leaf in tensors(found.parameters)}
    if values.dim() != 2 or values.shape[0] != landscape.batch or leading != {tuple(values.shape)}:
        raise ShapeError(
            f"A search must return values (batch, forms) and parameters (batch, forms, *point) for a batch of "
            f"{landscape.batch}, got values {tuple(values.shape)} and parameters with leading axes {sorted(leading)}. "
            + CHECK_HINT
        )
    if any(bool(leaf.isnan().any()) for leaf in (values, *tensors(found.parameters))):
        raise ScoreError(f"A search must return values and parameters that are numbers, got NaN. {CHECK_HINT}")
    return found


def other_types(network: Callable[..., Tensor], g: Tree) -> str:
    """What to say if an input is of another type than the network, as arrays of numpy often are."""
    parameters = network.parameters() if isinstance(network, nn.Module) else ()
    own = {p.dtype for p in parameters if p.is_floating_point()}
    came = {leaf.dtype for leaf in tensors(g) if leaf.is_floating_point()}
    if not own or came <= own:
        return ""
    names = [", ".join(sorted(str(dtype) for dtype in dtypes)) for dtypes in (came, own)]
    return f"The input is of {names[0]}, the network of {names[1]}. Hint: input.float(), or network.double()"


def one_argument(error: TypeError | AttributeError, g: Tree) -> str:
    """What to say if a network cannot do anything with a form that is a tuple."""
    if type(g) is not tuple or hasattr(error, "__notes__"):  # a note is that of Unpacked
        return ""
    return (
        f"The network was called with one argument, a tuple of {len(g)} tensors. "
        "Hint: adacanon.points.Unpacked(network) hands them to the network as separate arguments"
    )


def where_not_finite(leaf: Tensor) -> str:
    """What to say of an input that holds NaN or infinite values."""
    bad = ~leaf.isfinite()
    sample = int(bad.flatten(1).any(1).nonzero()[0]) if leaf.dim() > 1 else int(bad.nonzero()[0])
    return (
        f"The input must be finite, but a tensor of shape {tuple(leaf.shape)} holds {int(bad.sum())} NaN or infinite "
        f"values, the first in sample {sample}. Hint: clean or drop such samples before the model sees them"
    )


def dense_values(g: Tree) -> None:
    """Refuse tensors that hold no values or only some of them."""
    for leaf in tensors(g):
        if leaf.is_meta or leaf.layout != torch.strided:
            came = "on the device meta, without values" if leaf.is_meta else f"of layout {leaf.layout}"
            raise InputError(f"The input must be dense tensors with values, got one {came}. Hint: input.to_dense()")


def source_of_draws(generator: Any, otherwise: Callable[[], torch.Generator]) -> torch.Generator:
    """The generator that a caller gave, or the model's own."""
    if generator is None:
        return otherwise()
    if not isinstance(generator, torch.Generator):
        raise InputError(
            f"generator must be a torch.Generator, got {generator!r}. Hint: torch.Generator().manual_seed(0)"
        )
    return generator
