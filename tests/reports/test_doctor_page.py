"""The doctor's page: its plots are drawn in a browser, and its parts are what they should be."""

import re
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from torch import nn

import adacanon
from adacanon.data.images import load_images
from adacanon.images import Preprocessing, ResNet18, load_weights
from adacanon.reports.doctor_charts import AFTER, BEFORE, GIVEN, percent_ticks
from cases.brought_models import half, halves
from cases.browser import CHROMIUM, DRIVER, MISSING, browser
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
        assert len(found["plots"]) == 8  # four for each family
        for plot in found["plots"]:
            assert min(plot["sizes"]) > 150
            assert len(plot["series"]) >= 2
            assert sum(length > 50 for length in plot["series"]) >= 2
            assert min(width for _, width in plot["texts"]) > 0
        assert len(found["pictures"]) == 2 * 6 * 3
        assert all(natural == [8, 8] and min(box) > 50 for *natural, width, height in found["pictures"]
                   for box in [(width, height)])  # fmt: skip
        assert found["requests"] == []
        assert found["overflow"] <= 0

    def test_every_picture_says_in_words_what_it_shows(self, page: Path, tmp_path: Path) -> None:
        found = measured(page, tmp_path)
        assert found["without"] == 0
        for plot in found["plots"]:
            names = [text for text, _ in plot["texts"] if f" {text}: " in plot["text"]]
            assert len(names) == len(plot["series"])

    @pytest.mark.skipif(CHROMIUM is None or DRIVER is None, reason=MISSING)
    def test_on_a_phone_everything_is_drawn_nothing_is_too_wide_and_the_console_is_silent(
        self, page: Path, tmp_path: Path
    ) -> None:
        with browser(tmp_path / "profile", width=390, height=844, phone=True) as opened:
            opened.open(page)
            assert opened.run("return innerWidth") == 390
            assert opened.run("return document.documentElement.scrollWidth") <= 390
            drawn = opened.run("return [...document.images].map(i => [i.complete, i.naturalWidth, i.offsetWidth])")
            assert len(drawn) == 2 * (4 + 6 * 3)
            assert all(complete and natural > 0 and 30 < width <= 390 for complete, natural, width in drawn)
            assert opened.errors() == []

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
        assert len(drawn["plots"]) == 4
        assert len(drawn["clouds"]) == 6 * 3
        assert all(min(sizes) > 50 for sizes in drawn["clouds"])

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
        assert len(drawn["plots"]) == 8
        assert all(min(plot["sizes"]) > 150 and max(plot["series"]) > 50 for plot in drawn["plots"])
        assert [natural[:2] for natural in drawn["pictures"]] == [[32, 32]] * 36


def test_names_are_escaped(page: Path) -> None:
    text = page.read_text()
    assert "<td>&lt;a&gt;</td><td>0</td><td>20</td></tr><tr><td>b&amp;</td><td>1</td><td>20</td>" in text
    assert "&lt;a&gt;" in text
    assert "<a>" not in text


def test_the_page_holds_all_that_it_shows(page: Path) -> None:
    text = page.read_text()
    addresses = re.findall(r"""(?:src|href|action)\s*=\s*["']([^"']*)""", text)
    assert addresses
    assert all(address.startswith("data:image/") for address in addresses)
    assert re.findall(r"<script|<link|@import|url\(", text) == []


@pytest.mark.parametrize(("low", "high"), [(100.0, 100.0), (0.0, 0.0), (99.7, 101.2), (-3.0, 40.0), (0.0, 103.0)])
def test_ticks_of_percents_are_percents(low: float, high: float) -> None:
    ticks = percent_ticks(low, high)
    assert 0 <= ticks[0] <= max(low, 0)
    assert min(high, 100) <= ticks[-1] <= 100
    assert ticks[-1] - ticks[0] >= 1
