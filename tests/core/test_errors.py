"""Every bad input is refused with what was expected, what came, and what to do."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from adacanon import (
    AdacanonError,
    AnchoredSearch,
    Canonicalized,
    GridSearch,
    Monotone,
    NegativeEntropy,
    Objective,
    RandomSearch,
    Restarts,
    SampleAndRefine,
    SubsetSearch,
    one_vs_rest,
)
from adacanon.core import Landscape, Maximizer, SearchResult
from adacanon.errors import DataError, InputError, ScoreError, ShapeError, SpaceError, UnknownNameError
from adacanon.images import Rotations as TurnedImages
from adacanon.points import Rotations
from adacanon.spaces import Box, Finite, Orthogonal, rotation_group
from adacanon.testing import finite_problem
from cases.networks import cloud_network, clouds


def model(network: Any = None, search: Any = None, **options: Any) -> Canonicalized:
    return Canonicalized(network or cloud_network(), Rotations(), search or RandomSearch(4), **options)


@dataclass(frozen=True)
class Returns(Maximizer):
    """A search that answers with whatever it is told."""

    answer: Callable[[Landscape], Any]

    def maximize(self, landscape: Landscape, *, generator: torch.Generator) -> Any:
        return self.answer(landscape)


def returns(parameters: tuple[int, ...], values: tuple[int, ...], *, fill: float = 0.0, exact: bool = False) -> Returns:
    """Zeros, the first value of which is ``fill``."""

    def answer(landscape: Landscape) -> SearchResult:
        points, scores = torch.zeros(parameters).double(), torch.zeros(values).double()
        scores.view(-1)[0] = fill
        return SearchResult(points, scores, exact=exact)

    return Returns(answer)


def segmenter(image: Tensor) -> Tensor:
    """A map of two classes, (pairs, classes, height, width)."""
    return torch.stack([-image.mean(1), image.mean(1)], 1)


def of_images(network: Any, **options: Any) -> Tensor:
    return Canonicalized(network, TurnedImages(), GridSearch(8), **options).eval()(torch.rand(2, 3, 8, 8))


class NaNForSome(nn.Module):
    """NaN where the first coordinate is positive."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.where(x[:, 0, :1] > 0, torch.nan, x.flatten(1)[:, :3])


def no_grad(model: Canonicalized) -> Tensor:
    with torch.no_grad():
        return model(clouds())


def spoiled(value: float, sample: int = 1) -> Tensor:
    g = clouds()
    g[sample, 0, 0] = value
    return g


