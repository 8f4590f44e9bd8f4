"""The packages of the API reference, their public names, and the page on which each name is described."""

import importlib
import inspect
from dataclasses import dataclass
from functools import cache

PACKAGES = (
    "adacanon",
    "adacanon.core",
    "adacanon.spaces",
    "adacanon.maximizers",
    "adacanon.points",
    "adacanon.images",
    "adacanon.graphs",
    "adacanon.frozen",
    "adacanon.diagnosis",
    "adacanon.explain",
    "adacanon.distillation",
    "adacanon.deployment",
    "adacanon.testing",
    "adacanon.data",
    "adacanon.training",
    "adacanon.baselines.clouds",
    "adacanon.baselines.graphs",
)
"""One page for each, in this order."""


@dataclass(frozen=True)
class PublicName:
    """A public name of a package, and the package on whose page it is described.

    Attributes:
        home: the most deeply nested package that exports the same object: ``adacanon.core`` for
            ``adacanon.Canonicalized``.
    """

    package: str
    name: str
    home: str

    @property
    def identifier(self) -> str:
        return f"{self.home}.{self.name}"

    @property
    def described_here(self) -> bool:
        return self.home == self.package

    @property
    def value(self) -> object:
        return getattr(importlib.import_module(self.package), self.name)


def names_of(package: str) -> list[str]:
    """``__all__``, or for a module without it the public classes and functions that it defines."""
    module = importlib.import_module(package)
    own = [name for name, value in vars(module).items() if getattr(value, "__module__", "") == package]
    return list(getattr(module, "__all__", [name for name in own if not name.startswith("_")]))


@cache
def public_names() -> tuple[PublicName, ...]:
    exported = [(package, name) for package in PACKAGES for name in names_of(package)]
    homes: dict[int, str] = {}
    for package, name in sorted(exported, key=lambda pair: pair[0].count(".")):
        homes[id(getattr(importlib.import_module(package), name))] = package
    values = (getattr(importlib.import_module(package), name) for package, name in exported)
    return tuple(PublicName(*pair, homes[id(value)]) for pair, value in zip(exported, values, strict=True))


def identifier_of(target: str, inside: str) -> str | None:
    """The described name that a docstring of the module ``inside`` means by ``target``, or None if it is not public.

    Example:
        >>> identifier_of("Rotations", inside="adacanon.points.rotations")
        'adacanon.points.Rotations'
        >>> identifier_of("adacanon.core.soft.Temperature", inside="adacanon.core.canonicalized")
        'adacanon.core.Temperature'
        >>> identifier_of("Family.act", inside="adacanon.testing.equivariance")
        'adacanon.core.Family.act'
    """
    path, _, last = target.rpartition(".")
    if path[:1].isupper():
        owner = identifier_of(path, inside)
        return owner and f"{owner}.{last}"
    homes = {name.home for name in public_names() if name.name == last}
    homes = {home for home in homes if not path or _within(path, home)}
    beside = {home for home in homes if _within(inside, home)} or homes
    return f"{beside.pop()}.{last}" if len(beside) == 1 else None


def _within(module: str, package: str) -> bool:
    return f"{module}.".startswith(f"{package}.")


def summary_of(value: object) -> str:
    """The first sentence of a docstring."""
    paragraph = (inspect.getdoc(value) or "").split("\n\n")[0].replace("\n", " ")
    return paragraph.split(". ")[0].rstrip(".:;")
