"""Measurements of cost and quality: ``python -m benchmarks.searches.search_quality --help``."""
