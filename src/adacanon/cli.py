"""The ``adacanon`` command. It starts without any optional package, and says which of them it needs."""

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from adacanon import __version__
from adacanon.errors import AdacanonError
from adacanon.extras import install, missing_package, missing_packages

COMMANDS = ("demo", "list", "run", "tune", "report", "figure", "data", "doctor", "explain")


def main(arguments: list[str] | None = None) -> int:
    """Entry point; the exit code is zero if all went well."""
    words = sys.argv[1:] if arguments is None else arguments
    if words == ["--version"]:
        print(f"adacanon {__version__}")
        return 0
    try:
        with _terminated_cleanly():
            return _run(words)
    except KeyboardInterrupt as stop:
        print("Stopped. What was finished is kept; the same command goes on from there.", file=sys.stderr)
        return 128 + (signal.SIGTERM if isinstance(stop, Terminated) else signal.SIGINT)
    except AdacanonError as error:
        notes = "".join(f"\n  {note}" for note in getattr(error, "__notes__", ()))
        print(f"{type(error).__name__}: {error}{notes}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"{type(error).__name__}: {error.strerror}: {error.filename}", file=sys.stderr)
        return 2


class Terminated(KeyboardInterrupt):
    """The command was asked to end, as schedulers do at a time limit."""


@contextmanager
def _terminated_cleanly() -> Iterator[None]:
    """SIGTERM stops the command as an interrupt from the keyboard does: workers are ended and claims given back."""
    if threading.current_thread() is not threading.main_thread():  # only the main thread may have handlers
        yield
        return
    before = signal.signal(signal.SIGTERM, _terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _terminate(number: int, frame: Any) -> None:
    raise Terminated


def _run(words: list[str]) -> int:
    try:
        from adacanon.commands.command_line import parse
    except ModuleNotFoundError as error:
        return _without_commands(words, error)
    command = parse(words)
    try:
        return command()
    except ModuleNotFoundError as error:
        raise missing_package(error, f"adacanon {words[0]}") from error


def _without_commands(words: list[str], error: ModuleNotFoundError) -> int:
    """Who asks for help gets it; any other command needs what is missing."""
    reason = missing_package(error, "The adacanon command")
    asked = not words or "--help" in words or "-h" in words
    if reason is error or not asked:
        raise reason
    print(
        f"usage: adacanon {{{','.join(COMMANDS)}}}\n\n"
        f"adacanon {__version__} is installed and can be imported. Its commands need further packages.\n"
        f"Not installed: {', '.join(missing_packages())}\nTo get them: {install('experiments')}"
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
