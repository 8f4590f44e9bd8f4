"""Arrays that were parsed from files, kept in the cache folder under the content of these files."""

import hashlib
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

from adacanon.checked_files import DamagedFileError, opened_checked, set_aside, write_checked
from adacanon.folders import cache_folder


def content_digest(files: Iterable[Path], what: str) -> str:
    """A hash of files and of what is made of them."""
    digest = hashlib.sha256(what.encode())
    for file in files:
        with file.open("rb") as stream:
            digest.update(hashlib.file_digest(stream, "sha256").digest())
    return digest.hexdigest()[:24]


def cached_arrays(name: str, digest: str, compute: Callable[[], dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """The arrays stored under a name and a digest, or those computed now, which are stored. A damaged file, or one of
    an earlier version without a checksum, is set aside and computed again; a full disk costs only the cache.
    """
    file = cache_folder() / "arrays" / f"{name}-{digest}.npz"
    found = _loaded(file)
    if found is not None:
        return found
    arrays = compute()
    try:
        write_checked(file, lambda stream: np.savez(stream, allow_pickle=False, **arrays))  # type: ignore[arg-type]
    except OSError as error:
        warnings.warn(f"{name} could not be cached in {file} ({error}); the work goes on", stacklevel=2)
    return arrays


def _loaded(file: Path) -> dict[str, np.ndarray] | None:
    try:
        with opened_checked(file) as stream, np.load(stream, allow_pickle=False) as archive:
            return {key: archive[key] for key in archive.files}
    except DamagedFileError as error:
        set_aside(file, error)
    except FileNotFoundError:
        pass
    except OSError as error:
        warnings.warn(f"{file} cannot be read ({error}); the work goes on without it", stacklevel=3)
    return None
