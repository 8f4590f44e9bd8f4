"""A page in a notebook, or to be saved."""

from dataclasses import dataclass, field
from pathlib import Path

from adacanon.files import write_whole


@dataclass(frozen=True)
class Shown:
    """A page, which a notebook displays in a frame of its own.

    Attributes:
        html: the text of the page.
        height: of the frame, in pixels.

    Example:
        >>> Shown("A page")
        <a page of 6 characters; a notebook displays it, elsewhere use found.save("page.html")>
    """

    html: str = field(repr=False)
    height: int = 800

    def __repr__(self) -> str:
        size = f"{len(self.html)} characters"
        return f'<a page of {size}; a notebook displays it, elsewhere use found.save("page.html")>'

    def _repr_html_(self) -> str:
        """The page in a frame, so that its styles and scripts do not meet those of the notebook."""
        from adacanon.reports.pages import render

        return render("frame.html", {"html": self.html, "height": self.height, "title": "What the model saw"})

    def save(self, path: str | Path) -> Path:
        """Write the page to a file, whole or not at all."""
        path = Path(path)
        write_whole(path, self.html.encode())
        return path
