"""Which tests a mutant meets, the most likely to notice it first."""

from collections import Counter
from collections.abc import Iterable, Mapping

from benchmarks.mutants.reached import Reached

FIRST = 20
"""Tests of the first trial; a mutant that survives meets the others."""


def tests_for(file: str, scope: str, known: Mapping[str, Reached], *, seconds: float) -> list[str]:
    """Tests that enter the changed function, then those that enter others of its file.

    Among them, short tests that enter few functions come first: they are about this one. Of a test with many cases one
    comes first, because they often notice the same. Tests that take more than some
    seconds together are left out, but for one.
    """
    near = [test for test, reached in known.items() if _enters(reached.functions, file, scope)]
    far = [test for test, reached in known.items() if _enters(reached.functions, file, "")]
    ordered = dict.fromkeys([*_ordered(near, known), *_ordered(far, known)])
    return list(_within(ordered, known, seconds))


def seconds_of(tests: Iterable[str], known: Mapping[str, Reached]) -> float:
    return sum(known[test].seconds for test in tests if test in known)


def _enters(functions: frozenset[str], file: str, scope: str) -> bool:
    if f"{file}:{scope}" in functions:
        return True
    start = f"{file}:{scope}." if scope else f"{file}:"
    return any(name.startswith(start) for name in functions)


def _ordered(tests: Iterable[str], known: Mapping[str, Reached]) -> list[str]:
    """By cost, one case of every test before the second case of any."""
    cases = Counter[str]()
    places: dict[str, int] = {}
    by_cost = sorted(tests, key=lambda test: (known[test].seconds + 0.05) * len(known[test].functions))
    for test in by_cost:
        places[test] = cases[test.partition("[")[0]]
        cases[test.partition("[")[0]] += 1
    return sorted(by_cost, key=places.__getitem__)


def _within(tests: Iterable[str], known: Mapping[str, Reached], seconds: float) -> Iterable[str]:
    total, count = 0.0, 0
    for test in tests:
        total += known[test].seconds
        if total <= seconds or count == 0:
            count += 1
            yield test
