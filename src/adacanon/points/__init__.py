"""Point clouds: rotation families and the metric on multisets."""

from adacanon.points.multiset import multiset_distance
from adacanon.points.rotations import Rotations, principal_frames

__all__ = ["Rotations", "multiset_distance", "principal_frames"]
