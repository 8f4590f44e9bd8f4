"""Arrays that were parsed from files, kept in the cache folder under the content of these files."""

import hashlib
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

from adacanon.data.arrays import DAMAGE
from adacanon.files import write_whole
from adacanon.folders import cache_folder


def content_digest(files: Iterable[Path], what: str) -> str:
    """A hash of files and of what is made of them."""
    digest = hashlib.sha256(what.encode())
    for file in files:
        with file.open("rb") as stream:
            digest.update(hashlib.file_digest(stream, "sha256").digest())
    return digest.hexdigest()[:24]


def cached_arrays(name: str, digest: str, compute: Callable[[], dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """The arrays stored under a name and a digest, or those computed now, which are stored. A damaged file is set
    aside; a full disk costs only the cache.
    """
    file = cache_folder() / "arrays" / f"{name}-{digest}.npz"
    found = _loaded(file)
    if found is not None:
        return found
    arrays = compute()
    try:
        write_whole(file, lambda stream: np.savez(stream, allow_pickle=False, **arrays))  # type: ignore[arg-type]
    except OSError as error:
        warnings.warn(f"{name} could not be cached in {file} ({error}); the work goes on", stacklevel=2)
    return arrays


def _loaded(file: Path) -> dict[str, np.ndarray] | None:
    if not file.is_file():
        return None
    try:
        with file.open("rb") as stream, np.load(stream) as archive:
            return {key: archive[key] for key in archive.files}
    except DAMAGE as error:
        aside = file.with_suffix(".broken")
        file.replace(aside)
        warnings.warn(f"{file} cannot be read ({error}); the file is now {aside}", stacklevel=3)
        return None
