"""The cache folder of smoke runs: they read what the user's holds and write into one that is removed."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from adacanon.folders import cache_folder

DERIVED = ("arrays", "coefficients", "features", "networks", "spectra.sqlite", "stability")
"""What runs write to the cache folder. Everything else in it is data sets and weights, which are only read."""

OF_ONE_RUN = ("stability",)
"""States of unfinished trainings, which no other run may go on from."""


class SmokeCache:
    """A folder for what the smoke runs of a command derive from their data, removed with the block."""

    def __enter__(self) -> "SmokeCache":
        self._temporary = tempfile.TemporaryDirectory(prefix="adacanon-smoke-")
        self._shared = Path(self._temporary.name) / "shared"
        self._shared.mkdir()
        for name in DERIVED:
            if "." not in name:
                (self._shared / name).mkdir()
        return self

    def __exit__(self, *error: object) -> None:
        self._temporary.cleanup()

    @contextmanager
    def of_one_run(self) -> Iterator[Path]:
        """A cache folder for one run: the user's data, what the runs of the command share, and room of its own."""
        with tempfile.TemporaryDirectory(dir=self._temporary.name) as name:
            folder, user = Path(name), cache_folder()
            for entry in user.iterdir() if user.is_dir() else ():
                if entry.name not in DERIVED:
                    (folder / entry.name).symlink_to(entry.resolve())
            for entry_name in DERIVED:
                if entry_name not in OF_ONE_RUN:
                    (folder / entry_name).symlink_to(self._shared / entry_name)
            yield folder

    @staticmethod
    def enter(folder: Path) -> None:
        """Make a folder the cache folder of this process."""
        os.environ["ADACANON_CACHE"] = str(folder)
