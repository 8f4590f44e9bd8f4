"""Measurements of cost and quality: ``python -m benchmarks.search_quality --help``."""
