"""Frozen runs, the published numbers as data, and one module per table."""
