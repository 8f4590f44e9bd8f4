"""Docstrings as Markdown: roles such as ``:math:`` become formulas and links."""

import re
from typing import Any

from docs.hooks.public_names import identifier_of
from griffe import Extension, Object

ROLE = re.compile(r":(math|class|func|meth|mod|attr):`([^`]+)`")
REFERENCE = re.compile(r"^Reference: ", flags=re.M)
EXAMPLE = re.compile(r"^Example:$", flags=re.M)


def as_markdown(docstring: str, inside: str) -> str:
    r"""A docstring of the module ``inside`` with Markdown in place of roles.

    Example:
        >>> as_markdown(":math:`x_i` of :class:`~adacanon.points.pointnet.PointNet`, :func:`hidden`", "adacanon.points")
        '\\(x_i\\) of [`PointNet`][adacanon.points.PointNet], `hidden`'
    """
    text = ROLE.sub(lambda role: _markdown(role[1], role[2], inside), docstring)
    return EXAMPLE.sub("Examples:", REFERENCE.sub("**Reference:** ", text))  # the plural is what griffe knows


def _markdown(role: str, content: str, inside: str) -> str:
    if role == "math":
        return f"\\({' '.join(content.split())}\\)"
    target = content.removeprefix("~")
    shown = target.split(".")[-1] if content.startswith("~") else target
    identifier = identifier_of(target, inside)
    return f"[`{shown}`][{identifier}]" if identifier else f"`{shown}`"


class Roles(Extension):
    """Rewrites the docstring of every object once all are read."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = as_markdown(obj.docstring.value, obj.module.path)
