"""Files of the repository outside ``docs/`` that are pages of the site, and links between them.

On GitHub a page links to ``../results/toy.md``. In the site the same file is the page ``results/toy.md``.
"""

import posixpath
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
TOP_PAGES = ("ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
NOTEBOOK = re.compile(r"^(notebooks/\w+)\.py$")
LINK = re.compile(r"(\]\()(?![a-z]+:|#|/)([^)#\s]+)")


def report_pages() -> list[str]:
    """The generated reports, one for each table."""
    return sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "results").glob("*.md"))


def files_from_elsewhere() -> dict[str, Path]:
    """Address in the site and file of everything that the site shows and that is not in ``docs/``."""
    pictures = (path.relative_to(ROOT).as_posix() for path in (ROOT / "results" / "figures").glob("*.png"))
    return {name: ROOT / name for name in (*TOP_PAGES, *report_pages(), *sorted(pictures))}


def address_in_site(path: str) -> str:
    """Where a file of the repository is found in the site; a notebook is a page there."""
    path = "index.md" if path == "README.md" else path.removeprefix("docs/")
    return NOTEBOOK.sub(r"\1.md", path)


def address_in_repository(address: str) -> str:
    """Where a page of the site comes from."""
    return address if address in files_from_elsewhere() else f"docs/{address}"


def with_site_links(markdown: str, address: str) -> str:
    """The text of a page whose links to files of the repository lead to pages of the site."""
    here = posixpath.dirname(address_in_repository(address))

    def moved(link: re.Match[str]) -> str:
        target = address_in_site(posixpath.normpath(posixpath.join(here, link[2])))
        return link[1] + posixpath.relpath(target, posixpath.dirname(address) or ".")

    return LINK.sub(moved, markdown)
