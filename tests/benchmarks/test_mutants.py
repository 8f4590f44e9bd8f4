"""The mutants of ``make mutants``: what is changed, who notices, and laws whose breach no other test noticed."""

import ast
import os
from pathlib import Path

import pytest
import torch
from benchmarks.mutants.changes import mutants
from benchmarks.mutants.named import NAMED
from benchmarks.mutants.patched import changed_functions, library_functions
from benchmarks.mutants.reached import ROOT, UNIVERSE, Reached
from benchmarks.mutants.selection import Selection
from benchmarks.mutants.survivors import EQUIVALENT
from benchmarks.mutants.targets import TARGETS
from benchmarks.mutants.trial import _told
from torch import nn
from torch_geometric.data import Data

from adacanon import Canonicalized, Objective, RandomSearch
from adacanon.core import Canonical
from adacanon.diagnosis.readings import Answers, reading, share_changed
from adacanon.errors import InputError
from adacanon.graphs.shift_operators import shift_matrix
from adacanon.maximizers import Calibration
from adacanon.points import Rotations
from adacanon.training import append_record
from cases.networks import clouds, normalised_network


def test_every_mutant_is_another_program_that_compiles() -> None:
    source = "def f(x, y):\n    if x < 1 and not y:\n        return -x * 2.5\n    return x if y else 0\n"
    found = list(mutants(source))
    assert len({mutant.source for mutant in found}) == len(found) >= 9
    for mutant in found:
        compile(mutant.source, "mutant", "exec")


def test_mutants_by_hand_fit_the_code_and_name_tests_that_exist() -> None:
    for law, file, old, new, tests in NAMED:
        assert (ROOT / "src" / file).read_text(encoding="utf-8").count(old) == 1, law
        assert old != new
        assert all((ROOT / test).is_file() for test in tests)
    assert all((ROOT / "src" / file).is_file() for file in TARGETS)
    assert all((ROOT / test).exists() for test in UNIVERSE)


def test_every_mutant_that_is_no_other_program_is_one_of_the_code() -> None:
    """Reasons are given for changes that are still made."""
    for file, _, words in EQUIVALENT:
        plain = ast.unparse(ast.parse((ROOT / "src" / file).read_text(encoding="utf-8")))
        assert words.partition(" -> ")[0].removeprefix("if ") in plain, (file, words)


def test_a_mutant_knows_the_outermost_function_that_it_is_in() -> None:
    source = "a = 1\nclass C:\n    b = 2\n    def f(self, c=3):\n        def g():\n            return 4\n"
    found = {mutant.words.partition(" ")[0]: mutant.scope for mutant in mutants(source)}
    assert found == {"1": "", "2": "C", "3": "C.f", "4": "C.f"}


def test_what_imports_alone_see_changes_no_function() -> None:
    """A changed line of a function gives that function other code; a changed default does not."""
    file = "adacanon/core/canonical.py"
    source = (ROOT / "src" / file).read_text(encoding="utf-8")
    every = {(mutant.scope, mutant.words): mutant.tree for mutant in mutants(source)}
    living = library_functions()
    ((function, code),) = changed_functions(living, file, every["Canonical.forms", "2 -> 3"], "Canonical.forms")
    assert function is Canonical.forms
    assert code != function.__code__
    assert changed_functions(living, file, every["Canonical.save", "8 -> 9"], "Canonical.save") == []


def test_short_tests_of_the_changed_function_come_first() -> None:
    known = {
        "t.py::broad": Reached(1.0, frozenset({"f.py:C.m", "f.py:g", "f.py:h"})),
        "t.py::narrow[1]": Reached(1.0, frozenset({"f.py:C.m"})),
        "t.py::narrow[2]": Reached(1.0, frozenset({"f.py:C.m"})),
        "t.py::beside": Reached(0.1, frozenset({"f.py:g"})),
        "t.py::elsewhere": Reached(0.1, frozenset({"e.py:C.m"})),
    }
    found = Selection(known)
    assert found.tests("f.py", "C.m", seconds=9) == [
        *("t.py::narrow[1]", "t.py::broad", "t.py::narrow[2]"),
        "t.py::beside",
    ]
    assert found.tests("f.py", "C", seconds=9)[0] == "t.py::narrow[1]"
    assert found.tests("f.py", "C.m", seconds=0.5) == ["t.py::narrow[1]"]


@pytest.mark.parametrize(("code", "fate"), [(0, "survived"), (1, "killed"), (3, "survived"), (4, "survived")])
def test_an_error_of_pytest_itself_notices_nothing(code: int, fate: str) -> None:
    reader, writer = os.pipe()
    os.close(writer)
    assert _told(code, reader).fate == fate


class Rows(nn.Module):
    """Remembers how many rows every pass with gradients had."""

    def __init__(self) -> None:
        super().__init__()
        self.inner, self.seen = normalised_network(), list[int]()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if torch.is_grad_enabled():
            self.seen.append(len(x))
        return self.inner(x)


def test_training_batches_are_not_split_by_chunks() -> None:
    network = Rows()
    objective = Objective(Canonicalized(network, Rotations(), RandomSearch(3), chunk_size=2)).train()
    objective(clouds(5), torch.tensor([0, 1, 2, 0, 1]))
    assert len(network.seen) == 1


@pytest.mark.parametrize("asymmetry", [1e-6, 1e-8])
def test_an_operator_that_is_not_symmetric_by_a_millionth_is_refused(asymmetry: float) -> None:
    matrix = torch.eye(3, dtype=torch.float64)
    matrix[0, 1] = asymmetry
    with pytest.raises(InputError, match="must be symmetric"):
        shift_matrix(Data(x=torch.ones(3, 1), edge_index=torch.zeros(2, 0, dtype=torch.int64)), lambda graph: matrix)


def test_a_calibration_follows_the_slope_of_its_moments() -> None:
    """Of y = 3x with mean 0 and variance 1 it makes 3x, up to the tenth of evidence for a slope of one."""
    known = Calibration()
    known.moments = torch.tensor([[0.0, 0.0], [0.0, 0.0], [1.0, 1.0], [3.0, 1.0]])
    torch.testing.assert_close(known(torch.tensor([2.0, 2.0])), torch.tensor([2 * 3.1 / 1.1, 2.0]))


def test_the_calibration_error_of_the_doctor_adds_gaps_of_both_signs() -> None:
    """Half of the answers say 95 % and are wrong, half say 55 % and are right: 0.95 / 2 + 0.45 / 2."""
    given = Answers(torch.tensor([0, 0, 1, 1]), torch.tensor([0.95, 0.95, 0.55, 0.55], dtype=torch.float64))
    assert reading(given, torch.tensor([1, 1, 1, 1])).calibration_error == pytest.approx(70)


def test_the_changed_share_counts_predictions_that_differ() -> None:
    assert share_changed(torch.tensor([0, 1, 2, 3]), torch.tensor([0, 1, 2, 0])) == 25


def test_a_record_is_forced_to_the_disk_before_it_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    forced: set[int] = set()
    monkeypatch.setattr(os, "fsync", lambda descriptor: forced.add(os.fstat(descriptor).st_ino))
    append_record(tmp_path / "t.jsonl", {"a": 1})
    assert (tmp_path / "t.jsonl").stat().st_ino in forced
