"""Charts and clouds: values lie where the axes say, and nothing is cut off."""

import io
import re
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
import torch
from PIL import Image

from adacanon.reports.charts import Axis, Series, cloud_bytes, line_chart, round_ticks
from adacanon.reports.pictures import figure_bytes

X, Y = Axis("K", (1, 4, 16), logarithmic=True), Axis("%", (0, 50, 100))
SVG = "{http://www.w3.org/2000/svg}"


def drawn(*series: Series, x: Axis = X, y: Axis = Y) -> ElementTree.Element:
    return ElementTree.fromstring(figure_bytes(line_chart(series, x, y), kind="svg"))


def path_of(elements: Any) -> list[tuple[float, float]]:
    text = next(element.attrib["d"] for element in elements if element.tag == f"{SVG}path")
    return [(float(x), float(y)) for x, y in re.findall(r"[ML] (\S+) (\S+)", text)]


def group(root: ElementTree.Element, name: str) -> Any:
    return next(element for element in root.iter(f"{SVG}g") if element.attrib.get("id") == name)


class TestLines:
    def test_values_lie_where_the_axes_say(self) -> None:
        """From corner to corner, and in the middle at the middle, which is 4 on a logarithmic axis."""
        root = drawn(Series("a", [(1, 0), (4, 50), (16, 100)], "#123456"))
        (left, bottom), (x, y), (right, top) = path_of(group(root, "series-0"))
        assert (x, y) == pytest.approx(((left + right) / 2, (bottom + top) / 2))
        width, height = (float(size) for size in root.attrib["viewBox"].split()[2:])
        assert 0 < left < 0.25 * width < 0.75 * width < right < width
        assert 0 < top < 0.25 * height < 0.5 * height < bottom < height

    def test_names_are_words_and_escaped(self) -> None:
        content = figure_bytes(line_chart([Series("a < b", [(1, 0), (16, 9)], "#123456")], X, Y), kind="svg")
        assert b">a &lt; b</text>" in content
        assert b"a < b" not in content

    def test_error_bars_end_at_the_edge_and_markers_there_are_whole(self) -> None:
        line, corners = Series("a", [(1, 90), (16, 20)], "#123456", errors=[30, 30]), [(1, 0), (16, 100)]
        root = drawn(line, Series("b", corners, "#654321"))
        (_, bottom), (_, top) = path_of(group(root, "series-1"))
        bars = [path_of([path]) for path in group(root, "LineCollection_1").iter(f"{SVG}path")]
        ends = [sorted(y for _, y in bar) for bar in bars]
        per_percent = (bottom - top) / 100
        assert ends == [
            pytest.approx([top, top + 40 * per_percent]),
            pytest.approx([bottom - 50 * per_percent, bottom]),
        ]
        assert all("clip-path" not in element.attrib for element in group(root, "series-0").iter())

    def test_a_value_that_rounding_puts_beyond_the_edge_is_drawn(self) -> None:
        root = drawn(Series("a", [(1, 100 + 1e-13), (16, -1e-13)], "#123456", errors=[1, 1]))
        assert len(group(root, "series-0").findall(f".//{SVG}use")) == 2

    def test_one_number_of_candidates_is_a_chart_too(self) -> None:
        root = drawn(Series("a", [(4, 50)], "#123456", errors=[3]), x=Axis("K", (4,), logarithmic=True))
        assert len(group(root, "series-0").findall(f".//{SVG}use")) == 1

    def test_an_empty_line_is_left_out(self) -> None:
        root = drawn(Series("a", [(1, 0), (16, 9)], "#123456"), Series("empty", [], "#654321"))
        assert len(group(root, "series-0").findall(f".//{SVG}use")) == 2

    def test_the_same_chart_gives_the_same_bytes(self) -> None:
        first, second = (
            figure_bytes(line_chart([Series("a", [(1, 0), (16, 9)], "#123456")], X, Y), kind="svg") for _ in range(2)
        )
        assert first == second


class TestTicks:
    @pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (31.3, 95.7), (50.0, 50.0), (0.0, 0.02), (99.0, 100.0)])
    def test_they_enclose_the_values(self, low: float, high: float) -> None:
        ticks = round_ticks(low, high)
        assert ticks[0] <= low
        assert ticks[-1] >= high
        assert 2 <= len(ticks) <= 7
        assert ticks == sorted(set(ticks))


class TestClouds:
    def test_points_lie_where_they_are_and_those_in_front_are_darker(self) -> None:
        """x to the right, y up, z to the viewer; wherever the cloud is and however large."""
        points = torch.tensor([[1.0, 0.0, -0.9], [-1.0, 0.0, 0.9], [0.0, 1.0, 0.0], [0.0, -1.0, 0.0]])
        pixels = np.asarray(Image.open(io.BytesIO(cloud_bytes(7 * points + 3))).convert("RGBA"))[..., 3].astype(int)
        size = len(pixels)
        assert pixels.shape == (size, size)
        third = size // 3
        right, left = pixels[third:-third, -third:].max(), pixels[third:-third, :third].max()
        assert 0 < right < left
        assert min(pixels[:third, third:-third].max(), pixels[-third:, third:-third].max()) > 0
        assert pixels[:third, :third].max() == 0

    def test_a_cloud_of_one_point_is_drawn(self) -> None:
        assert np.asarray(Image.open(io.BytesIO(cloud_bytes(torch.ones(1, 3)))).convert("RGBA"))[..., 3].max() > 0
