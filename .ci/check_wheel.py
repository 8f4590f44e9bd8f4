"""Install a wheel into an empty folder and use it from there: ``python .ci/check_wheel.py dist/NAME.whl``

Every file of the package must be in the wheel, data and templates too, and the command must start without the sources.
"""

import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

SOURCES = Path(__file__).parents[1] / "src"


def main(wheel: Path) -> int:
    inside = set(zipfile.ZipFile(wheel).namelist())
    own = {str(file.relative_to(SOURCES)) for file in SOURCES.rglob("*") if is_source(file)}
    if missing := sorted(own - inside):
        print(f"{wheel} lacks {', '.join(missing)}")
        return 1
    with tempfile.TemporaryDirectory() as folder:
        install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", folder, str(wheel)]
        subprocess.run([*install, "--disable-pip-version-check"], check=True)
        environment = {**os.environ, "PYTHONPATH": folder}
        program = (
            "import adacanon, sys; print(adacanon.__file__); sys.exit(not adacanon.__file__.startswith(sys.argv[1]))"
        )
        for words in (["-c", program, folder], ["-m", "adacanon", "--version"], ["-m", "adacanon", "report", "toy"]):
            subprocess.run([sys.executable, *words], check=True, cwd=folder, env=environment)
    print(f"{wheel}: {len(own)} files of the package, installed and used")
    return 0


def is_source(file: Path) -> bool:
    return file.is_file() and "__pycache__" not in file.parts


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1])))
