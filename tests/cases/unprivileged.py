"""What somebody sees who may not write everywhere; the tests may be run by one who may."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

NOBODY = 65534


@contextmanager
def without_privileges() -> Iterator[None]:
    """Within the block the permissions of files hold for the superuser, too."""
    user = os.geteuid()
    if user == 0:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(user)
