"""Baselines on clouds: vector neurons, equivariant graph networks, learned canonicalization, principal axes."""

from adacanon.baselines.clouds.egnn import EGNN, EGNNLayer
from adacanon.baselines.clouds.learned_canonicalization import (
    FrameNetwork,
    LearnedCanonicalization,
    cn_dgcnn,
    cn_pointnet,
    proper_rotations,
)
from adacanon.baselines.clouds.pca_frames import PCAAligned, PCAFrameAveraged, aligning_rotations
from adacanon.baselines.clouds.vector_neurons import (
    VNBatchNorm,
    VNEdgeConvolution,
    VNInvariant,
    VNLayer,
    VNLeakyReLU,
    VNLinear,
    VNMaxPool,
    VNMeanPool,
)
from adacanon.baselines.clouds.vn_features import VNFeatures
from adacanon.baselines.clouds.vn_networks import VNDGCNN, VNPointNet
from adacanon.baselines.clouds.vn_segmentation import VNDGCNNSegmentation, VNPointNetSegmentation

__all__ = [
    "EGNN",
    "VNDGCNN",
    "EGNNLayer",
    "FrameNetwork",
    "LearnedCanonicalization",
    "PCAAligned",
    "PCAFrameAveraged",
    "VNBatchNorm",
    "VNDGCNNSegmentation",
    "VNEdgeConvolution",
    "VNFeatures",
    "VNInvariant",
    "VNLayer",
    "VNLeakyReLU",
    "VNLinear",
    "VNMaxPool",
    "VNMeanPool",
    "VNPointNet",
    "VNPointNetSegmentation",
    "aligning_rotations",
    "cn_dgcnn",
    "cn_pointnet",
    "proper_rotations",
]
