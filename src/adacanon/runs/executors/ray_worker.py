"""A call on a worker of a cluster: with the folders of the command, and errors that name the node."""

import os
import socket
from collections.abc import Callable
from typing import Any, TypeVar

from adacanon.errors import AdacanonError, DataError
from adacanon.folders import data_folder

T = TypeVar("T")


def called(function: Callable[..., T], arguments: tuple[Any, ...], threads: int, environment: dict[str, str]) -> T:
    """Call a function with some threads.

    Args:
        environment: variables that the command has. A node that is to have its own must have the same folders.
    """
    import torch

    os.environ.update(environment)
    torch.set_num_threads(threads)
    try:
        _check_data()
        return function(*arguments)
    except AdacanonError as error:
        error.add_note(f"on the node {socket.gethostname()}")
        raise


def _check_data() -> None:
    folder = data_folder()
    if folder is not None and not folder.is_dir():
        raise DataError(
            f"ADACANON_DATA is {folder}, and there is no such folder on the node {socket.gethostname()}. Hint: share "
            "the folder of data sets with all nodes, or copy it to the same place"
        )
