"""Pictures as bytes: figures of matplotlib, and small images.

Figures are made without pyplot, which would keep them in memory and choose a window system for the whole process.
"""

import base64
import io
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import Tensor

from adacanon.extras import optional

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KINDS = {"png": "image/png", "svg": "image/svg+xml"}
SETTINGS = {"svg.fonttype": "none", "svg.hashsalt": "adacanon"}
"""Words in an SVG stay words, and the same figure gives the same bytes."""


def new_figure(width: float, height: float) -> "Figure":
    """An empty figure of so many inches, whose parts make room for each other."""
    with optional("A picture"):
        from matplotlib.figure import Figure
    return Figure(figsize=(width, height), layout="constrained")


def figure_bytes(figure: "Figure", *, kind: Literal["png", "svg"] = "png", dpi: int = 110) -> bytes:
    """The content of a picture file; ``dpi`` are the pixels per inch of a PNG."""
    from matplotlib import rc_context

    buffer = io.BytesIO()
    with rc_context(SETTINGS):
        figure.savefig(buffer, format=kind, dpi=dpi, metadata={"Date": None} if kind == "svg" else None)
    return buffer.getvalue()


def image_bytes(image: Tensor) -> bytes:
    """A PNG of an image (channels, height, width) with values in [0, 1].

    One or three channels are shown as they are; of any other number, the mean.
    """
    with optional("A picture of an image"):
        from PIL import Image

    if image.shape[0] not in (1, 3):
        image = image.mean(0, keepdim=True)
    pixels = (image.detach().double().clamp(0, 1) * 255).round().to(torch.uint8).permute(1, 2, 0).cpu().numpy()
    buffer = io.BytesIO()
    Image.fromarray(pixels if pixels.shape[2] == 3 else pixels[..., 0]).save(buffer, format="PNG", optimize=True)
    return buffer.getvalue()


def data_address(content: bytes, *, kind: Literal["png", "svg"] = "png") -> str:
    """A picture as an address that holds it, so that a page needs no second file."""
    return f"data:{KINDS[kind]};base64,{base64.b64encode(content).decode()}"


def open_frame(axis: Any) -> None:
    """Remove the frame of a plot at the top and to the right."""
    axis.spines[["top", "right"]].set_visible(False)
