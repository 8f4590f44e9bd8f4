"""ResNet-18 (He et al., CVPR 2016), with the names that torchvision gives its parameters.

Published weights load as they are, see :func:`adacanon.images.load_weights`.
"""

from itertools import pairwise

from torch import Tensor, nn

from adacanon.errors import InputError, ShapeError
from adacanon.images.checks import check_images
from adacanon.takes import takes, whole

WIDTHS = (64, 128, 256, 512)


class Block(nn.Module):
    r"""Two convolutions F and a shortcut, :math:`x \mapsto \max(0, F(x) + Wx)`, with W = 1 where shapes agree."""

    def __init__(self, inputs: int, outputs: int, *, stride: int = 1) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride=stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.downsample = None if inputs == outputs else _projection(inputs, outputs, stride)

    def forward(self, x: Tensor) -> Tensor:
        shortcut = x if self.downsample is None else self.downsample(x)
        x = self.bn1(self.conv1(x)).relu_()
        return (self.bn2(self.conv2(x)) + shortcut).relu_()


class ResNet18(nn.Module):
    """Eighteen layers: a convolution, eight blocks of two, and a linear classifier on 512 features.

    Args:
        classes: of the classifier.
        channels: of the images.

    Shape:
        (batch, channels, height, width) -> (batch, classes)

    Example:
        >>> len(ResNet18().state_dict())
        122
    """

    @takes(classes=whole(), channels=whole())
    def __init__(self, classes: int = 1000, *, channels: int = 3) -> None:
        super().__init__()
        if classes < 1 or channels < 1:
            raise InputError(f"ResNet18 needs classes and channels, got classes={classes}, channels={channels}")
        self.conv1 = nn.Conv2d(channels, WIDTHS[0], 7, stride=2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(WIDTHS[0])
        self.maxpool = nn.MaxPool2d(3, stride=2, padding=1)
        self.layer1 = nn.Sequential(Block(WIDTHS[0], WIDTHS[0]), Block(WIDTHS[0], WIDTHS[0]))
        self.layer2, self.layer3, self.layer4 = (
            nn.Sequential(Block(a, b, stride=2), Block(b, b)) for a, b in pairwise(WIDTHS)
        )
        self.fc = nn.Linear(WIDTHS[-1], classes)
        for layer in self.modules():
            if isinstance(layer, nn.Conv2d):
                nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")

    def features(self, images: Tensor) -> Tensor:
        """What the classifier sees, (batch, 512)."""
        check_images("ResNet18", images)
        if images.shape[1] != self.conv1.in_channels:
            raise ShapeError(
                f"ResNet18 has {self.conv1.in_channels} channels, got images of shape {tuple(images.shape)}. "
                "Hint: grey images become colour images by images.expand(-1, 3, -1, -1)"
            )
        x = self.maxpool(self.bn1(self.conv1(images)).relu_())
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return x.mean((2, 3))

    def forward(self, images: Tensor) -> Tensor:
        return self.fc(self.features(images))


def _projection(inputs: int, outputs: int, stride: int) -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride=stride, bias=False), nn.BatchNorm2d(outputs))
