"""A process that may not have many files open."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def open_files_limited_to(count: int) -> Iterator[None]:
    """Within the block no more files than this are open at a time."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (count, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
