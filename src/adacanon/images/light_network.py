"""A network on small images that costs little: what orders candidates before the network itself looks at them."""

from torch import nn


def light_network(channels: int, outputs: int, *, widths: tuple[int, int] = (8, 16)) -> nn.Sequential:
    """Two convolutions, each with a normalization, the first one at every second pixel; averages over nine parts of the
    image; a linear layer.

    Shape:
        (batch, channels, height, width) -> (batch, outputs), for images of any size
    """
    first, second = widths
    return nn.Sequential(
        *_convolution(channels, first, stride=2),
        *_convolution(first, second),
        nn.AdaptiveAvgPool2d(3),
        nn.Flatten(),
        nn.Linear(9 * second, outputs),
    )


def _convolution(inputs: int, outputs: int, *, stride: int = 1) -> tuple[nn.Module, ...]:
    convolution = nn.Conv2d(inputs, outputs, 3, stride=stride, padding=1, bias=False)
    return convolution, nn.BatchNorm2d(outputs), nn.ReLU()
