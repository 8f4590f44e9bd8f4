"""Mutants by hand, each of which breaks one law that must not be broken unnoticed."""

from typing import NamedTuple


class Named(NamedTuple):
    """A law, the text that keeps it, what breaks it, and the tests that must notice."""

    law: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]


ERRORS, LAWS = "tests/core/test_errors.py", "tests/benchmarks/test_mutants.py"
NAMED: tuple[Named, ...] = (
    Named(
        "training batches are not split by chunks",
        "adacanon/core/canonicalized.py",
        "if chunk_size is None or _learns(network):",
        "if chunk_size is None:",
        (LAWS,),
    ),
    Named(
        "a search leaves the training flags alone",
        "adacanon/core/evaluation_mode.py",
        "vars(twins[id(module)]).update(state, training=False)",
        "vars(twins[id(module)]).update(state)",
        ("tests/core/test_threads.py",),
    ),
    Named(
        "NaN is no certainty",
        "adacanon/core/shared_priors.py",
        "plogp = torch.where(log_p == -torch.inf, 0.0, log_p.exp() * log_p)",
        "plogp = torch.nan_to_num(log_p.exp() * log_p)",
        (ERRORS,),
    ),
    Named(
        "files are replaced in one step",
        "adacanon/files.py",
        "        _write(part, content)\n        part.replace(path)",
        "        _write(path, content)",
        ("tests/test_files.py",),
    ),
    Named(
        "records are forced to the disk",
        "adacanon/training/records.py",
        "os.fsync(stream.fileno())",
        "pass",
        (LAWS,),
    ),
    Named(
        "shift operators are symmetric",
        "adacanon/graphs/shift_operators.py",
        "if asymmetry > 1e-9 * max(scale, 1.0):",
        "if asymmetry > 1e-3 * max(scale, 1.0):",
        (LAWS,),
    ),
    Named(
        "a calibration learns the slope",
        "adacanon/maximizers/calibration.py",
        "return y + slope * (values - x)",
        "return y + (values - x)",
        (LAWS,),
    ),
    Named(
        "a calibration believes in a slope of one until there is evidence",
        "adacanon/maximizers/calibration.py",
        "prior = spread.mean() / 10",
        "prior = spread.mean() * 10",
        (LAWS,),
    ),
    Named(
        "the doctor's calibration error is a weighted mean of gaps",
        "adacanon/diagnosis/readings.py",
        "sum(b.share * abs(b.accuracy - b.confidence) for b in bins) / 100",
        "sum(b.share * (b.accuracy - b.confidence) for b in bins) / 100",
        (LAWS,),
    ),
    Named(
        "the doctor's changed share counts predictions that differ",
        "adacanon/diagnosis/readings.py",
        "(first != second)",
        "(first == second)",
        (LAWS,),
    ),
)
