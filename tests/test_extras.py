"""Without optional packages: what needs only the core works, and the rest says what is missing and how to get it."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from adacanon.cli import COMMANDS
from adacanon.extras import EXTRAS, PACKAGES
from cases.official_images import idx_files

ROOT = Path(__file__).parents[1]
WITHOUT = """
import shlex, sys
from importlib.machinery import PathFinder

class Finder(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        absent = name.partition(".")[0] in {modules!r}
        return None if absent else super().find_spec(name, path, target)

sys.meta_path = [Finder if finder is PathFinder else finder for finder in sys.meta_path]

def run(line):
    from adacanon.cli import main
    print("begin", line, file=sys.stderr, flush=True)
    try:
        code = main(shlex.split(line))
    except SystemExit as end:
        code = end.code
    print("code", code, "of", line, flush=True)
"""
HELP = ["--help", "-h", *(f"{command} --help" for command in COMMANDS)]
INSTALL = 'Hint: pip install "adacanon[{}]"'


def run_without(modules: list[str], program: str, folder: Path | None = None) -> tuple[str, str]:
    """What a program says and complains of, in a process that does not find these modules."""
    code = WITHOUT.format(modules=modules) + program
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=folder)
    assert answer.returncode == 0, answer.stderr
    assert "Traceback" not in answer.stderr
    return answer.stdout, answer.stderr


def commands(*lines: str) -> str:
    return "\n".join(f"run({line!r})" for line in lines)


def test_the_extras_are_those_of_the_package() -> None:
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for module, extra in EXTRAS.items():
        assert any(entry.startswith(PACKAGES.get(module, module)) for entry in listed[extra]), module
    assert "adacanon[graphs,points,images]" in listed["experiments"]


def test_without_any_the_command_starts_and_says_what_is_missing() -> None:
    said, complained = run_without(list(EXTRAS), commands("--version", *HELP, "", "report toy"))
    for line in ("--version", *HELP, ""):
        assert f"code 0 of {line}\n" in said
    missing = f"Not installed: {', '.join(PACKAGES.get(module, module) for module in EXTRAS)}\n"
    assert said.count(missing + 'To get them: pip install "adacanon[experiments]"') == len(HELP) + 1
    assert "code 2 of report toy" in said
    assert f"The adacanon command needs tyro, which is not installed. {INSTALL.format('experiments')}" in complained


@pytest.fixture(scope="module")
def with_tyro_alone(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Help and a few commands where of all optional packages only that of the command line is installed."""
    folder = tmp_path_factory.mktemp("folder")
    idx_files(folder, packed=False)
    (folder / "pictures" / "cats").mkdir(parents=True)
    (folder / "pictures" / "cats" / "1.png").touch()
    return run_without([module for module in EXTRAS if module != "tyro"], commands(*HELP, *WORKING, *FAILING), folder)


WORKING = ["report toy --json", "report toy --format markdown", "data import . --output data"]
FAILING = {
    "report toy": "adacanon report needs rich",
    "list": "adacanon list needs rich",
    "report toy --format html": "A page needs jinja2",
    "tune tu --rows GIN --columns MUTAG": "adacanon tune needs",
    "doctor torch.nn:Identity --data pictures": "Image files need Pillow",
}


@pytest.mark.parametrize("line", [*HELP, *WORKING])
def test_what_does_not_need_a_package_works_without_it(with_tyro_alone: tuple[str, str], line: str) -> None:
    assert f"code 0 of {line}\n" in with_tyro_alone[0]


@pytest.mark.parametrize("line", FAILING)
def test_a_command_that_needs_a_package_says_so(with_tyro_alone: tuple[str, str], line: str) -> None:
    said, complained = with_tyro_alone
    own = complained.split(f"begin {line}\n")[1].split("begin ")[0]
    assert f"code 2 of {line}\n" in said
    assert FAILING[line] in own
    assert INSTALL.format("experiments") in own


def test_data_are_imported_without_a_bar(with_tyro_alone: tuple[str, str]) -> None:
    assert "20 train, 12 test images of MNIST" in with_tyro_alone[0]


CALLS = {
    "from adacanon.points import multiset_distance as d; d(torch.eye(2), torch.eye(2))": ("scipy", "points"),
    "from adacanon.baselines.graphs import GraphNetwork as G; G('gin', 2, classes=2)": (
        "torch-geometric",
        "graphs",
    ),
    "from adacanon.images import load_weights as w; w(nn.ReLU(), Path('w.safetensors'))": (
        "safetensors",
        "images",
    ),
    "from adacanon.reports.pictures import new_figure as f; f(1, 1)": ("matplotlib", "experiments"),
    "from adacanon.reports.pages import render as r; r('report.html', {})": ("jinja2", "experiments"),
}
CALL = """
import torch
from pathlib import Path
from torch import nn
Path("w.safetensors").touch()
for line in {lines!r}:
    try:
        exec(line)
    except Exception as error:
        print(type(error).__name__, error)
"""


def test_a_function_that_needs_a_package_says_so(tmp_path: Path) -> None:
    said, _ = run_without(list(EXTRAS), CALL.format(lines=list(CALLS)), tmp_path)
    for line, (package, extra) in zip(said.splitlines(), CALLS.values(), strict=True):
        assert line.startswith(("MissingPackageError", "DataError"))
        assert f"needs {package}" in line
        assert INSTALL.format(extra) in line


CORE = """
import torch
from torch import nn
import adacanon, adacanon.images, adacanon.points, adacanon.graphs, adacanon.data, adacanon.testing, adacanon.spaces
import adacanon.diagnosis, adacanon.frozen, adacanon.training
from adacanon.graphs import BandRotations, anlsf, dyadic
from adacanon.points import PointNet, Rotations

clouds, labels = torch.randn(4, 16, 3), torch.tensor([0, 1, 2, 0])
model = adacanon.Canonicalized(PointNet(3), Rotations())
adacanon.Objective(model)(clouds, labels).loss.backward()
print(model.eval().canonicalize(clouds).forms().shape)
network = nn.Sequential(nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(12, 3))
pictures = torch.rand(4, 3, 8, 8)
print(adacanon.Canonicalized(network, adacanon.images.Rotations()).eval()(pictures).shape)

class Graph:
    x, num_nodes = torch.eye(3), 3
    edge_index = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    edge_attr = edge_weight = None

print(anlsf(BandRotations(dyadic(3), rows=2), channels=3, classes=2).eval()([Graph(), Graph()]).shape)
adacanon.doctor(network, [(pictures, labels)], candidates=(1, 2)).as_json()
"""


def test_models_and_the_figures_of_the_doctor_need_no_optional_package() -> None:
    said, _ = run_without(list(EXTRAS), CORE)
    assert said.splitlines() == [f"torch.Size({shape})" for shape in ([4, 3, 16, 3], [4, 3], [2, 2])]
