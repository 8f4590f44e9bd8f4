"""Small pictures as PNG, without a library for images."""

import base64
import struct
import zlib

import torch
from torch import Tensor


def to_png(image: Tensor) -> bytes:
    """An image (channels, height, width) of one or three channels with values in [0, 1]; others show their mean."""
    if image.shape[0] not in (1, 3):
        image = image.mean(0, keepdim=True)
    pixels = (image.detach().double().clamp(0, 1) * 255).round().to(torch.uint8).permute(1, 2, 0)
    height, width, channels = pixels.shape
    lines = b"".join(b"\0" + bytes(line.flatten().tolist()) for line in pixels)
    header = struct.pack(">IIBBBBB", width, height, 8, 2 if channels == 3 else 0, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(lines, 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(name, content) for name, content in chunks)


def to_data_address(image: Tensor) -> str:
    """The picture as an address that holds it."""
    return f"data:image/png;base64,{base64.b64encode(to_png(image)).decode()}"


def _chunk(name: bytes, content: bytes) -> bytes:
    checksum = zlib.crc32(name + content)
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", checksum)
