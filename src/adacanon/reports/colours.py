"""Colours that pages and their scripts share."""

RAMP = (
    (68, 1, 84), (71, 44, 122), (59, 81, 139), (44, 113, 142), (33, 144, 141), (39, 173, 129), (92, 200, 99),
    (170, 220, 50), (253, 231, 37),
)  # fmt: skip
"""From the smallest to the largest value: stops at equal distances, also told apart without seeing colours."""

DIVERGING = ((33, 102, 172), (146, 197, 222), (247, 247, 247), (244, 165, 130), (178, 24, 43))
"""From negative to positive, white in the middle."""

PALETTE = (
    (31, 119, 180), (230, 126, 34), (44, 140, 84), (192, 57, 43), (126, 87, 194), (140, 86, 75), (214, 90, 160),
    (110, 110, 110), (160, 160, 30), (20, 160, 180),
)  # fmt: skip
"""For classes, which have no order."""

Colour = tuple[int, int, int]


def on_ramp(share: float, stops: tuple[Colour, ...] = RAMP) -> Colour:
    """The colour at a share from 0 to 1 of the way along the stops.

    Example:
        >>> on_ramp(0.0), on_ramp(1.0), on_ramp(0.5, ((0, 0, 0), (100, 200, 50)))
        ((68, 1, 84), (253, 231, 37), (50, 100, 25))
    """
    place = min(max(share, 0.0), 1.0) * (len(stops) - 1)
    low = min(int(place), len(stops) - 2)
    red, green, blue = (round(a + (b - a) * (place - low)) for a, b in zip(stops[low], stops[low + 1], strict=True))
    return red, green, blue


def css(colour: Colour) -> str:
    """As styles write it.

    Example:
        >>> css((255, 0, 16))
        '#ff0010'
    """
    return "#{:02x}{:02x}{:02x}".format(*colour)
