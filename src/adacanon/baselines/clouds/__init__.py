"""Rivals of adaptive canonicalization on point clouds."""
