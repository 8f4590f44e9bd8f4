"""Point clouds: rotation families, networks, neighbours, and the metric on multisets."""

from adacanon.points.multiset import multiset_distance
from adacanon.points.neighbours import ball_query, farthest_points, nearest_neighbours
from adacanon.points.pointnet import PointNet
from adacanon.points.rotations import Rotations, principal_frames

__all__ = [
    "PointNet",
    "Rotations",
    "ball_query",
    "farthest_points",
    "multiset_distance",
    "nearest_neighbours",
    "principal_frames",
]
