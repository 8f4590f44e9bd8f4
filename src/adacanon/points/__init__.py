"""Point clouds: rotation families, networks, neighbours, and the metric on multisets."""

from adacanon.points.cloud_family import CloudFamily
from adacanon.points.deepset import DeepSet
from adacanon.points.dgcnn import DGCNN
from adacanon.points.frames import principal_frames
from adacanon.points.grouping import Balls
from adacanon.points.multiset import multiset_distance
from adacanon.points.neighbours import ball_query, farthest_points, nearest_neighbours
from adacanon.points.padding import padded_clouds
from adacanon.points.pair_network import PairNetwork
from adacanon.points.pointnet import PointNet
from adacanon.points.pointnet2 import PointNet2
from adacanon.points.rotations import AxisRotations, Isometries, Rotations
from adacanon.points.rscnn import RSCNN
from adacanon.points.segmentation import DGCNNSegmentation, PointNetSegmentation
from adacanon.points.unpacked import Unpacked

__all__ = [
    "DGCNN",
    "RSCNN",
    "AxisRotations",
    "Balls",
    "CloudFamily",
    "DGCNNSegmentation",
    "DeepSet",
    "Isometries",
    "PairNetwork",
    "PointNet",
    "PointNet2",
    "PointNetSegmentation",
    "Rotations",
    "Unpacked",
    "ball_query",
    "farthest_points",
    "multiset_distance",
    "nearest_neighbours",
    "padded_clouds",
    "principal_frames",
]
