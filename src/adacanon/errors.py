"""One base class and its few children.

Every message says what was expected, what came, and what to do about it.
"""


class AdacanonError(Exception):
    """Base of every error that adacanon raises on purpose.

    Example:
        >>> from adacanon import RandomSearch
        >>> try:
        ...     RandomSearch(0)
        ... except AdacanonError as error:
        ...     print(type(error).__name__)
        InputError
    """


class ShapeError(AdacanonError, ValueError):
    """A tensor, batch or label array does not have the expected shape."""


class InputError(AdacanonError, ValueError):
    """An input holds values that cannot be used: NaN, infinite, out of range, empty."""


class ScoreError(AdacanonError, ArithmeticError):
    """The network gave a score that cannot be ranked."""


class SpaceError(AdacanonError, TypeError):
    """A space or family was asked for something that it does not have."""


class UnknownNameError(AdacanonError, LookupError):
    """A name (table, row, data set, option) is not known."""


class DataError(AdacanonError, OSError):
    """A data or record file is missing, malformed or incomplete."""


class MissingDataError(DataError):
    """A data set or its weights are not on this machine."""


class ExportError(AdacanonError, RuntimeError):
    """A model cannot be written to a file that runs without adacanon."""


class MissingPackageError(AdacanonError, ModuleNotFoundError):
    """An optional package is not installed."""


class UndeterminedWarning(UserWarning):
    """Inputs have no anchors of their own, such as symmetric shapes: the answers for them depend on their pose."""
