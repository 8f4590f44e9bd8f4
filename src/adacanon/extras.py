"""Optional packages: which extra brings each, and what to say where one is missing."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from adacanon.errors import MissingPackageError

EXTRAS = {
    "tyro": "experiments",
    "rich": "experiments",
    "jinja2": "experiments",
    "matplotlib": "experiments",
    "optuna": "experiments",
    "PIL": "experiments",
    "torch_geometric": "graphs",
    "scipy": "points",
    "safetensors": "images",
    "onnx_ir": "export",
    "onnxscript": "export",
    "onnxruntime": "export",
    "ray": "cluster",
    "lightning": "devices",
}
"""The extra that brings a module; ``experiments`` brings all of them but those of ``export``, ``cluster`` and
``devices``.
"""

PACKAGES = {"PIL": "pillow", "torch_geometric": "torch-geometric", "onnx_ir": "onnx"}
"""Names of packages that differ from those of their modules."""


@contextmanager
def optional(purpose: str) -> Iterator[None]:
    """Around the import of an optional package: where it is missing, the error says how to get it.

    Args:
        purpose: what needs it, the beginning of a sentence.

    Example:
        >>> with optional("The distance of multisets"):
        ...     from scipy.optimize import linear_sum_assignment
    """
    try:
        yield
    except ModuleNotFoundError as error:
        raise missing_package(error, purpose) from error


def missing_package(error: ModuleNotFoundError, purpose: str) -> ModuleNotFoundError:
    """The error for a package that an extra brings; any other error as it is."""
    module = (error.name or "").partition(".")[0]
    if module not in EXTRAS:
        return error
    return MissingPackageError(
        f"{purpose} needs {PACKAGES.get(module, module)}, which is not installed. Hint: {install(EXTRAS[module])}"
    )


def install(extra: str) -> str:
    """The command that gets an extra."""
    return f'pip install "adacanon[{extra}]"'


def missing_packages() -> list[str]:
    """The optional packages that are not installed."""
    return [PACKAGES.get(module, module) for module in EXTRAS if not is_installed(module)]


def is_installed(module: str) -> bool:
    """Whether a module can be imported; it is not imported."""
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False
