"""A network on small images that costs little: what orders candidates before the network itself looks at them."""

from torch import nn


def light_network(channels: int, outputs: int, *, widths: tuple[int, int] = (8, 16)) -> nn.Sequential:
    """Two convolutions, each with a normalization; averages over nine parts of the image; a linear layer.

    Shape:
        (batch, channels, height, width) -> (batch, outputs), for images of 2 x 2 pixels and more
    """
    first, second = widths
    return nn.Sequential(
        *_convolution(channels, first),
        nn.MaxPool2d(2),
        *_convolution(first, second),
        nn.AdaptiveAvgPool2d(3),
        nn.Flatten(),
        nn.Linear(9 * second, outputs),
    )


def _convolution(inputs: int, outputs: int) -> tuple[nn.Module, ...]:
    return nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU()
