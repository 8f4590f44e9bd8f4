"""Use a wheel as a new user does: ``python .ci/check_wheel.py dist/NAME.whl``

Every file of the package must be in the wheel, data and templates too. The wheel is installed without extras in an
empty environment with the pinned torch. It must not exchange torch, it must bring only its few dependencies, and
``.ci/fresh_user.py`` must run there, away from the sources.
"""

import os
import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ROOT / "src"
BROUGHT = {"adacanon", "numpy", "roma"}
"""What the wheel may add to an environment with torch."""


def main(wheel: Path) -> int:
    inside = set(zipfile.ZipFile(wheel).namelist())
    own = {str(file.relative_to(SOURCES)) for file in SOURCES.rglob("*") if is_source(file)}
    if missing := sorted(own - inside):
        print(f"{wheel} lacks {', '.join(missing)}")
        return 1
    with tempfile.TemporaryDirectory() as folder:
        failure = use(wheel.resolve(), Path(folder))
    print(failure or f"{wheel}: {len(own)} files of the package, installed and used")
    return 1 if failure else 0


def use(wheel: Path, folder: Path) -> str:
    """Install the wheel in an empty environment and run a program of a new user; what is wrong, or nothing."""
    venv.create(folder / "venv", with_pip=True)
    python = folder / "venv" / "bin" / "python"
    install(python, pinned_torch())
    before = installed(python)
    install(python, str(wheel))
    after = installed(python)
    if after["torch"] != before["torch"]:
        return f"{wheel} exchanged torch {before['torch']} for {after['torch']}"
    if surplus := sorted(set(after) - set(before) - BROUGHT):
        return f"{wheel} brings {', '.join(surplus)}, which belong to extras"
    program = folder / "fresh_user.py"
    program.write_bytes((ROOT / ".ci" / "fresh_user.py").read_bytes())
    done = subprocess.run([python, program], cwd=folder, env=own_environment(folder))
    return f"{program.name} failed" if done.returncode else ""


def pinned_torch() -> str:
    """The line of the lock file."""
    lines = (ROOT / "requirements.lock").read_text().splitlines()
    return next(line for line in lines if line.startswith("torch=="))


def install(python: Path, what: str) -> None:
    options = ["-qq", "--disable-pip-version-check", "--no-compile"]
    subprocess.run([python, "-m", "pip", "install", *options, what], check=True, cwd="/", env=own_environment())


def installed(python: Path) -> dict[str, str]:
    """Versions by names."""
    command = [python, "-m", "pip", "freeze", "--all", "--disable-pip-version-check"]
    answer = subprocess.run(command, check=True, capture_output=True, text=True, env=own_environment())
    names = (line.replace(" @ ", "==").partition("==") for line in answer.stdout.splitlines())
    return {name.lower(): version for name, _, version in names}


def own_environment(folder: Path | None = None) -> dict[str, str]:
    """Without the paths of this checkout; caches and data are in the folder."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "ADACANON", "VIRTUAL"))}
    return kept if folder is None else {**kept, "ADACANON_CACHE": str(folder / "cache")}


def is_source(file: Path) -> bool:
    return file.is_file() and "__pycache__" not in file.parts


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1])))
