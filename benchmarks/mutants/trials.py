"""What is known of mutants that were tried before: a run that was stopped goes on, and repeats nothing.

A mutant that a test noticed stays noticed while that test's file is the same. One that survived is tried again when any
file of tests has changed.
"""

import json
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path

from benchmarks.mutants.changes import Mutant
from benchmarks.mutants.reached import ROOT, digest
from benchmarks.mutants.trial import Outcome


@dataclass(frozen=True)
class Trial:
    """A mutant, what came of it, and the state of the tests."""

    key: str
    file: str
    line: int
    words: str
    outcome: Outcome
    tests: str


class Trials:
    """The trials in a file, one line each."""

    def __init__(self, path: Path, all_tests: str) -> None:
        self.path, self.all_tests = path, all_tests
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        rows = [json.loads(line) for line in lines]
        self.known = {row["key"]: Trial(**{**row, "outcome": Outcome(**row["outcome"])}) for row in rows}

    def outcome(self, file: str, mutant: Mutant) -> Outcome | None:
        trial = self.known.get(key_of(file, mutant))
        return trial.outcome if trial and trial.tests == self._tests_of(trial.outcome) else None

    def latest(self, file: str, mutant: Mutant) -> Outcome | None:
        """Whatever tests there are now."""
        trial = self.known.get(key_of(file, mutant))
        return trial.outcome if trial else None

    def add(self, file: str, mutant: Mutant, outcome: Outcome) -> None:
        key = key_of(file, mutant)
        trial = Trial(key, file, mutant.line, mutant.words, outcome, self._tests_of(outcome))
        self.known[key] = trial
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(asdict(trial)) + "\n")

    def _tests_of(self, outcome: Outcome) -> str:
        file = outcome.noticed_by.partition("::")[0]
        if outcome.fate == "survived":
            return self.all_tests
        return digest(file) if file and (ROOT / file).is_file() else ""


def key_of(file: str, mutant: Mutant) -> str:
    return sha256(f"{file}\n{mutant.source}".encode()).hexdigest()[:20]
