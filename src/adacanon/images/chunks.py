"""How many images a network takes at a time."""

from torch import Tensor

NUMBERS = 2**17
"""Input numbers at a time. Convolutions read their weights once per call: with the few images that the rule for other
forms would allow, that takes longer than the images themselves."""

LEAST = 8


def images_at_once(images: Tensor) -> int:
    """For images (batch, channels, height, width): 42 of 3 x 32 x 32, and never fewer than 8."""
    return max(LEAST, NUMBERS // images[0].numel()) if len(images) else LEAST
