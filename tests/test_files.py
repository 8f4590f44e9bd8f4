"""Files are on the disk whole or not at all: full disks, killed writers, several writers, devices."""

import errno
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO

import pytest

from adacanon.files import write_whole
from cases.full_disk import files_limited_to


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "folder" / "file.bin"


def names(file: Path) -> list[str]:
    return sorted(other.name for other in file.parent.iterdir())


def test_content_is_given_or_written_by_a_function_and_folders_are_made(file: Path) -> None:
    for content in (b"given", memoryview(b"viewed"), lambda stream: stream.write(b"written")):
        write_whole(file, content)
        assert file.read_bytes() == (b"written" if callable(content) else bytes(content))
        assert names(file) == ["file.bin"]


def test_the_file_may_be_read_by_those_who_may_read_any_other(file: Path) -> None:
    write_whole(file, b"")
    other = file.with_name("other")
    other.touch()
    assert file.stat().st_mode == other.stat().st_mode


class TestFailures:
    def test_a_full_disk_leaves_the_old_file_and_the_error_names_it(self, file: Path) -> None:
        write_whole(file, b"old")
        with files_limited_to(1000), pytest.raises(OSError, match="File too large") as caught:
            write_whole(file, bytes(5000))
        assert (caught.value.errno, caught.value.filename) == (errno.EFBIG, str(file))
        assert file.read_bytes() == b"old"
        assert names(file) == ["file.bin"]

    @pytest.mark.parametrize(
        "error", [ValueError("no array"), OSError("3 requested and 0 written"), KeyboardInterrupt()], ids=repr
    )
    def test_so_does_a_function_that_fails_half_way_with_its_own_error(self, error: BaseException, file: Path) -> None:
        message = str(error)

        def fail(stream: IO[bytes]) -> None:
            stream.write(b"half of it")
            raise error

        write_whole(file, b"old")
        with pytest.raises(type(error)) as caught:
            write_whole(file, fail)
        assert caught.value is error
        assert str(caught.value) == message
        assert file.read_bytes() == b"old"
        assert names(file) == ["file.bin"]

    def test_a_folder_in_place_of_the_file_stays(self, file: Path) -> None:
        file.mkdir(parents=True)
        with pytest.raises(IsADirectoryError):
            write_whole(file, b"new")
        assert names(file) == ["file.bin"]

    def test_a_file_in_place_of_the_folder_is_an_error(self, file: Path) -> None:
        file.parent.write_text("in the way")
        with pytest.raises(OSError, match=r"exists|Not a directory"):
            write_whole(file, b"new")

    def test_a_kill_in_the_middle_leaves_the_old_file(self, file: Path) -> None:
        """The process ends at once, as on a machine that runs out of memory; nothing tidies up."""
        write_whole(file, b"old")
        program = (
            "import os, signal, sys\n"
            "from pathlib import Path\n"
            "from adacanon.files import write_whole\n"
            "def half(stream):\n"
            "    stream.write(b'half of it')\n"
            "    stream.flush()\n"
            "    os.kill(os.getpid(), signal.SIGKILL)\n"
            "write_whole(Path(sys.argv[1]), half)\n"
        )
        ended = subprocess.run([sys.executable, "-c", program, str(file)], check=False)
        assert ended.returncode == -signal.SIGKILL
        assert file.read_bytes() == b"old"
        left = set(names(file)) - {"file.bin"}
        assert len(left) == 1
        assert all(name.startswith("file.bin.") and name.endswith(".part") for name in left)


def test_several_writers_and_a_reader_never_see_a_part(file: Path) -> None:
    """All writers are in the middle of the file at the same time, and each leaves it whole."""
    writers, size = 4, 100_000
    barrier = threading.Barrier(writers)

    def written(letter: bytes) -> None:
        def slowly(stream: IO[bytes]) -> None:
            stream.write(letter * size)
            barrier.wait(timeout=30)
            stream.write(letter * size)

        for _ in range(5):
            write_whole(file, slowly)
            content = file.read_bytes()
            assert len(content) == 2 * size
            assert len(set(content)) == 1

    with ThreadPoolExecutor(writers) as pool:
        list(pool.map(written, (b"a", b"b", b"c", b"d")))
    assert names(file) == ["file.bin"]


class TestWhatIsNoPlainFile:
    def test_a_link_stays_a_link_and_its_file_is_replaced(self, file: Path) -> None:
        write_whole(file, b"old")
        link = file.with_name("link")
        link.symlink_to(file)
        write_whole(link, b"new")
        assert link.is_symlink()
        assert file.read_bytes() == b"new"

    def test_a_pipe_is_written_to_and_stays(self, tmp_path: Path) -> None:
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        with ThreadPoolExecutor(1) as pool:
            read = pool.submit(pipe.read_bytes)
            write_whole(pipe, b"through")
            assert read.result(timeout=30) == b"through"
        assert pipe.is_fifo()
        assert [file.name for file in tmp_path.iterdir()] == ["pipe"]
