"""The files whose mutants are made."""

from benchmarks.mutants.reached import ROOT

FOLDERS = ("adacanon/core", "adacanon/maximizers", "adacanon/spaces")
"""Of these every file has its mutants: priors, losses and the objective are in the core."""
FILES = (
    "adacanon/training/checkpoint.py",
    "adacanon/training/records.py",
    "adacanon/checked_files.py",
    "adacanon/files.py",
)

TARGETS: tuple[str, ...] = (
    *(f"{folder}/{path.name}" for folder in FOLDERS for path in sorted((ROOT / "src" / folder).glob("[!_]*.py"))),
    *FILES,
)
