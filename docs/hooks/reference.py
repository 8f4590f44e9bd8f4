"""The pages of the API reference: every public name, described where its home is and linked elsewhere."""

import importlib
import inspect
from itertools import groupby

from docs.hooks.docstrings import as_markdown
from docs.hooks.public_names import PublicName, public_names, summary_of


def reference_pages() -> dict[str, str]:
    """Address and Markdown of one page per package."""
    by_package = groupby(public_names(), key=lambda name: name.package)
    return {f"api/{package}.md": _page(package, list(names)) for package, names in by_package}


def _page(package: str, names: list[PublicName]) -> str:
    introduction = as_markdown(inspect.getdoc(importlib.import_module(package)) or "", package)
    lines = "\n".join(_line(name) for name in names)
    described = "\n\n".join(f"::: {name.identifier}" for name in names if name.described_here)
    return f"# {package}\n\n{introduction}\n\n{lines}\n\n{described}\n"


def _line(name: PublicName) -> str:
    return f"- [`{name.name}`][{name.identifier}]: {as_markdown(summary_of(name.value), name.home)}"
