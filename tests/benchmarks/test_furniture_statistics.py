"""Furniture is told by its shape: simple statistics say far less about the class than the points do."""

from benchmarks.clouds.furniture_statistics import parser, rows


def test_simple_statistics_say_far_less_than_the_points() -> None:
    few = parser().parse_args(["--training", "320", "--test", "160", "--epochs", "12"])
    found = {row["read"]: row["accuracy, %"] for row in rows(few)}
    assert found["upright points"] > 80
    assert max(found["root variances"], found["distances to the centre"]) < found["upright points"] - 25
    assert min(found.values()) > 100 / 8
