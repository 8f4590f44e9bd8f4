"""The public packages: what they export can be imported, is described, and shows in an example what to type."""

import importlib
import re
from types import ModuleType
from typing import Any

import pytest

PACKAGES = (
    "adacanon",
    "adacanon.baselines.clouds",
    "adacanon.baselines.graphs",
    "adacanon.core",
    "adacanon.data",
    "adacanon.deployment",
    "adacanon.diagnosis",
    "adacanon.distillation",
    "adacanon.explain",
    "adacanon.graphs",
    "adacanon.images",
    "adacanon.maximizers",
    "adacanon.points",
    "adacanon.spaces",
    "adacanon.testing",
    "adacanon.training",
)
"""All names of these packages are described with an example."""

NAMES = [(package, name) for package in PACKAGES for name in importlib.import_module(package).__all__]


def exported(package: ModuleType) -> set[str]:
    """What a package has imported from its own modules: public classes and functions, and no submodules."""
    own = {name: value for name, value in vars(package).items() if not name.startswith("_")}
    return {name for name, value in own.items() if _home(value).startswith(f"{package.__name__}.")}


def _home(value: Any) -> str:
    """The module that defines a class or a function; nothing for modules and other values."""
    return "" if isinstance(value, ModuleType) else getattr(value, "__module__", None) or ""


def is_run(line: str) -> bool:
    return line.strip().startswith(">>>") and "+SKIP" not in line


def in_order(names: list[str]) -> list[str]:
    """Constants, then classes, then functions, each by the alphabet, as the linter sorts them."""
    return sorted(names, key=lambda name: (0 if name.isupper() else 1 if name[0].isupper() else 2, name))


@pytest.mark.parametrize("package", PACKAGES)
class TestExports:
    def test_they_can_be_imported(self, package: str) -> None:
        module = importlib.import_module(package)
        assert module.__all__
        assert [name for name in module.__all__ if not hasattr(module, name)] == []

    def test_they_are_sorted_and_none_comes_twice(self, package: str) -> None:
        names = importlib.import_module(package).__all__
        assert len(set(names)) == len(names)
        assert names == in_order(names)

    def test_none_is_left_out(self, package: str) -> None:
        module = importlib.import_module(package)
        assert sorted(exported(module) - set(module.__all__)) == []


@pytest.mark.parametrize(("package", "name"), NAMES, ids=lambda part: part.removeprefix("adacanon."))
def test_every_name_is_described_with_an_example_that_is_run(package: str, name: str) -> None:
    documented = getattr(importlib.import_module(package), name).__doc__ or ""
    assert re.match(r"\s*\S", documented)
    assert any(is_run(line) for line in documented.splitlines())


def test_examples_that_are_skipped_do_not_count() -> None:
    assert is_run("    >>> load_tu('MUTAG')")
    assert not is_run("    >>> load_tu('MUTAG')  # doctest: +SKIP")
    assert not is_run("    load_tu('MUTAG')")
