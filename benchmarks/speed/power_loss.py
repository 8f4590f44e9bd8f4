"""A disk that forgets, when the power is lost, all that was not forced to it.

The model watches ``os.fsync`` in one process. Forcing a file keeps its bytes; forcing a folder keeps its names. Nothing
else survives: a name that was never forced is gone, and a file whose content was never forced is empty. Real disks
usually keep more, and may keep less of a database than its journal says: databases are torn at a random page.

    python -m benchmarks.speed.power_loss ROOT MEMORY PROGRAM [ARGUMENT ...]

runs a program, a module or a file, whose writes below ROOT are watched; ``lose_power(ROOT, MEMORY)`` then leaves of
ROOT what the disk remembers.
"""

import json
import os
import random
import runpy
import shutil
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

PAGE = 4096


@contextmanager
def forgetful_disk(root: Path, memory: Path) -> Iterator[None]:
    """Within the block, what is forced to the disk below a folder is remembered in another; what is there at the
    beginning counts as forced.
    """
    root, real = root.resolve(), os.fsync
    shutil.rmtree(memory, ignore_errors=True)
    (memory / "held").mkdir(parents=True)
    for place in [root, *root.rglob("*")]:
        _remember(place, memory)

    def fsync(file: int) -> None:
        real(file)
        place = Path(os.readlink(f"/proc/self/fd/{file}"))
        if place.is_relative_to(root):
            _remember(place, memory)

    os.fsync = fsync
    try:
        yield
    finally:
        os.fsync = real


def lose_power(root: Path, memory: Path, *, draw: random.Random | None = None) -> None:
    """Leave of a folder what the disk remembers.

    Args:
        draw: tears databases, which force their pages without ``os.fsync``; without one they are as in the beginning.
    """
    root = root.resolve()
    written = {file.relative_to(root): file.read_bytes() for file in root.rglob("*.sqlite")}
    number = root.stat().st_ino
    for place in list(root.iterdir()):
        shutil.rmtree(place) if place.is_dir() and not place.is_symlink() else place.unlink()
    _restore(root, number, memory)
    for name, content in written.items() if draw is not None else ():
        if (root / name.parent).is_dir():
            (root / name).write_bytes(_torn(_bytes_of(root / name), content, draw))


def _bytes_of(file: Path) -> bytes:
    return file.read_bytes() if file.exists() else b""


def _torn(before: bytes, after: bytes, draw: random.Random | None) -> bytes:
    """Every page as it was before or after."""
    assert draw is not None
    pages = range(0, max(len(before), len(after)), PAGE)
    return b"".join(draw.choice((before, after))[start : start + PAGE] for start in pages)


def _remember(place: Path, memory: Path) -> None:
    """The bytes of a file or the names in a folder, as they are now."""
    try:
        number = place.stat().st_ino
    except FileNotFoundError:
        return
    kept = memory / str(number)
    part = kept.with_suffix(".part")
    if place.is_dir():
        part.write_text(json.dumps({name: _number(place / name) for name in os.listdir(place)}))
    else:
        held = memory / "held" / str(number)
        if not held.exists():
            os.link(place, held)  # the file system must not give its number to another file
        shutil.copyfile(place, part)
    part.replace(kept)


def _number(place: Path) -> list[int]:
    """The number of a file in the file system, and whether it is a folder."""
    try:
        found = place.lstat()
    except FileNotFoundError:
        return [0, 0]
    return [found.st_ino, int(stat.S_ISDIR(found.st_mode))]


def _restore(folder: Path, number: int, memory: Path) -> None:
    kept = memory / str(number)
    names = json.loads(kept.read_text()) if kept.exists() else {}
    for name, (inner, is_folder) in names.items():
        if is_folder:
            (folder / name).mkdir()
            _restore(folder / name, inner, memory)
        elif inner:
            content = memory / str(inner)
            (folder / name).write_bytes(_bytes_of(content))


def _program(name: str) -> Callable[[], object]:
    """A file or a module as a program."""
    if name.endswith(".py"):
        return lambda: runpy.run_path(name, run_name="__main__")
    return lambda: runpy.run_module(name, run_name="__main__", alter_sys=True)


def main(arguments: list[str]) -> None:
    root, memory, program, *rest = arguments
    sys.argv = [program, *rest]
    Path(root).mkdir(parents=True, exist_ok=True)
    with forgetful_disk(Path(root), Path(memory)):
        _program(program)()


if __name__ == "__main__":
    main(sys.argv[1:])
