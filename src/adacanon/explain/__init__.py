"""Pages of what a model saw and chose: ``found.save("page.html")``."""

from adacanon.explain.answer_page import page
from adacanon.explain.shown import Shown

__all__ = ["Shown", "page"]
