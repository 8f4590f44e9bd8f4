"""Arrays that were parsed from files, kept in the cache folder under the content of these files."""

import hashlib
import warnings
from collections.abc import Callable, Iterable
from contextlib import suppress
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
    found = stored_arrays(name, digest)
    if found is None:
        found = compute()
        store_arrays(name, digest, found)
    return found


def store_arrays(name: str, digest: str, arrays: dict[str, np.ndarray]) -> None:
    """Keep arrays under a name and a digest; a full disk costs only the cache."""
    file = _file(name, digest)
    try:
        write_checked(file, lambda stream: np.savez(stream, allow_pickle=False, **arrays))  # type: ignore[arg-type]
    except OSError as error:
        warnings.warn(f"{name} could not be cached in {file} ({error}); the work goes on", stacklevel=3)


def remove_arrays(name: str, digest: str) -> None:
    """Remove what is kept under a name and a digest, if anything."""
    with suppress(OSError):
        _file(name, digest).unlink(missing_ok=True)


def remove_arrays_named(beginning: str) -> None:
    """Remove all that is kept under names that begin like this."""
    with suppress(OSError):
        for file in (cache_folder() / "arrays").glob(f"{beginning}-*.npz"):
            file.unlink(missing_ok=True)


def is_stored(name: str, digest: str) -> bool:
    """Whether anything is kept under a name and a digest."""
    return _file(name, digest).is_file()


def _file(name: str, digest: str) -> Path:
    return cache_folder() / "arrays" / f"{name}-{digest}.npz"


def stored_arrays(name: str, digest: str) -> dict[str, np.ndarray] | None:
    """What is kept under a name and a digest; None if there is nothing, or a damaged file, which is set aside."""
    file = _file(name, digest)
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
