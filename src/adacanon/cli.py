"""The ``adacanon`` command."""

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

try:
    import tyro
except ModuleNotFoundError as error:
    raise SystemExit('The adacanon command needs its extra packages: pip install "adacanon[experiments]"') from error

from adacanon import __version__
from adacanon.errors import AdacanonError, InputError
from adacanon.experiments.catalogue import TABLES, table_named
from adacanon.experiments.clouds.figures import write_figure
from adacanon.experiments.data_sets import clouds, graphs
from adacanon.experiments.import_data import describe_import
from adacanon.files import write_whole
from adacanon.reports.progress import passes_bar
from adacanon.reports.render import to_html, to_markdown
from adacanon.reports.summary import Summary
from adacanon.reports.terminal import (
    Progress,
    show_classes,
    show_data_sets,
    show_progress,
    show_summary,
    show_verdicts,
)
from adacanon.runs.run import Run
from adacanon.runs.runner import Failure, run_missing, summary_of
from adacanon.runs.table import Table, records_by_row
from adacanon.runs.tuning import TRIALS, tune

Preset = Literal["cpu", "paper"]
RESULTS = Path("results")


def threads_of(environment: Mapping[str, str]) -> int:
    """Two, or what the usual variable says."""
    named = environment.get("OMP_NUM_THREADS", "")
    return int(named) if named.isdecimal() else 2


THREADS = threads_of(os.environ)
DESCRIPTION = (
    "Adaptive canonicalization: give any network a symmetry. One command for each table of the paper. "
    "adacanon --version prints the version."
)


@dataclass(frozen=True)
class List:
    """List the tables with their rows and how many runs have a record, and the data sets with their counts."""

    results: Path = RESULTS
    """Folder of the records."""

    def __call__(self) -> int:
        tables = {name: table_named(name, self.results) for name in TABLES}
        counts = {name: records_by_row(table, _file(self.results, table)) for name, table in tables.items()}
        show_progress(Progress(name, TABLES[name].title, rows) for name, rows in counts.items())
        for data_sets in (graphs(), clouds()):
            show_data_sets(data_sets)
        return 0


@dataclass(frozen=True)
class Execute:
    """Run a table: every run that has no record yet is trained and its record appended."""

    table: tyro.conf.Positional[str]
    """Name of the table, see ``adacanon list``."""
    rows: tuple[str, ...] = ()
    """Only these rows, separated by spaces or commas."""
    columns: tuple[str, ...] = ()
    """Only these columns of the table, such as data sets, separated by spaces or commas."""
    splits: int | None = None
    """This many splits per cell instead of the table's own number."""
    preset: Preset | None = None
    """``cpu``, the default: sizes and epochs as they fit on a processor; ``paper``: those of the paper. The tables toy,
    toy-strict, toy-sensitivity, tu-runtime, fast-clouds and fast-graphs have one preset only."""
    jobs: int = 1
    """Runs at a time, each in a process with one thread."""
    threads: int = THREADS
    """Threads of torch, if there is one job; two, or ``OMP_NUM_THREADS``."""
    checkpoint_every: float = 10.0
    """Seconds between two checkpoints of a run."""
    results: Path = RESULTS
    """Folder of the records, and of the choices of ``tune`` if it holds any."""

    def __call__(self) -> int:
        _set_threads(self.threads)
        table, file = _table(self.table, self.results)
        runs = _runs(table, self.rows, self.columns, self.splits, self.preset)
        self.results.mkdir(parents=True, exist_ok=True)
        failures = run_missing(table, runs, file, jobs=self.jobs, checkpoint_every=self.checkpoint_every)
        if len(failures) < len(runs):
            show_summary(summary_of(table, runs, file))
        return _report_failures(failures)


@dataclass(frozen=True)
class Tune:
    """Choose hyperparameters on the validation part, by Optuna studies.

    Choices go to ``chosen.json`` in the folder of the records. ``run`` and ``report`` with the same folder use them
    from then on, before the choices of the package.
    """

    table: tyro.conf.Positional[str]
    """Name of the table, see ``adacanon list``."""
    rows: tuple[str, ...] = ()
    """Only these rows, separated by spaces or commas."""
    columns: tuple[str, ...] = ()
    """Only these columns of the table, such as data sets, separated by spaces or commas."""
    trials: int = TRIALS
    """Trials per row and column."""
    jobs: int = 1
    """Studies at a time, each in a process with one thread."""
    results: Path = RESULTS
    """Folder of the records and of the choices."""

    def __call__(self) -> int:
        table, _ = _table(self.table, self.results)
        rows = table.rows_named(_names(self.rows)) or table.row_names
        columns = table.columns_named(_names(self.columns)) or table.tuned or table.columns
        self.results.mkdir(parents=True, exist_ok=True)
        records = self.results / f"{table.name}-tuning.jsonl"
        chosen = tune(table_named, table.name, rows, columns, records, jobs=self.jobs, trials=self.trials)
        print(f"The choices: {chosen}")
        return 0


