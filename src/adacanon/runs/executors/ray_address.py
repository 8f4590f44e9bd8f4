"""Does a Ray cluster answer at an address? Ray itself waits for minutes for one that is not there."""

import socket

from adacanon.errors import AdacanonError, InputError

SECONDS_TO_ANSWER = 5.0
HINT = "Hint: ray start --head prints the address; without --address, a cluster is started for the command"

GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\x04\0\0\0\0\0"
"""How a client of HTTP/2 begins (RFC 9113, section 3.4): a fixed line, and settings, here none."""
SETTINGS = 4
"""The type of the frame with which a server of HTTP/2 answers, its fourth byte."""


class ClusterError(AdacanonError, ConnectionError):
    """A cluster does not answer, or has no room for a run.

    Example:
        >>> raise ClusterError("No Ray cluster answers at node1:6379")
        Traceback (most recent call last):
            ...
        adacanon.runs.executors.ray_address.ClusterError: No Ray cluster answers at node1:6379
    """


def check_listening(address: str) -> None:
    """Refuse an address where nobody speaks HTTP/2, as the head of a cluster does.

    Example:
        >>> check_listening("node1")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
            ...
        adacanon.errors.InputError: --address takes HOST:PORT or auto, got 'node1'. Hint: ray start --head prints ...
    """
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65535:
        raise InputError(f"--address takes HOST:PORT or auto, got {address!r}. {HINT}")
    try:
        answer = _greeted(host, int(port))
    except OSError as error:
        raise ClusterError(f"No Ray cluster answers at {address} ({error}). {HINT}") from error
    if answer[3:4] != bytes([SETTINGS]):
        raise ClusterError(f"What listens at {address} is no Ray cluster. {HINT}")


def _greeted(host: str, port: int) -> bytes:
    """The first bytes of the answer."""
    with socket.create_connection((host, port), timeout=SECONDS_TO_ANSWER) as connection:
        connection.sendall(GREETING)
        return connection.recv(9)
