"""Public contract tests: the laws that a space, a family, a maximizer and an invariant or equivariant model keep.

They raise AssertionError with the law that was broken, and serve our own tests and a plug-in author's alike.
"""

from adacanon.testing.equivariance import assert_equivariant
from adacanon.testing.family_contract import check_family
from adacanon.testing.invariance import assert_invariant
from adacanon.testing.maximizer_contract import check_maximizer
from adacanon.testing.problems import Problem, circle_problem, finite_problem, rotation_problem
from adacanon.testing.space_contract import check_space

__all__ = [
    "Problem",
    "assert_equivariant",
    "assert_invariant",
    "check_family",
    "check_maximizer",
    "check_space",
    "circle_problem",
    "finite_problem",
    "rotation_problem",
]
