"""The rows of `qm9-validation` with three digits, from the committed records."""

from adacanon.experiments.molecules.qm9_validation import QM9_VALIDATION
from benchmarks.clouds.molecules import errors, values_of
from benchmarks.frame import measure


def rows() -> list[measure.Row]:
    """One line for every row of the table."""
    return [errors(values, QM9_VALIDATION, name) for name, values in values_of(QM9_VALIDATION)]


def main() -> None:
    options = measure.start(measure.options(__doc__ or ""))
    measure.report(rows(), title="Molecules: errors on the validation part", path=options.json)


if __name__ == "__main__":
    main()
