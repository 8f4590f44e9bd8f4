"""Layouts, charts and tables, against networkx and against the numbers that they show."""

import re

import networkx
import pytest
import torch

from adacanon.core import Graph, Numbers, Pixels, Points
from adacanon.explain.charts import Axis, Curve, bars, curves, round_numbers
from adacanon.explain.drawn import MOST_POINTS, Clouds, drawn
from adacanon.explain.drawn_graphs import graph_as_svg, layout, path_lengths
from adacanon.explain.drawn_numbers import numbers_as_svg


def edges_of(graph: networkx.Graph) -> torch.Tensor:
    return torch.tensor(list(graph.edges)).T


class TestLayout:
    @pytest.mark.parametrize("seed", range(3))
    def test_path_lengths_are_those_of_networkx(self, seed: int) -> None:
        graph = networkx.gnp_random_graph(20, 0.1, seed=seed)
        found, expected = path_lengths(edges_of(graph), 20), dict(networkx.all_pairs_shortest_path_length(graph))
        longest = max(length for lengths in expected.values() for length in lengths.values())
        for a in range(20):
            for b in range(20):
                assert found[a, b] == expected[a].get(b, longest + 1)

    def test_a_cycle_is_drawn_as_a_circle(self) -> None:
        x = layout(edges_of(networkx.cycle_graph(12)), 12)
        radius = x.norm(dim=1)
        assert float(radius.std() / radius.mean()) < 0.02
        sides = (x - x.roll(-1, 0)).norm(dim=1)
        assert float(sides.std() / sides.mean()) < 0.05

    def test_a_square_grid_is_drawn_without_crossings_of_its_sides(self) -> None:
        graph = networkx.convert_node_labels_to_integers(networkx.grid_2d_graph(5, 5))
        x, edges = layout(edges_of(graph), 25), edges_of(graph)
        lengths = (x[edges[0]] - x[edges[1]]).norm(dim=1)
        assert float(lengths.min()) > 0.5 * float(lengths.max())

    @pytest.mark.parametrize("nodes", [1, 2, 3])
    def test_small_graphs_and_graphs_without_edges_have_places(self, nodes: int) -> None:
        markup, said = graph_as_svg(Graph(torch.zeros(2, 0, dtype=torch.int64), torch.ones(nodes, 1)))
        assert markup.count("<circle") == nodes
        assert "nan" not in markup
        assert f"A graph of {nodes} nodes and 0 edges" in said

    def test_edges_in_both_directions_and_loops_count_once(self) -> None:
        edges = torch.tensor([[0, 1, 1, 2], [1, 0, 1, 0]])
        assert "3 nodes and 2 edges" in graph_as_svg(Graph(edges, torch.ones(3, 1)))[1]

    def test_a_graph_too_large_to_draw_is_told(self) -> None:
        assert "too many nodes to be drawn" in graph_as_svg(Graph(torch.zeros(2, 0).long(), torch.ones(700, 1)))[1]

    def test_channels_have_a_picture_each_and_a_sign_a_colour(self) -> None:
        values = torch.tensor([[1.0, 0.0, 5.0], [-1.0, 0.0, 5.0]])
        markup, said = graph_as_svg(Graph(torch.tensor([[0], [1]]), values))
        assert re.findall(r'r="[\d.]+" fill="(#\w+)"', markup) == ["#b2182b", "#2166ac", "#f7f7f7", "#f7f7f7"]
        assert "Colours show the first 2 of them" in said


class TestCharts:
    @pytest.mark.parametrize("bounds", [(0.0, 1.0), (-3.2, 17.0), (0.00123, 0.00177), (-1e6, 5e6), (9.99, 10.01)])
    def test_round_numbers_lie_inside_and_are_a_handful(self, bounds: tuple[float, float]) -> None:
        low, high = bounds
        found = round_numbers(low, high)
        assert 2 <= len(found) <= 6
        assert all(low - 1e-9 * abs(low) <= tick <= high + 1e-9 * abs(high) for tick in found)

    def test_curves_go_through_their_points(self) -> None:
        x, y = Axis("x", 0.0, 2.0), Axis("y", 0.0, 1.0)
        markup = curves([Curve("a & b", [(0.0, 0.0), (2.0, 1.0)])], x, y, label="said")
        assert 'd="M72.0 216.0 L468.0 12.0"' in markup
        assert "a &amp; b" in markup

    def test_bars_are_as_high_as_their_values(self) -> None:
        markup = bars([2.0, 1.0, -1.0], ["a", "b", "<c>"], "x", Axis("y", -2.0, 2.0), marked=1, label="said")
        heights = [float(height) for height in re.findall(r'height="([\d.]+)" fill', markup)]
        assert heights[0] == pytest.approx(2 * heights[1]) == pytest.approx(2 * heights[2])
        assert "<title>&lt;c&gt;</title>" in markup
        assert markup.count("#c2410c") == 1


class TestPictures:
    def test_a_table_names_its_groups_and_says_its_range(self) -> None:
        numbers = Numbers(torch.arange(8.0).reshape(4, 2) - 3, blocks=(("top", 1), ("rest", 3)))
        markup, said = numbers_as_svg(numbers)
        assert ">top</text>" in markup
        assert ">rest</text>" in markup
        assert said.startswith("A table of 4 × 2 numbers from -3 to 4")

    def test_a_large_table_says_what_is_left_out(self) -> None:
        assert "The first 96 × 64 are drawn." in numbers_as_svg(Numbers(torch.randn(200, 300)))[1]

    def test_images_of_other_ranges_are_stretched_and_large_ones_reduced(self) -> None:
        shown = drawn(Pixels(4 * torch.rand(3, 400, 300) - 2), Clouds())
        assert "whose values from -2 to 2 are shown" in shown.words
        assert shown.words.startswith("An image of 400 × 300 pixels")
        assert len(shown.content) < 256 * 192 * 3 * 2

    def test_large_clouds_say_how_many_points_are_drawn(self) -> None:
        clouds = Clouds()
        shown = drawn(Points(torch.randn(5000, 3)), clouds)
        assert shown.words == f"A cloud of 5000 points, of which {MOST_POINTS} are drawn."
        assert clouds.data[0]["points"] == MOST_POINTS
