"""Does a Ray cluster answer at an address? Ray itself waits for minutes for one that is not there."""

import socket
import time

from adacanon.errors import AdacanonError, InputError

SECONDS_TO_ANSWER = 5.0
HINT = "Hint: ray start --head prints the address; without --address, a cluster is started for the command"

GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
"""How a client of HTTP/2 begins (RFC 9113, section 3.4)."""
SETTINGS, HEADERS, DATA = 4, 1, 0
"""Types of frames."""
END_OF_STREAM, END_OF_HEADERS = 1, 4
"""Flags of frames."""
POST_BY_HTTP = b"\x83\x86"
"""Two headers of every call, by their numbers in the static table of HTTP/2 (RFC 7541, appendix A)."""
QUESTION = b"/ray.rpc.NodeInfoGcsService/GetClusterId"
"""A call that the head of a cluster knows. Other ports of Ray, and other services, do not."""
STATUS = b"grpc-status"
HEADS = (b"0", b"16")
"""Statuses of a head: an answer, or that it wants a token first. Others say 12, that they do not know the call."""


class ClusterError(AdacanonError, ConnectionError):
    """A cluster does not answer, or has no room for a run.

    Example:
        >>> raise ClusterError("No Ray cluster answers at node1:6379")
        Traceback (most recent call last):
            ...
        adacanon.runs.executors.ray_address.ClusterError: No Ray cluster answers at node1:6379
    """


def check_listening(address: str) -> None:
    """Refuse an address where no head of a cluster answers a call of gRPC.

    Example:
        >>> check_listening("node1")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
            ...
        adacanon.errors.InputError: --address takes HOST:PORT or auto, got 'node1'. Hint: ray start --head prints ...
    """
    host, _, port = address.rpartition(":")
    if not host or "/" in host or not port.isdecimal() or int(port) > 65535:
        raise InputError(f"--address takes HOST:PORT or auto, got {address!r}. {HINT}")
    try:
        status = _asked(host, int(port))
    except OSError as error:
        raise ClusterError(f"No Ray cluster answers at {address} ({error}). {HINT}") from error
    if status not in HEADS:
        raise ClusterError(f"What listens at {address} is no head of a Ray cluster. {HINT}")


def _asked(host: str, port: int) -> bytes:
    """The status of the answer; nothing where it has none."""
    answer, end = b"", time.monotonic() + SECONDS_TO_ANSWER
    with socket.create_connection((host, port), timeout=SECONDS_TO_ANSWER) as connection:
        connection.sendall(CALL)
        while not (status := _status(answer)) and (left := end - time.monotonic()) > 0:
            connection.settimeout(left)
            part = connection.recv(4096)
            if not part:
                break
            answer += part
    return status


def _status(answer: bytes) -> bytes:
    """The value after its name, a byte of length before it, once all of it has come."""
    length, value = (rest := answer.partition(STATUS)[2])[:1], rest[1:]
    return value[: length[0]] if length and len(value) >= length[0] else b""


def _line(name: bytes, value: bytes) -> bytes:
    """A header as it is, not compressed (RFC 7541, section 6.2.2)."""
    return bytes([0, len(name)]) + name + bytes([len(value)]) + value


def _frame(kind: int, flags: int, stream: int, content: bytes) -> bytes:
    return len(content).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + content


_HEADERS = {b":path": QUESTION, b":authority": b"head", b"content-type": b"application/grpc", b"te": b"trailers"}
_LINES = b"".join(_line(name, value) for name, value in _HEADERS.items())
CALL = (
    GREETING
    + _frame(SETTINGS, 0, 0, b"")
    + _frame(HEADERS, END_OF_HEADERS, 1, POST_BY_HTTP + _LINES)
    + _frame(DATA, END_OF_STREAM, 1, bytes(5))
)
"""The question, with an empty message."""
