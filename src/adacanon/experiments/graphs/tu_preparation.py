"""What the runs of tables on TU data sets share: computed before the first of them, in portions, by their executor.

Spectra go to the database of spectra; frames of the bands, canonical eigenvectors and return probabilities to files of
their own.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from adacanon.data.tu import Features
from adacanon.experiments.graphs.fair_data import structural_inputs
from adacanon.experiments.graphs.kept_arrays import Portions, distinct, prepare_columns
from adacanon.experiments.graphs.spectral_methods import kept_frames, kept_signals, partition_of
from adacanon.experiments.graphs.tu_data import TUData, keep_spectra_of, kept_encodings, tu_data
from adacanon.runs.executors import Executor
from adacanon.runs.run import Run, Settings


class Frames(NamedTuple):
    """Settings of frames of the bands, as in ``tu``."""

    operator: str
    partition: str
    bands: int
    decay: float
    frame: int

    @classmethod
    def of(cls, options: Settings) -> "Frames":
        """Those among the settings of a run."""
        return cls(**{name: options[name] for name in cls._fields})


class Read(NamedTuple):
    """What a run reads of a data set beside its graphs.

    Attributes:
        column: the data set.
        features: of its nodes.
        operators: whose spectra are read.
        encodings: canonical eigenvectors per node, if any.
        returns: return probabilities beside the other signals of a node encoder, if it has one.
        structural: whether the nodes have structural inputs.
        frames: of the bands, if any.
    """

    column: str
    features: Features = "labels"
    operators: tuple[str, ...] = ()
    encodings: int | None = None
    returns: int | None = None
    structural: bool = False
    frames: Frames | None = None


def prepare_graphs(runs: Sequence[Run], read_by: Callable[[Run], Read], *, executor: Executor, show: bool) -> None:
    """Leave in the cache what runs read, a bar for each data set; what is there is left alone."""
    reads = distinct(map(read_by, runs))

    def prepare(column: str, portions: Portions) -> None:
        for features in distinct(read.features for read in reads if read.column == column):
            same = [read for read in reads if (read.column, read.features) == (column, features)]
            if any(map(_is_derived, same)):
                _prepare(tu_data(column, features), same, portions)

    columns = distinct(read.column for read in reads if _is_derived(read))
    prepare_columns(columns, prepare, executor=executor, show=show)


def _is_derived(read: Read) -> bool:
    """Whether anything beside the graphs is read."""
    return read != Read(read.column, read.features)


def _prepare(data: TUData, reads: Iterable[Read], portions: Portions) -> None:
    for operator in distinct(operator for read in reads for operator in read.operators):
        keep_spectra_of(data, operator, portions)
    for count in distinct(read.encodings for read in reads if read.encodings is not None):
        kept_encodings(data, count, portions)
    for returns in distinct(read.returns for read in reads if read.returns is not None):
        kept_signals(data, returns, portions)
    if any(read.structural for read in reads):
        structural_inputs(data, portions)
    for frames in distinct(read.frames for read in reads if read.frames is not None):
        kept_frames(data, partition_of(data, frames._asdict()), frames.operator, frames.frame, portions)
