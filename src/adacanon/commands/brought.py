"""What commands on a network of the user's share: the names of its classes, and labelled samples for it."""

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from adacanon.errors import DataError
from adacanon.reports.terminal import show_classes

if TYPE_CHECKING:
    from adacanon.data.samples import Labelled

LISTS = (".txt", ".json", ".names", ".csv")
"""Endings of files, rather than of names of classes."""


class Names(NamedTuple):
    """Names of classes in the order of the outputs, and where they come from; none if the data decide."""

    names: tuple[str, ...]
    source: str


class Preparation(NamedTuple):
    """What is done to samples when they are read; the options of the same names say more."""

    size: int | None
    channels: int | None
    points: int | None
    faces: bool
    normalise: bool


def read_samples(
    file: Path, classes: tuple[str, ...], network: object, preparation: Preparation, *, limit: int | None, seed: int
) -> tuple["Labelled", str]:
    """Labelled samples, and where the order of their classes comes from; both orders are shown.

    Args:
        classes: the words of the option ``--classes``.
    """
    from adacanon.data.labelled import load_labelled
    from adacanon.data.samples import GIVEN

    names = _names(classes, network)
    try:
        data = load_labelled(file, classes=names.names, limit=limit, seed=seed, **preparation._asdict())
    except DataError as error:
        if names.source:
            error.add_note(f"The names of the classes were taken from {names.source}.")
        raise
    source = names.source if data.class_source == GIVEN else data.class_source
    if data.class_names is not None:
        show_classes(data.class_names, source)
    return data, source


def _names(words: tuple[str, ...], network: object) -> Names:
    """From the words of the option or the file that it names, or else from the network."""
    from adacanon.diagnosis import own_names, read_class_names

    if len(words) == 1 and (Path(words[0]).is_file() or Path(words[0]).suffix in LISTS):
        return Names(read_class_names(Path(words[0])), f"the file {words[0]}")
    if words:  # as they are, because names of classes may hold commas; a single word is split at its commas
        several = tuple(name.strip() for name in words[0].split(",")) if len(words) == 1 else words
        return Names(several, "--classes")
    own = own_names(network)
    return Names(own.names, f"the network itself, its {own.place}") if own else Names((), "")
