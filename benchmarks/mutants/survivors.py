"""Mutants that are no other program: why no test can notice them."""

EQUIVALENT: dict[tuple[str, str, str], str] = {}
"""Reasons, by file, function and change."""
