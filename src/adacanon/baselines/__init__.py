"""Competing methods, isolated from the core."""
