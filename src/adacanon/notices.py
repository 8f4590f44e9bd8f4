"""Warnings that belong to a line of the caller, however deep in the library their reason is found."""

import sys
import warnings
from collections.abc import Iterable
from types import FrameType
from typing import Any

from torch import Tensor


def warn_caller(message: str, *, category: type[Warning] = UserWarning, repeated: bool = False) -> None:
    """Warn at the line outside adacanon and torch that led here.

    Args:
        message: what is so, what that means, and what to do.
        repeated: leave out Python's memory of warnings, which shows equal ones from one line only once.
    """
    frame = _calling_frame()
    memory = {} if repeated else frame.f_globals.setdefault("__warningregistry__", {})
    name = frame.f_globals.get("__name__")
    warnings.warn_explicit(message, category, frame.f_code.co_filename, frame.f_lineno, name, memory)


def warn_of_unread_features(graphs: Iterable[Any], *, edges: bool = True) -> None:
    """Warn of features of torch-geometric graphs that are not read, or not as they are meant.

    Args:
        graphs: with ``x`` (nodes, channels), and perhaps ``edge_attr``.
        edges: warn of edge features; not where the caller's own shift operator may read them.
    """
    graphs = list(graphs)
    if edges and any(_numel(getattr(graph, "edge_attr", None)) for graph in graphs):
        warn_caller(
            "The graphs have edge features, edge_attr, which this model does not read: x, edge_index and for A-NLSF "
            "edge_weight are all that counts. Hint: data.edge_attr = None where that is meant; ANLSFReadout behind an "
            "encoder reads them; for other A-NLSF, weights in data.edge_weight, or a function as shift operator"
        )
    if any(_may_be_categories(graph.x) for graph in graphs):
        warn_caller(
            "The node features x are whole numbers and are read as numbers: category 4 counts as twice category 2. "
            "Hint: categories as zeros and ones, data.x = torch.nn.functional.one_hot(category, number).float(), "
            "or an embedding of your own before the model; data.x = data.x.float() where they are numbers, such as "
            "counts"
        )


def _numel(features: Any) -> int:
    return features.numel() if isinstance(features, Tensor) else 0


def _may_be_categories(x: Any) -> bool:
    """Whole numbers other than zeros and ones, which may be one-hot already."""
    if not isinstance(x, Tensor) or x.is_floating_point() or x.is_complex():
        return False
    return bool(((x != 0) & (x != 1)).any())


def _calling_frame() -> FrameType:
    frame = sys._getframe()
    inside = ("adacanon", "torch", "contextlib")
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in inside:
        frame = frame.f_back
    return frame
