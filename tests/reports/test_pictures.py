"""Pictures as bytes: other libraries read what was meant."""

import base64
import io
import subprocess
import sys

import numpy as np
import pytest
import torch
from PIL import Image

from adacanon.errors import MissingPackageError
from adacanon.reports.pictures import data_address, figure_bytes, image_bytes, new_figure


class TestImages:
    @pytest.mark.parametrize("channels", [1, 3])
    def test_pixels_are_read_back(self, channels: int) -> None:
        image = torch.rand(channels, 5, 7, generator=torch.Generator().manual_seed(0))
        read = np.asarray(Image.open(io.BytesIO(image_bytes(image))))
        expected = (image * 255).round().byte().permute(1, 2, 0).numpy()
        assert np.array_equal(read, expected if channels == 3 else expected[..., 0])

    def test_other_numbers_of_channels_show_their_mean(self) -> None:
        read = np.asarray(Image.open(io.BytesIO(image_bytes(torch.tensor([0.0, 1.0]).reshape(2, 1, 1)))))
        assert read.tolist() == [[128]]

    def test_values_outside_are_cut_off(self) -> None:
        read = np.asarray(Image.open(io.BytesIO(image_bytes(torch.tensor([[[-1.0, 2.0]]])))))
        assert read.tolist() == [[0, 255]]


class TestFigures:
    def test_a_png_has_the_size_that_was_asked_for(self) -> None:
        assert Image.open(io.BytesIO(figure_bytes(new_figure(2, 1), dpi=50))).size == (100, 50)

    def test_no_window_system_is_chosen_for_the_process(self) -> None:
        """A notebook keeps its own way to show figures."""
        program = (
            "import sys; from adacanon.reports.pictures import figure_bytes, new_figure; figure = new_figure(1, 1)\n"
            "figure.subplots(); figure_bytes(figure); print('matplotlib.pyplot' in sys.modules)"
        )
        answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        assert answer.stdout.strip() == "False"

    def test_without_matplotlib_the_hint_says_what_to_install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
        with pytest.raises(MissingPackageError, match=r"matplotlib.*adacanon\[experiments\]"):
            new_figure(1, 1)


def test_an_address_holds_the_picture() -> None:
    kind, content = data_address(b"<svg/>", kind="svg").split(",")
    assert kind == "data:image/svg+xml;base64"
    assert base64.b64decode(content) == b"<svg/>"
