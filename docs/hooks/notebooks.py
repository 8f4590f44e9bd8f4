"""Notebooks, executed: ``docs/notebooks/*.py`` in percent format become pages with what their cells return."""

import base64
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jupytext
import matplotlib.font_manager  # noqa: F401, finds the fonts here: a notebook that had to would say so
import nbformat
from nbclient import NotebookClient
from traitlets.config import Config

NOTEBOOKS = Path(__file__).parents[1] / "notebooks"
SECONDS = 300
PIPES = Config({"KernelManager": {"transport": "ipc"}})  # opens no port of the machine
ENVIRONMENT = {
    "MPLBACKEND": "module://matplotlib_inline.backend_inline",
    "PYTHONWARNINGS": "ignore:IProgress not found",  # of a progress bar that no notebook shows
}


def notebook_pages() -> dict[str, str | bytes]:
    """Address and content of every page, of its pictures, and of the notebook itself for readers to run."""
    pages: dict[str, str | bytes] = {}
    for path in sorted(NOTEBOOKS.glob("*.py")):
        pages |= page_of(path.stem, executed(path))
    return pages


def executed(path: Path) -> Any:
    """The notebook with the outputs of its cells; a cell that raises ends the build."""
    notebook = jupytext.read(path)
    client = NotebookClient(notebook, timeout=SECONDS, kernel_name="python3", coalesce_streams=True, config=PIPES)
    client.execute(env=os.environ | ENVIRONMENT)
    return notebook


def page_of(name: str, notebook: Any) -> dict[str, str | bytes]:
    parts: list[str] = []
    files: dict[str, str | bytes] = {}
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            parts.append(cell.source)
            continue
        parts.append(_fenced("python", cell.source))
        for kind, content in _outputs(cell):
            if kind == "png":
                picture = f"{name}-{len(files) + 1}.png"
                files[f"notebooks/{picture}"] = base64.b64decode(content)
                parts.append(f"![What the cell above draws]({picture})")
            else:
                parts.append(_fenced("text", content))
    parts.append(f"[Download this notebook]({name}.ipynb).")
    files[f"notebooks/{name}.ipynb"] = nbformat.writes(notebook)
    return {f"notebooks/{name}.md": "\n\n".join(parts), **files}


def _fenced(language: str, content: str) -> str:
    return f"```{language}\n{content.rstrip()}\n```"


def _outputs(cell: Any) -> Iterator[tuple[str, str]]:
    """What a cell prints, returns and draws. Warnings and progress belong nowhere: they end the build."""
    for output in cell.outputs:
        if output.output_type == "stream" and output.name == "stdout":
            yield "text", output.text
        elif output.output_type in ("display_data", "execute_result"):
            kind = "image/png" if "image/png" in output.data else "text/plain"
            yield kind.removeprefix("image/").removeprefix("text/"), output.data[kind]
        else:
            raise RuntimeError(f"A cell wrote what no page shows: {output}. The cell:\n{cell.source}")
