"""A Ray cluster of two nodes on this machine, with one processor each."""

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

NODE: dict[str, Any] = {"num_cpus": 1, "object_store_memory": 80 * 2**20}


@contextmanager
def two_nodes() -> Iterator[Any]:
    """The cluster; its workers find the modules that this process finds, and everything ends with the block."""
    from ray.cluster_utils import Cluster

    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    cluster = Cluster(initialize_head=True, head_node_args={**NODE, "include_dashboard": False})
    try:
        cluster.add_node(**NODE)
        yield cluster
    finally:
        cluster.shutdown()
        del os.environ["PYTHONPATH"]
        if before is not None:
            os.environ["PYTHONPATH"] = before


def lines_of(file: Path) -> list[str]:
    """Those that a file has by now."""
    return file.read_text().splitlines() if file.exists() else []


def is_alive(process: int) -> bool:
    """Whether a process of this machine runs; one that has ended and was not waited for does not."""
    stat = Path(f"/proc/{process}/stat")
    return stat.exists() and stat.read_text().rpartition(")")[2].split()[0] not in "ZX"


def wait_until(condition: Callable[[], bool], *, seconds: float = 120.0) -> None:
    """Until something is so, or has not become so in time."""
    begin = time.monotonic()
    while not condition():
        assert time.monotonic() < begin + seconds
        time.sleep(0.05)
