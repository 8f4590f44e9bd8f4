"""Who trains what: claims on runs in a results folder, for several commands at once and machines that share it."""

from adacanon.runs.claims.claims import Claims

__all__ = ["Claims"]
