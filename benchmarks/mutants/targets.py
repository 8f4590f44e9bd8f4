"""The files whose mutants are made, each with the tests that concern it."""

TARGETS: dict[str, tuple[str, ...]] = {
    "adacanon/core/prior.py": ("tests/core/test_core.py", "tests/core/test_answers.py"),
    "adacanon/core/shared_priors.py": ("tests/core/test_core.py", "tests/core/test_answers.py"),
    "adacanon/core/loss.py": ("tests/core/test_labels.py", "tests/core/test_objective.py"),
    "adacanon/core/objective.py": ("tests/core/test_objective.py",),
    "adacanon/core/canonicalized.py": ("tests/core/test_core.py", "tests/core/test_errors.py"),
    "adacanon/maximizers/selection.py": ("tests/maximizers/test_maximizers.py",),
    "adacanon/maximizers/ascent.py": ("tests/maximizers/test_maximizers.py",),
    "adacanon/maximizers/calibration.py": ("tests/maximizers/test_calibration.py",),
    "adacanon/spaces/circle.py": ("tests/spaces/test_spaces.py",),
    "adacanon/spaces/box.py": ("tests/spaces/test_spaces.py",),
    "adacanon/spaces/so3.py": ("tests/spaces/test_spaces.py",),
    "adacanon/training/checkpoint.py": ("tests/training/test_training.py",),
    "adacanon/training/records.py": ("tests/training/test_records.py",),
}
