"""Where files live: data sets that are only read, and derived or fetched files."""

import os
from pathlib import Path


def data_folder() -> Path | None:
    """The user's folder of data sets, ``ADACANON_DATA``, which is never written to; None if it is not set."""
    folder = os.environ.get("ADACANON_DATA")
    return Path(folder) if folder else None


def cache_folder() -> Path:
    """Where derived and fetched files go: ``ADACANON_CACHE``, or adacanon's folder in the user's cache. An empty
    variable counts as one that is not set.
    """
    default = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "adacanon"
    return Path(os.environ.get("ADACANON_CACHE") or default)
