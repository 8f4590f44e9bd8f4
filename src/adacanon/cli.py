"""The ``adacanon`` command."""

import sys
from typing import Annotated

try:
    import tyro
except ModuleNotFoundError as error:
    raise SystemExit('The adacanon command needs its extra packages: pip install "adacanon[experiments]"') from error

from adacanon import __version__
from adacanon.commands.tables import Execute, List, Report, Tune
from adacanon.commands.tools import Data, Demo, Doctor, Figure
from adacanon.errors import AdacanonError

DESCRIPTION = (
    "Adaptive canonicalization: give any network a symmetry. One command for each table of the paper. "
    "adacanon --version prints the version."
)

Command = (
    Annotated[Demo, tyro.conf.subcommand("demo")]
    | Annotated[List, tyro.conf.subcommand("list")]
    | Annotated[Execute, tyro.conf.subcommand("run")]
    | Annotated[Tune, tyro.conf.subcommand("tune")]
    | Annotated[Report, tyro.conf.subcommand("report")]
    | Annotated[Figure, tyro.conf.subcommand("figure")]
    | Annotated[Data, tyro.conf.subcommand("data")]
    | Annotated[Doctor, tyro.conf.subcommand("doctor")]
)


def main(arguments: list[str] | None = None) -> int:
    """Entry point; the exit code is zero if all went well."""
    if (sys.argv[1:] if arguments is None else arguments) == ["--version"]:
        print(f"adacanon {__version__}")
        return 0
    command = tyro.cli(Command, prog="adacanon", description=DESCRIPTION, args=arguments)  # type: ignore[call-overload]
    try:
        return command()
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


if __name__ == "__main__":
    raise SystemExit(main())