CASES: dict[str, tuple[Callable[[], Any], type[AdacanonError], list[str]]] = {
    "points transposed": (lambda: model()(clouds().mT), ShapeError, ["(batch, points, 3)", "(3, 3, 4)", ".mT"]),
    "a single cloud": (lambda: model()(clouds()[0]), ShapeError, ["(batch, points, 3)", "(4, 3)"]),
    "points of four numbers": (
        lambda: model()(torch.zeros(8, 64, 4)),
        ShapeError,
        ["(batch, points, 3)", "(8, 64, 4)", "model((points[..., :3], points[..., 3:]))", "Unpacked(network)"],
    ),
    "a class instead of a network": (lambda: model(NaNForSome), InputError, ["module or a function", "NaNForSome()"]),
    "objective of a plain network": (lambda: Objective(NaNForSome()), InputError, ["NaNForSome", "Canonicalized("]),
    "not a tensor": (lambda: model()("cloud"), ShapeError, ["(batch, points, 3)", "str"]),
    "NaN in the input": (lambda: model()(spoiled(torch.nan)), InputError, ["finite", "sample 1", "(3, 4, 3)"]),
    "infinity in the input": (lambda: model()(spoiled(torch.inf, 2)), InputError, ["finite", "sample 2"]),
    "NaN from the network": (lambda: model(NaNForSome())(clouds()), ScoreError, ["NaN", "sample"]),
    "NaN in refinement": (
        lambda: model(NaNForSome(), SampleAndRefine(4, 2))(clouds()),
        ScoreError,
        ["NaN", "sample"],
    ),
    "targets out of range": (
        lambda: Objective(model())(clouds(), torch.tensor([0, 1, 7])),
        InputError,
        ["0..2", "0..7", "number of classes"],
    ),
    "targets of another number of classes": (
        lambda: Objective(model(), loss=one_vs_rest)(clouds(), torch.zeros(3, 5)),
        ShapeError,
        ["(3, 3)", "(3, 5)", "number of classes"],
    ),
    "ids for another batch": (
        lambda: Objective(model())(clouds(), torch.tensor([0, 1, 2]), torch.arange(5)),
        ShapeError,
        ["3", "(5,)"],
    ),
    "functions for another number of classes": (
        lambda: model(prior=Monotone([torch.exp, torch.neg]))(clouds()),
        ShapeError,
        ["2 functions", "3 classes"],
    ),
    "prior that is not monotone": (lambda: Monotone(torch.sin), InputError, ["monotonic", "sin"]),
    "constant prior": (lambda: Monotone(torch.zeros_like), InputError, ["monotonic", "zeros_like"]),
    "unknown solid": (lambda: rotation_group("teapot"), UnknownNameError, ["icosahedron", "teapot"]),
    "empty batch": (lambda: model()(clouds()[:0]), InputError, ["empty"]),
    "empty batch of nothing": (lambda: model().canonicalize(torch.zeros(0, 0, 3)), InputError, ["empty"]),
    "fewer rows than forms": (lambda: model(lambda x: x[1:, 0])(clouds()), ShapeError, ["one row per form", "12 rows"]),
    "output that is not a tensor": (lambda: model(lambda x: (x, x))(clouds()), ShapeError, ["tensor", "tuple"]),
    "output without classes": (
        lambda: model(lambda x: x[:, 0, 0])(clouds()),
        ShapeError,
        ["(pairs, classes)", "(12,)"],
    ),
    "dense output with a form per class": (
        lambda: model(lambda x: x)(clouds()),
        ShapeError,
        ["(pairs, classes)", "(12, 4, 3)", "NegativeEntropy"],
    ),
    "entropy of a vector": (
        lambda: model(lambda x: x[:, 0, 0], prior=NegativeEntropy())(clouds()),
        ShapeError,
        ["(pairs, classes)", "(12,)"],
    ),
    "entropy of NaN": (
        lambda: model(NaNForSome(), prior=NegativeEntropy())(clouds()),
        ScoreError,
        ["NaN", "sample"],
    ),
    "a map of pixels with a form per class": (
        lambda: of_images(segmenter),
        ShapeError,
        ["(pairs, classes)", "(16, 2, 8, 8)", "turned back"],
    ),
    "entropy of a map of pixels": (
        lambda: of_images(segmenter, prior=NegativeEntropy()),
        ShapeError,
        ["(pairs, classes)", "(16, 2, 8, 8)", "turned back"],
    ),
    "entropy of a mask of pixels": (
        lambda: of_images(lambda image: image.mean(1), prior=NegativeEntropy()),
        ShapeError,
        ["(pairs, classes)", "(16, 8, 8)", "turned back"],
    ),
    "entropy of a map over a cloud": (
        lambda: model(lambda x: x.unsqueeze(-1), prior=NegativeEntropy())(clouds()),
        ShapeError,
        ["(pairs, points, classes)", "(12, 4, 3, 1)"],
    ),
    "NaN values from a search that calls them exact": (
        lambda: model(search=returns((3, 3, 3, 3), (3, 3), fill=torch.nan, exact=True)).eval()(clouds()),
        ScoreError,
        ["search", "NaN"],
    ),
    "another number of forms from a search that calls its values exact": (
        lambda: no_grad(model(search=returns((3, 5, 3, 3), (3, 5), exact=True)).eval()),
        ShapeError,
        ["3 forms", "5"],
    ),
    "chunk of zero": (
        lambda: model(chunk_size=0),
        InputError,
        ["chunk_size to be a whole number", "at least 1, got 0"],
    ),
    "no samples": (
        lambda: model(search=RandomSearch(0))(clouds()),
        InputError,
        ["candidates to be a whole number", "at least 1, got 0"],
    ),
    "no samples to refine": (
        lambda: model(search=SampleAndRefine(0))(clouds()),
        InputError,
        ["candidates to be a whole number", "at least 1, got 0"],
    ),
    "negative steps": (
        lambda: SampleAndRefine(steps=-1),
        InputError,
        ["steps to be a whole number", "at least 0, got -1"],
    ),
    "unknown method": (lambda: SampleAndRefine(method="newton"), InputError, ["riemannian", "newton"]),
    "a subset of none": (lambda: SubsetSearch(RandomSearch(), 0), InputError, ["at least 1, got 0"]),
    "a subset of a climb": (lambda: SubsetSearch(SampleAndRefine(), 4), InputError, ["SubsetSearch", "RandomSearch"]),
    "no restarts": (
        lambda: Restarts(RandomSearch(), 0),
        InputError,
        ["times to be a whole number", "at least 1, got 0"],
    ),
    "no anchored samples": (
        lambda: AnchoredSearch(0),
        InputError,
        ["candidates to be a whole number", "at least 1, got 0"],
    ),
    "family without anchors": (
        lambda: Canonicalized(finite_problem().network, finite_problem().family, AnchoredSearch())(finite_problem().g),
        SpaceError,
        ["no anchors", "Shifts"],
    ),
    "flat values from a search": (
        lambda: model(search=returns((3, 3, 3, 3), (9,)))(clouds()),
        ShapeError,
        ["(batch, forms)", "(9,)"],
    ),
    "another batch from a search": (
        lambda: model(search=returns((2, 3, 3, 3), (2, 3)))(clouds()),
        ShapeError,
        ["batch of 3", "(2, 3)"],
    ),
    "parameters and values that do not match": (
        lambda: model(search=returns((3, 1, 3, 3), (3, 3)))(clouds()),
        ShapeError,
        ["(3, 3)", "(3, 1)"],
    ),
    "too many forms from a search": (
        lambda: model(search=returns((3, 5, 3, 3), (3, 5)))(clouds()),
        ShapeError,
        ["5", "3"],
    ),
    "too few forms from a search": (
        lambda: model(search=returns((3, 2, 3, 3), (3, 2)))(clouds()),
        ShapeError,
        ["2", "3"],
    ),
    "no record from a search": (
        lambda: model(search=Returns(lambda landscape: None))(clouds()),
        AdacanonError,
        ["SearchResult", "None"],
    ),
    "box upside down": (lambda: Box((1.0,), (0.0,)), InputError, ["low <= high", "(1.0,)"]),
    "box corners of two lengths": (lambda: Box((1.0,), (0.0, 2.0)), ShapeError, ["one length", "(0.0, 2.0)"]),
    "neutral point outside its box": (lambda: Box((0.0,), (1.0,), (5.0,)), InputError, ["neutral", "5.0"]),
    "empty set": (lambda: Finite(0), InputError, ["at least 1, got 0"]),
    "a size without members": (lambda: Orthogonal(torch.tensor(3)).members, InputError, ["(members,)", "()"]),
    "frames with too many columns": (lambda: Orthogonal(2, columns=3), InputError, ["at most 2", "3"]),
}


