"""All commands, and how words become one of them."""

from collections.abc import Callable
from typing import Annotated

import tyro

from adacanon.commands.doctor import Doctor
from adacanon.commands.explain import Explain
from adacanon.commands.tables import Execute, List, Report, Tune
from adacanon.commands.tools import Data, Demo, Figure

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
    | Annotated[Explain, tyro.conf.subcommand("explain")]
)


def parse(words: list[str]) -> Callable[[], int]:
    """The command that the words ask for, to be called; help is printed and the program ended."""
    return tyro.cli(Command, prog="adacanon", description=DESCRIPTION, args=words)  # type: ignore[call-overload]
