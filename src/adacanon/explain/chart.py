"""A picture of how scores depend on something, with its title and what it says in words."""

from dataclasses import dataclass

from torch import Tensor

from adacanon.explain.drawn import Drawn
from adacanon.explain.svg import Svg


@dataclass(frozen=True)
class Chart:
    """A picture of a landscape.

    Example:
        >>> from adacanon.explain.svg import picture
        >>> svg_chart("Score", picture(1, 1, label="nothing"), "It is flat.").picture.kind
        'markup'
    """

    title: str
    picture: Drawn
    words: str


def svg_chart(title: str, markup: Svg, words: str) -> Chart:
    """A chart that is drawn as SVG."""
    return Chart(title, Drawn("markup", markup, words), words)


def range_in_words(values: Tensor, chosen: float) -> str:
    """Where the chosen score stands among others.

    Example:
        >>> import torch
        >>> range_in_words(torch.tensor([0.0, 3.0]), 2.0)
        'Scores go from 0 to 3; the chosen one has 2, and 1 of 2 shown are above it: the search did not find them.'
    """
    low, high = float(values.min()), float(values.max())
    better = int((values > chosen + 1e-3 * max(high - low, abs(chosen) * 1e-3)).sum())
    beaten = "none shown is above it."
    if better:
        beaten = f"{better} of {values.numel()} shown are above it: the search did not find them."
    return f"Scores go from {low:.4g} to {high:.4g}; the chosen one has {chosen:.4g}, and {beaten}"
