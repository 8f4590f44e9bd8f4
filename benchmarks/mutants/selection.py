"""Which tests a mutant meets, the most likely to notice it first."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping

from benchmarks.mutants.reached import Reached

FIRST = 20
"""Tests of the first trial; a mutant that survives meets the others."""


class Selection:
    """Finds the tests of a mutant among all that are known."""

    def __init__(self, known: Mapping[str, Reached]) -> None:
        self.known = known
        self._entering = defaultdict[str, dict[str, None]](dict)
        for test, reached in known.items():
            for name in reached.functions:
                for place in _places(name):
                    self._entering[place][test] = None
        self._found: dict[tuple[str, str, float], list[str]] = {}

    def tests(self, file: str, scope: str, *, seconds: float) -> list[str]:
        """Tests that enter the changed function or class, then those that enter others of its file.

        Among them, short tests that enter few functions come first: they are about this one. Of a test with many cases
        one comes first, because they often notice the same. Tests that take more than some seconds together are left
        out, but for one.
        """
        if (file, scope, seconds) not in self._found:
            near, far = self._entering[f"{file}:{scope}"], self._entering[f"{file}:"]
            ordered = dict.fromkeys([*_ordered(near, self.known), *_ordered(far, self.known)])
            self._found[file, scope, seconds] = list(_within(ordered, self.known, seconds))
        return self._found[file, scope, seconds]


def _places(function: str) -> Iterator[str]:
    """``file:Class.method``, ``file:Class`` and ``file:``."""
    file, _, name = function.partition(":")
    parts = name.split(".")
    yield from (f"{file}:{'.'.join(parts[:count])}" for count in range(len(parts) + 1))


def seconds_of(tests: Iterable[str], known: Mapping[str, Reached]) -> float:
    return sum(known[test].seconds for test in tests if test in known)


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
