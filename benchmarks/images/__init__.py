"""Transformations of images."""
