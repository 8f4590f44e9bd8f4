"""The ``adacanon`` command. It starts without any optional package, and says which of them it needs."""

import sys

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
        return _run(words)
    except KeyboardInterrupt:
        print("Stopped. What was finished is kept; the same command goes on from there.", file=sys.stderr)
        return 130
    except AdacanonError as error:
        notes = "".join(f"\n  {note}" for note in getattr(error, "__notes__", ()))
        print(f"{type(error).__name__}: {error}{notes}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"{type(error).__name__}: {error.strerror}: {error.filename}", file=sys.stderr)
        return 2


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
