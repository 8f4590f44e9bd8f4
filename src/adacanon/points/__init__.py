"""Point clouds: rotation families, networks, neighbours, and the metric on multisets."""

from adacanon.points.deepset import DeepSet
from adacanon.points.dgcnn import DGCNN
from adacanon.points.frames import principal_frames
from adacanon.points.grouping import Balls
from adacanon.points.multiset import multiset_distance
from adacanon.points.neighbours import ball_query, farthest_points, nearest_neighbours
from adacanon.points.pointnet import PointNet
from adacanon.points.pointnet2 import PointNet2
from adacanon.points.rotations import Rotations
from adacanon.points.rscnn import RSCNN
from adacanon.points.segmentation import DGCNNSegmentation, PointNetSegmentation

__all__ = [
    "DGCNN",
    "RSCNN",
    "Balls",
    "DGCNNSegmentation",
    "DeepSet",
    "PointNet",
    "PointNet2",
    "PointNetSegmentation",
    "Rotations",
    "ball_query",
    "farthest_points",
    "multiset_distance",
    "nearest_neighbours",
    "principal_frames",
]
