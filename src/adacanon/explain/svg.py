"""Elements of SVG, every value escaped by the writer of the standard library."""

from typing import Any
from xml.etree.ElementTree import Element, tostring

Content = Element | str
"""Another element, or text."""


class Svg(str):
    """A whole picture as markup, which templates show as it is.

    Example:
        >>> picture(10, 5, element("text", "a < b"), label="text").count("a &lt; b")
        1
    """

    def __html__(self) -> str:
        return self


def element(name: str, *content: Content, **attributes: Any) -> Element:
    """An element; underscores in names of attributes stand for hyphens.

    Example:
        >>> text = element("text", "a < b", x=1.5, text_anchor="middle")
        >>> text.text, text.attrib
        ('a < b', {'x': '1.5', 'text-anchor': 'middle'})
    """
    made = Element(name, {key.rstrip("_").replace("_", "-"): _text(value) for key, value in attributes.items()})
    for part in content:
        if isinstance(part, str):
            made.text = part
        else:
            made.append(part)
    return made


def picture(width: float, height: float, *content: Element, label: str) -> Svg:
    """A whole picture that is as wide as its place; the label is what a screen reader says."""
    whole = element(
        "svg",
        *content,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {width:g} {height:g}",
        role="img",
        aria_label=label,
        class_="drawn",
    )
    return Svg(tostring(whole, encoding="unicode"))


def _text(value: Any) -> str:
    """Numbers with no more digits than a screen has pixels."""
    return f"{round(value, 2):g}" if isinstance(value, float) else str(value)
