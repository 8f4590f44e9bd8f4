"""ResNet-18 as one function of its weights by name, written from the table of the paper (He et al., CVPR 2016)."""

from torch import Tensor
from torch.nn.functional import avg_pool2d, batch_norm, conv2d, linear, max_pool2d, relu

STRIDES = {"layer1": 1, "layer2": 2, "layer3": 2, "layer4": 2}


def resnet18(weights: dict[str, Tensor], x: Tensor) -> Tensor:
    x = relu(normalised(weights, "bn1", conv2d(x, weights["conv1.weight"], stride=2, padding=3)))
    x = max_pool2d(x, 3, stride=2, padding=1)
    for layer, stride in STRIDES.items():
        x = block(weights, f"{layer}.0", x, stride)
        x = block(weights, f"{layer}.1", x, 1)
    x = avg_pool2d(x, tuple(x.shape[2:])).flatten(1)
    return linear(x, weights["fc.weight"], weights["fc.bias"])


def block(weights: dict[str, Tensor], name: str, x: Tensor, stride: int) -> Tensor:
    y = conv2d(x, weights[f"{name}.conv1.weight"], stride=stride, padding=1)
    y = relu(normalised(weights, f"{name}.bn1", y))
    y = normalised(weights, f"{name}.bn2", conv2d(y, weights[f"{name}.conv2.weight"], padding=1))
    if f"{name}.downsample.0.weight" in weights:
        x = conv2d(x, weights[f"{name}.downsample.0.weight"], stride=stride)
        x = normalised(weights, f"{name}.downsample.1", x)
    return relu(x + y)


def normalised(weights: dict[str, Tensor], name: str, x: Tensor) -> Tensor:
    mean, variance, scale, shift = (
        weights[f"{name}.{key}"] for key in ("running_mean", "running_var", "weight", "bias")
    )
    return batch_norm(x, mean, variance, scale, shift)
