"""Slow and simple versions of what the library computes."""
