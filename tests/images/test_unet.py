"""The U-Net: an answer for every pixel, that depends on the whole image, and as layers applied one by one give it."""

import pytest
import torch
from torch.nn import functional

from adacanon.errors import InputError, ShapeError
from adacanon.images import UNet


def test_it_is_what_its_layers_give_one_by_one() -> None:
    network = UNet(3, channels=2, widths=(4, 6, 8)).eval()
    x = torch.randn(2, 2, 8, 12)
    first = network.down[0](x)
    second = network.down[1](functional.max_pool2d(first, 2))
    third = network.down[2](functional.max_pool2d(second, 2))
    up = network.up[0](torch.cat([third.repeat_interleave(2, 2).repeat_interleave(2, 3), second], 1))
    up = network.up[1](torch.cat([up.repeat_interleave(2, 2).repeat_interleave(2, 3), first], 1))
    torch.testing.assert_close(network(x), network.scores(up))


def test_an_answer_depends_on_pixels_far_away() -> None:
    torch.manual_seed(0)
    network = UNet(6).eval()
    image = torch.rand(1, 1, 40, 40, requires_grad=True)
    network(image)[0, :, 8, 8].sum().backward()
    assert image.grad is not None
    assert float(image.grad[0, 0, 30:, 30:].abs().max()) > 0


def test_an_image_has_the_same_answer_alone_and_in_a_batch() -> None:
    network, images = UNet(6).eval(), torch.rand(5, 1, 16, 16)
    torch.testing.assert_close(network(images)[3:4], network(images[3:4]))


def test_it_is_small() -> None:
    assert 50_000 < sum(parameter.numel() for parameter in UNet(6).parameters()) < 200_000


def test_sides_that_do_not_halve_are_refused() -> None:
    with pytest.raises(ShapeError, match="that 8 divides, got"):
        UNet(6)(torch.zeros(1, 1, 42, 40))
    with pytest.raises(InputError, match="two resolutions or more"):
        UNet(6, widths=(8,))
