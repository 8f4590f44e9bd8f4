"""A Ray cluster: one that runs already, or one of this machine for the time of a command. Needs ``adacanon[cluster]``.

Ray schedules, restarts and keeps resources. It is imported here and nowhere else.
"""

import logging
import os
import secrets
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any, TypeVar

from adacanon.errors import InputError
from adacanon.extras import optional
from adacanon.runs.executors.executor import WorkerLostError
from adacanon.runs.executors.ray_address import HINT, ClusterError, check_listening
from adacanon.runs.executors.ray_worker import called
from adacanon.training.hardware import Hardware

T = TypeVar("T")
RETRIES = 3
"""How often a call is tried again on another worker or node."""
SECONDS_WITHOUT_ROOM = 300.0
"""How long a command waits for a cluster to grow again that has lost every node with room for a run."""
PASSED_ON = ("ADACANON_DATA", "ADACANON_CACHE")
"""Variables that workers take from the command, where it has them."""
LOST = (
    "its worker or node was lost {times} times, perhaps for lack of memory; the same command goes on from its "
    "checkpoint"
)


class RayCluster:
    """Calls functions on the nodes of a cluster, one task each.

    Args:
        address: host and port of a running cluster, or ``auto`` for the one of this machine; empty to start one.
        jobs: calls at a time at most; as many as there is room for, if it is not given.
        cpus: processors for a call; its threads, rounded up.
        gpus: graphics processors for a call.
    """

    inside = False
    elsewhere = True
    hardware = Hardware()

    def __init__(self, address: str = "", *, jobs: int | None = None, cpus: float = 1.0, gpus: float = 0.0) -> None:
        if not (cpus > 0 and gpus >= 0):  # so that NaN is refused, too
            raise InputError(
                f"A run needs processors, got --cpus-per-run {cpus:g} --gpus-per-run {gpus:g}. "
                "Hint: leave them out for one processor"
            )
        self.jobs, self.cpus, self.gpus = jobs, cpus, gpus
        self._ray = _imported()
        self._refs: dict[Future, Any] = {}
        self._last_room = time.monotonic()
        with _own_end():
            if address:
                _join(self._ray, address)
            else:
                _start(self._ray, cpus, jobs)
        try:
            self.capacity()
        except ClusterError:
            self._ray.shutdown()
            raise
        threads = max(1, round(cpus + 0.49))
        environment = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
        remote = self._ray.remote(called).options(num_cpus=cpus, num_gpus=gpus, max_retries=RETRIES)
        self._remote = lambda function, arguments: remote.remote(function, arguments, threads, environment)

    def capacity(self) -> int:
        """Calls that the nodes have room for, each as a whole on one node; at least one while a cluster regrows."""
        nodes = [node["Resources"] for node in self._ray.nodes() if node["Alive"]]
        room = sum(self._room(resources) for resources in nodes)
        if room:
            self._last_room = time.monotonic()
        elif not self._refs or time.monotonic() - self._last_room > SECONDS_WITHOUT_ROOM:
            raise ClusterError(
                f"No node of the cluster has {self.cpus:g} processors and {self.gpus:g} graphics processors for a run; "
                f"the nodes have {_in_words(nodes)}. Hint: lower --cpus-per-run and --gpus-per-run, or add a node"
            )
        return max(1, min(room, self.jobs or room))

    def _room(self, resources: dict[str, float]) -> int:
        by_cpu = int(resources.get("CPU", 0) // self.cpus)
        return min(by_cpu, int(resources.get("GPU", 0) // self.gpus)) if self.gpus else by_cpu

    def submit(self, function: Callable[..., T], *arguments: Any) -> "Future[T]":
        answer: Future[T] = Future()
        ref = self._remote(function, arguments)
        self._refs[answer] = ref
        ref.future().add_done_callback(lambda done: self._settle(answer, done))
        return answer

    def _settle(self, answer: "Future[T]", done: "Future[T]") -> None:
        self._refs.pop(answer, None)
        error = done.exception()
        if error is None:
            answer.set_result(done.result())
        else:
            answer.set_exception(_translated(error))

    def __enter__(self) -> "RayCluster":
        return self

    def __exit__(self, *error: object) -> None:
        for ref in list(self._refs.values()):  # what runs has its checkpoint
            self._ray.cancel(ref, force=True)
        self._ray.shutdown()


def _in_words(nodes: list[dict[str, float]]) -> str:
    """Processors and graphics processors of nodes."""
    return ", ".join(f"{node.get('CPU', 0):g} and {node.get('GPU', 0):g}" for node in nodes) or "gone"


def _translated(error: BaseException) -> BaseException:
    """The error of the function itself, or that its workers were lost."""
    from ray import exceptions

    if isinstance(error, exceptions.RayTaskError):
        return error.cause if isinstance(error.cause, BaseException) else error
    if isinstance(error, exceptions.RayError):
        return WorkerLostError(f"{LOST.format(times=RETRIES + 1)} ({type(error).__name__})")
    return error


def _imported() -> Any:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is sent anywhere
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    with optional("--executor ray"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import ray
    return ray


def _start(ray: Any, cpus: float, jobs: int | None) -> None:
    """A cluster of this machine, without a dashboard, that others cannot reach. Ray finds graphics processors."""
    there = os.cpu_count() or 1
    if cpus > there:
        raise ClusterError(
            f"This machine has {there} processors, and a run shall have {cpus:g}. Hint: lower --cpus-per-run, or name "
            "a larger cluster with --address"
        )
    _use_own_token()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ray.init(
            address="local",
            num_cpus=max(1, int(cpus * jobs)) if jobs else there,
            include_dashboard=False,
            log_to_driver=False,
            logging_level="warning",
            _node_ip_address="127.0.0.1",
        )


@contextmanager
def _own_end() -> Iterator[None]:
    """Ray answers SIGTERM by ending the program at once; who has an answer keeps it."""
    before = signal.getsignal(signal.SIGTERM)
    yield
    if callable(before) and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, before)


def _use_own_token() -> None:
    """Other users of the machine stay out of the cluster by a token.

    Left alone, Ray writes one to the home folder and prints a notice about it. This one is in memory only.
    """
    if not any(name in os.environ for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH")):
        os.environ["RAY_AUTH_TOKEN"] = secrets.token_hex(32)
    logging.getLogger("ray._private.authentication.authentication_token_setup").setLevel(logging.ERROR)


def _join(ray: Any, address: str) -> None:
    """Connect to a running cluster. Ray ends the program where it finds none, after minutes."""
    if address != "auto":
        check_listening(address)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ray.init(address=address, log_to_driver=False, logging_level="warning")
    except (ray.exceptions.RayError, ConnectionError, RuntimeError, ValueError, TimeoutError, SystemExit) as error:
        raise ClusterError(f"No Ray cluster answers at {address} ({_first_line(error)}). {HINT}") from error


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
