"""Spaces of transformations, one mathematical object per file."""

from adacanon.spaces.box import Box
from adacanon.spaces.circle import Circle
from adacanon.spaces.finite import Finite
from adacanon.spaces.orthogonal import Orthogonal, special_orthogonal
from adacanon.spaces.orthogonal_blocks import OrthogonalBlocks
from adacanon.spaces.product import Product
from adacanon.spaces.rectangles import Rectangles
from adacanon.spaces.so3 import SO3, rotation_group, super_fibonacci

__all__ = [
    "SO3",
    "Box",
    "Circle",
    "Finite",
    "Orthogonal",
    "OrthogonalBlocks",
    "Product",
    "Rectangles",
    "rotation_group",
    "special_orthogonal",
    "super_fibonacci",
]