@dataclass(frozen=True)
class Report:
    """Show a table from its records: the paper's figures beside ours."""

    table: tyro.conf.Positional[str]
    """Name of the table, see ``adacanon list``."""
    rows: tuple[str, ...] = ()
    """Only these rows, separated by spaces or commas."""
    columns: tuple[str, ...] = ()
    """Only these columns of the table, such as data sets, separated by spaces or commas."""
    splits: int | None = None
    """This many splits per cell instead of the table's own number."""
    preset: Preset | None = None
    """Whose runs are shown, ``cpu`` by default. The tables toy, toy-strict, toy-sensitivity, tu-runtime, fast-clouds
    and fast-graphs have one preset only."""
    format: Literal["terminal", "markdown", "html", "json"] = "terminal"
    """What to print."""
    json: bool = False
    """Short for ``--format json``."""
    output: Path | None = None
    """Write to this file instead of printing."""
    results: Path = RESULTS
    """Folder of the records, and of the choices of ``tune`` if it holds any."""

    def __call__(self) -> int:
        table, file = _table(self.table, self.results)
        runs = _runs(table, self.rows, self.columns, self.splits, self.preset)
        summary = summary_of(table, runs, file)
        if not file.exists():
            print(f"There are no records in {file}; see adacanon run --help", file=sys.stderr)
        text = _rendered(summary, self._format())
        if text is None:
            show_summary(summary)
        elif self.output is None:
            print(text, end="")
        else:
            write_whole(self.output, text.encode())
        return 0

    def _format(self) -> str:
        """As asked for, or as the name of the output file says."""
        if self.json or self.format != "terminal" or self.output is None:
            return "json" if self.json else self.format
        return {".html": "html", ".json": "json"}.get(self.output.suffix, "markdown")


@dataclass(frozen=True)
class Figure:
    """Draw a figure on point clouds; a network that no run has left in the cache folder is trained first."""

    name: tyro.conf.Positional[Literal["stability", "continuity", "chairs"]]
    """``stability`` is drawn from its records, the others from networks of the table ``modelnet``."""
    rows: tuple[str, ...] = ()
    """Only these rows of ``continuity``, separated by spaces or commas."""
    preset: Preset = "cpu"
    """Whose runs are meant."""
    threads: int = THREADS
    """Threads of torch; two, or ``OMP_NUM_THREADS``."""
    results: Path = RESULTS
    """Folder of the records; pictures go to ``figures`` in it."""
    pages: Path = Path("build")
    """Folder of pages; they hold points of the data sets, which may not be passed on."""

    def __call__(self) -> int:
        _set_threads(self.threads)
        rows = _names(self.rows)
        for path in write_figure(self.name, self.results, self.pages, preset=self.preset, rows=rows):
            print(path)
        return 0


@dataclass(frozen=True)
class Demo:
    """Train every method on a small version of the toy problem and write a page about it."""

    folder: Path = Path("build/demo")
    """Where records and the page go."""
    threads: int = THREADS
    """Threads of torch; two, or ``OMP_NUM_THREADS``."""

    def __call__(self) -> int:
        from adacanon.experiments.toy.demo import demo

        _set_threads(self.threads)
        summary, page, failures = demo(self.folder)
        show_summary(summary)
        print(f"The page with the picture: {page}")
        return _report_failures(failures)


@dataclass(frozen=True)
class Data:
    """Turn an official folder of point clouds into the one file that is read from then on.

    Known are modelnet40_normal_resampled, modelnet40_ply_hdf5_2048 (which needs h5py) and the ShapeNet part benchmark,
    shapenetcore_partanno_segmentation_benchmark_v0_normal.
    """

    action: tyro.conf.Positional[Literal["import"]]
    """What to do."""
    source: tyro.conf.Positional[Path]
    """The unpacked official folder."""
    output: Path
    """The folder of data sets, to which ADACANON_DATA may point from then on."""
    points: int = 1024
    """Points of every shape."""

    def __call__(self) -> int:
        print(describe_import(self.source, self.output, points=self.points))
        return 0


