"""The doctor's page: its plots are drawn in a browser, and its parts are what they should be."""

import io
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from torch import nn

import adacanon
from adacanon.data.images import load_images
from adacanon.images import Preprocessing, ResNet18, load_weights
from adacanon.reports.doctor_page import AFTER, BEFORE, GIVEN
from adacanon.reports.png import to_png
from adacanon.reports.svg import Axis, Series, line_chart, nice_ticks
from cases.brought_models import half, halves
from cases.chromium import measured, screenshot
from cases.networks import cloud_network, clouds


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    images, labels = halves()
    found = adacanon.doctor(half(), [(images, labels)], families=("rotation", "truncation"), class_names=("<a>", "b&"))
    return found.save(tmp_path_factory.mktemp("page"))[0]


class TestInABrowser:
    def test_all_plots_and_pictures_are_drawn_and_nothing_is_fetched(self, page: Path, tmp_path: Path) -> None:
        found = measured(page, tmp_path)
        assert len(found["plots"]) == 6  # three for each family
        for plot in found["plots"]:
            assert min(plot["box"]) > 150
            assert len(plot["series"]) >= 2
            assert sum(length > 50 for length in plot["series"]) >= 2
            assert min(plot["texts"]) > 0
        assert len(found["pictures"]) == 2 * 6 * 3
        assert all(natural == [8, 8] and min(box) > 50 for *natural, width, height in found["pictures"]
                   for box in [(width, height)])  # fmt: skip
        assert found["requests"] == []
        assert found["overflow"] <= 0

    def test_the_lines_have_their_colours_on_the_screen(self, page: Path, tmp_path: Path) -> None:
        pixels = np.asarray(Image.open(screenshot(page, tmp_path)).convert("RGB")).astype(int)
        for colour in (BEFORE, AFTER, GIVEN):
            wanted = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
            near = (np.abs(pixels - wanted).max(2) < 12).sum()
            assert near > 300, colour

    def test_clouds_are_drawn(self, tmp_path: Path) -> None:
        network = cloud_network(dtype=torch.float32)
        found = adacanon.doctor(network, [(clouds(9, dtype=torch.float32), torch.arange(9) % 3)], candidates=(1, 4))
        drawn = measured(found.save(tmp_path / "clouds")[0], tmp_path)
        assert len(drawn["plots"]) == 3
        assert len(drawn["clouds"]) == 6 * 3
        assert all(min(box) > 50 for box in drawn["clouds"])

    @pytest.mark.data
    def test_the_page_of_the_pretrained_resnet_on_cifar(self, data_folder: Path, tmp_path: Path) -> None:
        """A classifier of class means stands in for a trained one, and small images stay small: seconds."""
        network = ResNet18()
        load_weights(network, data_folder / "weights" / "resnet18_imagenet.npz")
        network.eval().requires_grad_(False)
        data, preprocess = load_images("cifar10"), Preprocessing(32)
        few = torch.arange(0, len(data.train.labels), 20)
        features = torch.cat([network.features(preprocess(data.train.scaled(rows))) for rows in few.split(100)])
        labels = data.train.labels[few]
        means = torch.stack([features[labels == label].mean(0) for label in range(10)])
        network.fc = nn.Linear(512, 10)
        network.fc.load_state_dict({"weight": means, "bias": -means.square().sum(1) / 2})
        rows = torch.arange(0, 2000, 100)
        found = adacanon.doctor(
            nn.Sequential(preprocess, network),
            [(data.test.scaled(rows), data.test.labels[rows])],
            families=("rotation", "truncation"),
            class_names=data.class_names,
        )
        drawn = measured(found.save(tmp_path / "page")[0], tmp_path)
        assert len(drawn["plots"]) == 6
        assert all(min(plot["box"]) > 150 and max(plot["series"]) > 50 for plot in drawn["plots"])
        assert [natural[:2] for natural in drawn["pictures"]] == [[32, 32]] * 36


def test_names_are_escaped(page: Path) -> None:
    text = page.read_text()
    assert "<td>&lt;a&gt;</td><td>0</td><td>20</td></tr><tr><td>b&amp;</td><td>1</td><td>20</td>" in text
    assert "&lt;a&gt;" in text
    assert "<a>" not in text


class TestPNG:
    @pytest.mark.parametrize("channels", [1, 3])
    def test_another_library_reads_the_same_pixels(self, channels: int) -> None:
        image = torch.rand(channels, 5, 7, generator=torch.Generator().manual_seed(0))
        read = np.asarray(Image.open(io.BytesIO(to_png(image))))
        expected = (image * 255).round().byte().permute(1, 2, 0).numpy()
        assert np.array_equal(read, expected if channels == 3 else expected[..., 0])

    def test_other_numbers_of_channels_show_their_mean(self) -> None:
        read = np.asarray(Image.open(io.BytesIO(to_png(torch.tensor([0.0, 1.0]).reshape(2, 1, 1)))))
        assert read.tolist() == [[128]]


class TestCharts:
    def test_values_lie_where_the_axes_say(self) -> None:
        x, y = Axis("K", (1, 4, 16), logarithmic=True), Axis("%", (0, 50, 100))
        assert [x.share(value) for value in (1, 4, 16)] == [0, 0.5, 1]
        chart = line_chart([Series("a < b", [(1, 0), (4, 50), (16, 100)], "#123456")], x, y, title="t")
        assert 'd="M46.0 228.0 L207.0 120.0 L368.0 12.0"' in chart
        assert "a &lt; b" in chart

    @pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (31.3, 95.7), (50.0, 50.0), (0.0, 0.02), (99.0, 100.0)])
    def test_ticks_enclose_the_values(self, low: float, high: float) -> None:
        ticks = nice_ticks(low, high)
        assert ticks[0] <= low
        assert ticks[-1] >= high
        assert 2 <= len(ticks) <= 7
        assert ticks == sorted(set(ticks))
