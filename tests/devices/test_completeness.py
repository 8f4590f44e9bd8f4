"""The table of cases names everything that is public, so that what is added later is not forgotten there."""

import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import pytest

import adacanon

CASES = Path(__file__).parents[1] / "cases"
FILES = [*(CASES / "on_any_device").glob("*.py"), CASES / "conformance.py", CASES / "image_cases.py"]

ELSEWHERE = {
    "adacanon": {
        "AdacanonError",
        "ClassScore",
        "Prior",
        "SearchResult",
        "cross_entropy",
        "export",
        "synchronize",
    },
    "adacanon.points": {"CloudFamily"},
    "adacanon.images": set(),
    "adacanon.graphs": {
        *("BandCoefficients", "FramedGraphs", "NodeCoefficients", "NodeForms", "NodeInputs", "Partition", "Spectrum"),
        *("NodeBases", "NodeClassifier", "NodeFilter", "NodeLabeller", "SpectralMLP"),
        *("coefficients_of", "node_coefficients_of", "spectra"),
    },
    "adacanon.maximizers": {"Stage"},
    "adacanon.spaces": {"special_orthogonal", "super_fibonacci"},
    "adacanon.baselines.clouds": {
        *("EGNNLayer", "FrameNetwork", "VNBatchNorm", "VNEdgeConvolution", "VNInvariant", "VNLayer", "VNLeakyReLU"),
        *("VNLinear", "VNMaxPool", "cn_dgcnn", "cn_pointnet"),
    },
    "adacanon.baselines.graphs": {"CanonicalEigenvectors", "ResidualGraphNetwork"},
    "adacanon.core": {
        *("Canonical", "Carried", "Drawing", "Fused", "Graph", "Landscape", "LossAndLogits", "Numbers", "Pixels"),
        *("ClassScore", "PlacePrior", "Points", "Prior", "SearchResult"),
        *("cross_entropy", "effective_number", "soft_maximum", "soft_weights"),
    },
    "adacanon.distillation": {"Distilled", "Measured"},
    "adacanon.diagnosis": {
        *("Advice", "Bin", "Caution", "Choice", "Diagnosis", "Example", "Finding", "Order", "Reading", "Searched"),
        *("load_model", "own_names", "read_class_names"),
    },
    "adacanon.explain": {"Shown"},
    "adacanon.testing": {
        *("Problem", "check_maximizer", "check_space", "circle_problem", "finite_problem", "rotation_problem"),
    },
}
"""Public names without a case of their own: defaults, parts of models and results that have one, abstract classes,
errors, what runs on the CPU before there is a device, contracts that make inputs of their own there, ``export``, whose
tracing the virtual device does not know, and ``synchronize``, which needs several processes.
"""

WITHOUT_CASES = {
    "adacanon.data": "files are read and samples drawn on the CPU",
    "adacanon.deployment": "programs are traced on the CPU",
    "adacanon.runs.claims": "computes nothing",
    "adacanon.runs.executors": "computes nothing",
    "adacanon.training": "placement has tests of its own, tests/training/test_hardware.py; its metrics have cases",
}
"""Packages without models, and why they have no cases."""


def test_every_package_with_public_names_is_looked_at() -> None:
    names = ["adacanon", *(one.name for one in pkgutil.walk_packages(adacanon.__path__, "adacanon.") if one.ispkg)]
    public = {name for name in names if getattr(importlib.import_module(name), "__all__", ())}
    assert public == set(ELSEWHERE) | set(WITHOUT_CASES)


def test_no_reason_is_out_of_date() -> None:
    for package, names in ELSEWHERE.items():
        assert names <= set(importlib.import_module(package).__all__), package


@pytest.mark.parametrize("package", ELSEWHERE)
def test_every_public_name_has_a_case_or_a_reason(package: str) -> None:
    missing = set(importlib.import_module(package).__all__) - words_of_cases()
    assert missing <= ELSEWHERE[package], f"no case for {sorted(missing - ELSEWHERE[package])}"


@pytest.mark.parametrize("package", ELSEWHERE)
def test_every_value_of_an_option_has_a_case(package: str) -> None:
    """Of those that are named in the annotation; the default has one wherever the function has."""
    module = importlib.import_module(package)
    missing = {
        f"{name}({option}={value!r})"
        for name in set(module.__all__) - ELSEWHERE[package]
        for option, value in values_of(getattr(module, name))
        if value not in words_of_cases()
    }
    assert not missing


def values_of(function: Any) -> Iterator[tuple[str, str]]:
    """Options and the words that they may be, but for defaults."""
    if not callable(function):
        return
    for option, parameter in inspect.signature(function).parameters.items():
        for literal in (parameter.annotation, *get_args(parameter.annotation)):
            if get_origin(literal) is Literal:
                yield from ((option, value) for value in get_args(literal) if value != parameter.default)


def words_of_cases() -> set[str]:
    return {word for file in FILES for word in re.findall(r"\w+", file.read_text())}