@dataclass(frozen=True)
class Doctor:
    """Examine a network that you have: what each symmetry costs it, and what adaptive canonicalization brings back.

    Nothing is trained. Writes a page and a file of figures.
    """

    model: tyro.conf.Positional[str]
    """package.module:factory, or the file of a TorchScript or torch.export program (see --trust)."""
    data: Path
    """A folder CLASS/IMAGE.png, or an .npz file with images or points, and labels."""
    classes: tuple[str, ...] = ()
    """Names of all classes in the order of the network's outputs, separated by spaces, or one word with commas. Without
    it, folders are taken in the natural order of their names, 2 before 10."""
    output: Path = Path("build/doctor")
    """Folder of the page and the figures."""
    families: tuple[str, ...] = ()
    """Only these, separated by spaces or commas: rotation, reflection, translation, dilation, truncation."""
    candidates: tuple[int, ...] = (1, 4, 16, 64)
    """Numbers of candidates."""
    outside: Literal["reflection", "border", "zero", "disc"] = "reflection"
    """What lies outside an image that is turned, shifted or shrunk; disc cuts images to their inscribed disc first."""
    limit: int = 1000
    """Samples at most, drawn at random."""
    size: int | None = None
    """Resize images to this side first."""
    channels: int | None = None
    """3 gives grey images three channels, 1 averages those of colour images."""
    weights: Path | None = None
    """Weights for the network of the factory: .pth, .safetensors or .npz, never executed."""
    trust: bool = False
    """Run the program that a model file holds. Without it, no file is executed."""
    threads: int = THREADS
    """Threads of torch; two, or ``OMP_NUM_THREADS``."""
    seed: int = 0
    """Of the samples and the transformations."""

    def __call__(self) -> int:

        from adacanon.data.labelled import load_labelled
        from adacanon.diagnosis import doctor, load_model

        _set_threads(self.threads)
        network = load_model(self.model, trust=self.trust, weights=self.weights)
        data = load_labelled(
            self.data,
            classes=_classes(self.classes),
            limit=self.limit,
            size=self.size,
            channels=self.channels,
            seed=self.seed,
        )
        if data.class_names is not None:
            show_classes(data.class_names)
        with passes_bar("forward passes") as on_progress:
            found = doctor(
                network,
                [(data.inputs, data.labels)],
                families=_names(self.families),
                candidates=self.candidates,
                outside=self.outside,
                class_names=data.class_names,
                seed=self.seed,
                model_name=self.model,
                data_name=self.data.name,
                on_progress=on_progress,
            )
        page, figures = found.save(self.output)
        show_verdicts(found.as_json())
        print(f"The page: {page}\nThe figures: {figures}")
        return 0


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


def _set_threads(threads: int) -> None:
    import torch

    if threads < 1:
        raise InputError(f"At least one thread is needed, got threads={threads}")
    torch.set_num_threads(threads)


def _runs(
    table: Table, rows: tuple[str, ...], columns: tuple[str, ...], splits: int | None, preset: Preset | None
) -> list[Run]:
    if preset is not None and len(table.presets) == 1:
        print(f"{table.name} has one preset only: --preset {preset} changes nothing.", file=sys.stderr)
    return table.runs(
        rows=table.rows_named(_names(rows)),
        columns=table.columns_named(_names(columns)),
        splits=splits,
        preset=preset or "cpu",
    )


def _names(words: tuple[str, ...]) -> tuple[str, ...]:
    """Words at spaces or commas; without any, all are meant, but never by a name that is empty."""
    names = tuple(name.strip() for word in words for name in word.split(",") if name.strip())
    if words and not names:
        raise InputError("Expected names of rows or columns, got an empty one. Hint: leave the option out for all")
    return names


def _classes(words: tuple[str, ...]) -> tuple[str, ...]:
    """As they are, because names of classes may hold commas; a single word is split at its commas."""
    return tuple(name.strip() for name in words[0].split(",")) if len(words) == 1 else words


def _table(name: str, results: Path) -> tuple[Table, Path]:
    table = table_named(name, results)
    return table, _file(results, table)


def _file(results: Path, table: Table) -> Path:
    return results / f"{table.name}.jsonl"


def _rendered(summary: Summary, format: str) -> str | None:
    if format == "json":
        return json.dumps(summary.as_json(), indent=2) + "\n"
    return {"markdown": to_markdown, "html": to_html}[format](summary) if format != "terminal" else None  # type: ignore[operator]


def _report_failures(failures: list[Failure]) -> int:
    """One line for runs that failed for the same reason."""
    runs: dict[str, list[str]] = {}
    for run, reason in failures:
        runs.setdefault(reason, []).append(run)
    for reason, (first, *others) in runs.items():
        more = f" and {len(others)} more run{'s' * (len(others) > 1)}" * bool(others)
        print(f"failed: {first}{more}: {reason}", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    raise SystemExit(main())
