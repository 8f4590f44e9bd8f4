"""Pages from the templates beside this file: each is one file that needs no network."""

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

from adacanon.extras import optional
from adacanon.reports.colours import PALETTE, RAMP

if TYPE_CHECKING:
    from jinja2 import Environment


def render(template: str, values: Mapping[str, object]) -> str:
    """A page from one of the templates.

    Values are escaped wherever a template shows them, and a value that is missing is an error.

    Example:
        >>> values = {"title": "a < b", "headings": ["x"], "rows": [], "notes": [], "hours": 0.0}
        >>> "a &lt; b" in render("report.html", values)
        True
    """
    return _environment().get_template(template).render(values)


@cache
def _environment() -> "Environment":
    with optional("A page"):
        from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("adacanon.reports", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.globals.update(ramp=RAMP, palette=PALETTE)
    return environment
