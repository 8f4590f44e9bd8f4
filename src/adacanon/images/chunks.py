"""How many images a network takes at a time."""

from torch import Tensor

NUMBERS = 2**17
"""Input numbers at a time. Convolutions read their weights once per call: with the few images that the rule for other
forms would allow, that takes longer than the images themselves."""

LEAST = 8

SMALL, FEW = 2**10, 24
"""Images of fewer numbers than this are taken so many at a time: what the layers of a small network make of more falls
out of the cache. 48 images of 28 x 28 then take a small network a seventh less time."""


def images_at_once(images: Tensor) -> int:
    """For images (batch, channels, height, width): 42 of 3 x 32 x 32, 24 of 28 x 28, and never fewer than 8."""
    if not len(images):
        return LEAST
    numbers = images[0].numel()
    return FEW if numbers < SMALL else max(LEAST, NUMBERS // numbers)
