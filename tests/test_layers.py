"""The order of layers: core <- spaces, maximizers <- graphs | images | points <- experiments <- cli, and of the rooms
inside experiments.
"""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "adacanon"
CHECKS = {"arguments", "errors", "takes"}
BASE = CHECKS | {"core", "notices"}
PLACES = {"checked_files", "errors", "extras", "files", "folders", "notices"}
ENGINE = BASE | {"spaces", "maximizers", "families"}
ALLOWED = {
    "errors": set(),
    "arguments": {"errors"},
    "takes": {"arguments", "errors"},
    "extras": {"errors"},
    "files": set(),
    "checked_files": {"errors", "files"},
    "folders": set(),
    "notices": set(),
    "synchronization": set(),
    "core": CHECKS | {"notices"},
    "spaces": BASE,
    "maximizers": BASE | {"synchronization"},
    "families": BASE | {"spaces"},
    "frozen": BASE | {"checked_files"},
    "graphs": ENGINE | {"checked_files", "extras", "files", "folders"},
    "images": ENGINE,
    "points": ENGINE | {"extras"},
    "testing": ENGINE | {"points"},
    "baselines": {"errors", "extras", "points"},
    "data": PLACES,
    "training": CHECKS | {"checked_files", "extras", "files", "synchronization"},
    "reports": {"errors", "extras"},
    "deployment": ENGINE | {"extras", "files"},
    "explain": ENGINE | {"files", "graphs", "reports"},
    "runs": PLACES | {"training", "reports"},
    "experiments": ENGINE
    | PLACES
    | {"frozen", "graphs", "images", "points", "baselines", "data", "training", "runs", "reports"},
    "distillation": BASE | {"maximizers", "reports"},
    "diagnosis": ENGINE | {"files", "frozen", "images", "points", "reports"},
    "__main__": {"cli"},
    "commands": {"core", "errors", "files", "data", "diagnosis", "experiments", "reports", "runs"},
    "cli": {"errors", "extras", "commands"},
}
LAZILY = {"core/canonical.py": {"explain"}}
"""The one import upwards: ``found.save`` and ``found.show`` belong to the outcome of a search, and load the drawing of
pages when they are called.
"""
CORE_MAY_IMPORT = {"torch", "adacanon"} | set(sys.stdlib_module_names)


def layer_of(file: Path) -> str:
    return file.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports(file: Path) -> set[str]:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    names = {a.name for node in ast.walk(tree) if isinstance(node, ast.Import) for a in node.names}
    return names | {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}


def layers_imported(file: Path) -> set[str]:
    own = [name.split(".")[1] for name in imports(file) if name.startswith("adacanon.")]
    return set(own) - {layer_of(file)} - LAZILY.get(str(file.relative_to(PACKAGE)), set())


FILES = sorted(file for file in PACKAGE.rglob("*.py") if file.parent != PACKAGE or layer_of(file) != "__init__")


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(PACKAGE)))
def test_no_layer_reaches_above_itself(file: Path) -> None:
    assert layers_imported(file) <= ALLOWED[layer_of(file)]


def test_the_one_import_upwards_happens_inside_a_function() -> None:
    tree = ast.parse((PACKAGE / "core" / "canonical.py").read_text(encoding="utf-8"))
    functions = {node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    upwards = [node for node in ast.walk(tree) if _is_explain(node)]
    inside = [node for function in functions for node in ast.walk(function) if _is_explain(node)]
    checked = [
        node for block in ast.walk(tree) if isinstance(block, ast.If) for node in block.body if _is_explain(node)
    ]
    assert len(inside) == 1
    assert len(checked) == 1  # for the type checker alone
    assert set(upwards) == {*inside, *checked}


def _is_explain(node: ast.AST) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "adacanon.explain"


def modules_imported(file: Path) -> set[Path]:
    """Files of the package that a file imports, directly or through others."""
    found: set[Path] = set()
    waiting = {file}
    while waiting:
        names = [name for name in imports(waiting.pop()) if name.startswith("adacanon.")]
        files = {PACKAGE.joinpath(*name.split(".")[1:]).with_suffix(".py") for name in names}
        new = {other for other in files if other.exists()} - found
        found, waiting = found | new, waiting | new
    return found


BASELINES = [file for file in FILES if layer_of(file) == "baselines"]


@pytest.mark.parametrize("file", BASELINES, ids=lambda file: file.stem)
def test_baselines_share_networks_on_clouds_but_nothing_of_the_method(file: Path) -> None:
    """Of points they may take what knows nothing of canonicalization, and name the file: not the whole package."""
    assert "adacanon.points" not in imports(file)
    assert {layer_of(other) for other in modules_imported(file)} <= {"baselines", "points", "extras"} | CHECKS


ROOMS = {
    "graphs": {"graphs", "baselines.graphs"},
    "toy": {"graphs", "baselines.graphs"},
    "clouds": {"points", "baselines.clouds"},
    "images": {"images"},
    "molecules": {"points", "baselines.clouds"},
}
"""What each room of experiments is about; of the other applications and rivals it takes nothing."""


def room_of(file: Path) -> str:
    return file.relative_to(PACKAGE / "experiments").parts[0]


@pytest.mark.parametrize(
    "file", [file for file in FILES if layer_of(file) == "experiments"], ids=lambda file: str(file.relative_to(PACKAGE))
)
def test_rooms_of_experiments_know_their_own_field_and_no_other_room(file: Path) -> None:
    """Only the files at the top, such as the catalogue, know several rooms."""
    if room_of(file) not in ROOMS:
        return
    parts = [name.split(".")[1:] for name in imports(file) if name.startswith("adacanon.")]
    assert {part[1] for part in parts if part[0] == "experiments"} <= {room_of(file)}
    fields = {".".join(part[: 2 if part[0] == "baselines" else 1]) for part in parts}
    others = {name for room in ROOMS.values() for name in room} - ROOMS[room_of(file)]
    assert not fields & others


def test_every_room_of_experiments_is_checked() -> None:
    found = {room_of(file) for file in FILES if layer_of(file) == "experiments"}
    assert {room for room in found if not room.endswith(".py")} == set(ROOMS)


def test_core_imports_torch_only() -> None:
    roots = {name.split(".")[0] for file in FILES if layer_of(file) == "core" for name in imports(file)}
    assert "torch" in roots
    assert roots <= CORE_MAY_IMPORT


def test_every_layer_is_checked() -> None:
    assert {layer_of(file) for file in FILES} == set(ALLOWED)


def test_importing_the_library_loads_nothing_heavy() -> None:
    heavy = "('roma', 'torch_geometric', 'scipy', 'lightning', 'rich', 'matplotlib', 'tyro', 'torch._dynamo')"
    program = f"import sys, adacanon; print([name for name in {heavy} if name in sys.modules])"
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"
