"""Mutants that are no other program: why no test can notice them."""

SAME = "the same numbers: "
EQUIVALENT: dict[tuple[str, str, str], str] = {
    ("adacanon/core/answers.py", "settled", "1.0 -> 2.0"): SAME + "where nothing is known the answer is zero",
    ("adacanon/core/evaluation.py", "FusedEvaluation.with_gradient", "1 -> 2"): SAME + "only the size of blocks",
    ("adacanon/core/hardest.py", "hardest", "rest > 0 -> rest >= 0"): SAME + "the zero largest are none",
    (
        "adacanon/core/polar.py",
        "_Nearest.forward",
        "u * last.unsqueeze(-2) -> u / last.unsqueeze(-2)",
    ): SAME + "the divisors are 1 and -1",
    ("adacanon/core/prior.py", "_direction", "33 -> 34"): "one more place at which a function is looked at",
    (
        "adacanon/core/pytree.py",
        "_odd_multipliers",
        "2177342782468422677 -> 2177342782468422678",
    ): "another hash; rows of equal hash are compared anyway",
    ("adacanon/checked_files.py", "_hash_before_the_end", "left > 0 -> left >= 0"): SAME + "an empty block ends it",
    (
        "adacanon/core/pytree.py",
        "distinct_rows",
        "712544676207699905 -> 712544676207699906",
    ): "another hash; rows of equal hash are compared anyway",
    ("adacanon/core/prior.py", "_direction", "4.0 -> 5.0"): "a wider range in which a function is looked at",
    ("adacanon/checked_files.py", "_hash_before_the_end", "2 ** 20 -> 2 * 20"): SAME + "only the size of blocks",
    ("adacanon/checked_files.py", "_hash_before_the_end", "20 -> 21"): SAME + "only the size of blocks",
    ("adacanon/spaces/box.py", "Box.tangent", "v < 0 -> v <= 0"): SAME + "a direction of zero becomes zero",
    ("adacanon/spaces/so3.py", "_is_even", "a > b -> a >= b"): SAME + "no number comes twice in a permutation",
    ("adacanon/spaces/so3.py", "_is_even", "0 -> 1"): "the other of the two groups of an icosahedron about these axes",
}
"""Reasons, by file, function and change."""
