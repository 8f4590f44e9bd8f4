"""A database of bytes under names, in which damage is noticed row by row, and which does not grow beyond a limit.

Every row has a checksum of its name, its place and its content. A row with another checksum is removed and counts as
missing. A database that cannot be read at all is set aside. Rows of earlier versions have no checksum: they are never
read, and are the first to go when room is needed.
"""

import hashlib
import os
import sqlite3
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from adacanon.checked_files import set_aside
from adacanon.errors import InputError
from adacanon.files import make_folder
from adacanon.folders import cache_folder

PIECE = 2**28
"""Bytes in one row. SQLite takes a thousand million at most; the spectrum of 16,384 nodes has twice as many."""

LIMIT = "ADACANON_SPECTRA_LIMIT"
DEFAULT_LIMIT = 8192
"""Megabytes of the database, if the environment variable does not say otherwise."""

WAIT = 30
"""Seconds to wait for another process that writes."""

NO_DAMAGE = {
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_AUTH,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_PROTOCOL,
}
"""Primary result codes that speak of the disk or of other processes, and not of the content."""

LAYOUT = (
    "CREATE TABLE IF NOT EXISTS checked_spectra"
    " (digest TEXT, piece INTEGER, pieces INTEGER, content BLOB, checksum BLOB, PRIMARY KEY (digest, piece))"
)


def database_file() -> Path:
    """Where the database is."""
    return cache_folder() / "spectra.sqlite"


def load_blobs(names: Iterable[str]) -> dict[str, bytearray]:
    """What is stored under names, as far as it is there, undamaged and can be read just now."""
    if not database_file().exists():
        return {}
    found: dict[str, bytearray] = {}
    with _noticed(), _connected() as database:
        if _has_table(database, "checked_spectra"):
            for name in names:
                content = _content(database, name)
                if content is not None:
                    found[name] = content
    return found


def stored_names(names: Iterable[str]) -> set[str]:
    """Those of some names under which all pieces are there. Nothing is read, so that damage is not seen."""
    if not database_file().exists():
        return set()
    found: set[str] = set()
    query = "SELECT count(*) > 0 AND count(*) = max(pieces) FROM checked_spectra WHERE digest = ?"
    with _noticed(), _connected() as database:
        if _has_table(database, "checked_spectra"):
            found.update(name for name in names if database.execute(query, (name,)).fetchone()[0])
    return found


def store_blobs(blobs: Mapping[str, memoryview]) -> None:
    """Store all in one transaction. A full disk or a folder that cannot be written costs only the cache."""
    limit = limit_of_store()
    fits = {name: content for name, content in blobs.items() if content.nbytes <= limit}
    if len(fits) < len(blobs):
        warnings.warn(
            f"{len(blobs) - len(fits)} spectra of more than {limit >> 20} MB were not cached. Hint: set {LIMIT}, in "
            "megabytes",
            stacklevel=3,
        )
    try:
        make_folder(database_file().parent)
        with _noticed(missing_is_fine=False), _connected() as database:
            database.execute("BEGIN IMMEDIATE")
            database.execute(LAYOUT)
            _make_room(database, limit - sum(content.nbytes for content in fits.values()))
            for name, content in fits.items():
                _insert(database, name, content)
            _make_room(database, limit)
            database.execute("COMMIT")
    except (OSError, sqlite3.Error) as error:
        warnings.warn(f"Spectra could not be cached in {database_file()} ({error}); the work goes on", stacklevel=3)


def limit_of_store() -> int:
    """Bytes that the database may take, from ``ADACANON_SPECTRA_LIMIT`` in megabytes."""
    given = os.environ.get(LIMIT) or str(DEFAULT_LIMIT)
    if not (given.isascii() and given.isdigit()):
        raise InputError(f"{LIMIT} must be a whole number of megabytes, got {given!r}. Hint: {LIMIT}={DEFAULT_LIMIT}")
    return int(given) << 20


@contextmanager
def _connected() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(database_file(), timeout=WAIT, isolation_level=None)) as database:
        database.text_factory = bytes  # damaged text would be an error of its own kind
        database.execute("PRAGMA cell_size_check = ON")
        yield database


@contextmanager
def _noticed(*, missing_is_fine: bool = True) -> Iterator[None]:
    """A damaged database is set aside; one that cannot be used just now is left alone."""
    try:
        yield
    except (sqlite3.Error, UnicodeDecodeError) as error:  # messages may quote damaged text
        if getattr(error, "sqlite_errorcode", 0) & 0xFF not in NO_DAMAGE:
            journal = database_file().with_name(f"{database_file().name}-journal")
            with suppress(OSError):
                journal.unlink(missing_ok=True)  # it would be played back into the next database
            set_aside(database_file(), error, then="spectra are computed again")
        elif not missing_is_fine:
            raise


def _has_table(database: sqlite3.Connection, name: str) -> bool:
    query = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?"
    return database.execute(query, (name,)).fetchone() is not None


def _content(database: sqlite3.Connection, name: str) -> bytearray | None:
    """The joined pieces of a name, or None; damaged ones are removed."""
    query = "SELECT piece, pieces, content, checksum FROM checked_spectra WHERE digest = ? ORDER BY piece"
    joined, place, pieces = bytearray(), 0, 0
    for piece, pieces, content, checksum in database.execute(query, (name,)):
        if not isinstance(content, bytes) or checksum != _checksum(name, place, pieces, content) or piece != place:
            _remove(database, name)
            return None
        joined += content
        place += 1
    if place != pieces:
        _remove(database, name)
    return joined if 0 < place == pieces else None


def _remove(database: sqlite3.Connection, name: str) -> None:
    with suppress(sqlite3.OperationalError):  # somebody else writes, or nobody may
        database.execute("DELETE FROM checked_spectra WHERE digest = ?", (name,))
    warnings.warn(
        f"The cached spectrum {name[:16]} in {database_file()} is damaged, its checksum does not match. It was removed "
        "and is computed again",
        stacklevel=4,
    )


def _insert(database: sqlite3.Connection, name: str, content: memoryview) -> None:
    parts = [content[start : start + PIECE] for start in range(0, content.nbytes, PIECE)]
    for piece, part in enumerate(parts):
        row = (name, piece, len(parts), part, _checksum(name, piece, len(parts), part))
        database.execute("INSERT OR REPLACE INTO checked_spectra VALUES (?, ?, ?, ?, ?)", row)


def _checksum(name: str, piece: object, pieces: object, content: bytes | memoryview) -> bytes:
    digest = hashlib.sha256(f"{name} {piece} {pieces} ".encode())
    digest.update(content)
    return digest.digest()


def _make_room(database: sqlite3.Connection, limit: int) -> None:
    """Remove what was stored first until the pages in use fit; the file keeps their room for what comes."""
    if _used(database) > limit:
        database.execute("DROP TABLE IF EXISTS spectra")  # of an earlier version, without checksums
    if _used(database) <= limit:
        return
    query = "SELECT min(rowid), sum(length(content)) FROM checked_spectra GROUP BY digest ORDER BY min(rowid)"
    oldest = "SELECT digest FROM checked_spectra WHERE rowid = ?"
    excess = _used(database) - limit
    for row, size in database.execute(query).fetchall():
        database.execute(f"DELETE FROM checked_spectra WHERE digest IS ({oldest})", (row,))
        excess -= size or 0
        if excess <= 0:
            return


def _used(database: sqlite3.Connection) -> int:
    """Bytes of the pages that hold something."""
    pages, free, size = (
        int(database.execute(f"PRAGMA {name}").fetchone()[0]) for name in ("page_count", "freelist_count", "page_size")
    )
    return (pages - free) * size