@pytest.mark.parametrize("name", CASES)
def test_errors_say_what_was_expected_and_what_came(name: str) -> None:
    act, kind, words = CASES[name]
    with pytest.raises(kind) as caught:
        act()
    for word in words:
        assert word in str(caught.value)


HINTED = [
    "points transposed",
    "NaN in the input",
    "infinity in the input",
    "NaN from the network",
    "targets out of range",
    "functions for another number of classes",
    "prior that is not monotone",
    "unknown solid",
    "empty batch",
    "fewer rows than forms",
    "chunk of zero",
    "no samples",
    "flat values from a search",
]


@pytest.mark.parametrize("name", HINTED)
def test_errors_of_users_carry_a_hint(name: str) -> None:
    act, kind, _ = CASES[name]
    with pytest.raises(kind, match="Hint: "):
        act()


def test_an_input_of_another_type_than_the_network_is_named() -> None:
    with pytest.raises(RuntimeError, match="dtype") as caught:
        model(cloud_network().float())(clouds().double())
    assert (
        "The input is of torch.float64, the network of torch.float32. Hint: input.float()" in caught.value.__notes__[0]
    )
    with pytest.raises(RuntimeError) as other:
        model(nn.Sequential(nn.Flatten(), nn.Linear(7, 2)).double())(clouds().double())
    assert not getattr(other.value, "__notes__", [])


def test_errors_of_a_search_name_the_search() -> None:
    with pytest.raises(ScoreError) as caught:
        model(NaNForSome())(clouds())
    assert "RandomSearch(candidates=4) searched Rotations() for a batch of 3" in caught.value.__notes__[0]


@pytest.mark.parametrize(
    ("kind", "builtin"),
    [
        (ShapeError, ValueError),
        (InputError, ValueError),
        (ScoreError, ArithmeticError),
        (SpaceError, TypeError),
        (UnknownNameError, LookupError),
        (DataError, OSError),
    ],
)
def test_every_error_is_ours_and_a_builtin(kind: type[Exception], builtin: type[Exception]) -> None:
    assert issubclass(kind, AdacanonError)
    assert issubclass(kind, builtin)
