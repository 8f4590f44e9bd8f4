"""The files whose mutants are made, each with the tests that concern it, those that notice most of them first."""

from benchmarks.mutants.trial import ROOT

CORE = ("core", "objective", "temperature", "answers", "errors", "labels", "arguments", "automatic", "wrong_kinds")
FUSED = "tests/graphs/test_fused.py"
FOLDERS: dict[str, tuple[str, ...]] = {
    "adacanon/core": (*(f"tests/core/test_{name}.py" for name in CORE), "tests/core", FUSED),
    "adacanon/maximizers": ("tests/maximizers", "tests/core", FUSED),
    "adacanon/spaces": ("tests/spaces", "tests/core"),
}
"""Folders of which every file has its mutants."""

FILES: dict[str, tuple[str, ...]] = {
    "adacanon/training/checkpoint.py": ("tests/training/test_training.py", "tests/core/test_checkpoints_of_models.py"),
    "adacanon/training/records.py": ("tests/training/test_records.py", "tests/runs/test_runs.py"),
    "adacanon/checked_files.py": ("tests/test_checked_files.py",),
    "adacanon/files.py": ("tests/test_files.py", "tests/test_power_loss.py"),
}


def _targets() -> dict[str, tuple[str, ...]]:
    every: dict[str, tuple[str, ...]] = {}
    for folder, tests in FOLDERS.items():
        for file in sorted((ROOT / "src" / folder).glob("[!_]*.py")):
            every[f"{folder}/{file.name}"] = tests
    return every | FILES


TARGETS = _targets()
