"""The benchmark of eigensolvers: exponents, and the order of its rows."""

import argparse

import pytest
from benchmarks.graphs.eigensolver import arranged, exponent, measured


def rows(solver: str, power: float) -> list[dict[str, object]]:
    sizes = (100, 1000, 10_000)
    return [
        {"solver": solver, "graph": "mesh", "nodes": n, "seconds": 1e-6 * n**power, "memory, MB": 0.1 * n}
        for n in sizes
    ]


def test_exponents_are_slopes_of_logarithms() -> None:
    assert exponent(rows("dense", 1.5), "seconds") == pytest.approx(1.5)


def test_rows_come_solver_by_solver_with_their_exponents() -> None:
    found = arranged([*rows("lanczos", 1.0), *rows("dense", 3.0)])
    assert [row["solver"] for row in found] == ["dense"] * 4 + ["lanczos"] * 4
    assert (found[3]["seconds"], found[7]["seconds"]) == ("~ n^3.00", "~ n^1.00")


def test_partial_pairs_are_those_of_the_dense_solver() -> None:
    found = measured("lanczos", "random", 150, argparse.Namespace(seed=0, pairs=20, compared=200))
    assert found["eigenvalues"] < 1e-10
    assert found["projection"] < 1e-6
