"""What a batch of images must look like; every family and function on images checks with these."""

from typing import Any

from torch import Tensor

from adacanon.errors import InputError, ShapeError


def check_images(caller: str, images: Any) -> Tensor:
    """The images; what is not a floating-point tensor (batch, channels, height, width) with pixels is refused."""
    expected = f"{caller} expects a tensor of images of shape (batch, channels, height, width)"
    if not isinstance(images, Tensor):
        raise ShapeError(f"{expected}, got {type(images).__name__}. Hint: torch.as_tensor(images)")
    if images.dim() != 4:
        hint = {2: "images[None, None] for one grey image", 3: "images[:, None] for grey images, image[None] for one"}
        raise ShapeError(f"{expected}, got {tuple(images.shape)}. Hint: {hint.get(images.dim(), 'four axes')}")
    if 0 in images.shape[1:]:
        raise ShapeError(f"{expected}, got {tuple(images.shape)}, images without pixels. Hint: drop them")
    if not images.is_floating_point():
        raise InputError(f"{caller} expects floating-point pixels, got {images.dtype}. Hint: images.float() / 255")
    return images


def check_pairs(caller: str, name: str, parameters: Tensor, shape: tuple[int, ...]) -> None:
    """Refuse parameters that are not one row of the given shape per image."""
    if tuple(parameters.shape) != shape or not parameters.is_floating_point():
        raise ShapeError(
            f"{caller} expects {name} of shape {shape}, one per image, got {tuple(parameters.shape)} of "
            f"{parameters.dtype}. Hint: images[owner] lines the images up with a list of {name}"
        )
