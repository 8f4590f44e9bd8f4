"""The rows of the tables on clouds: a method around a backbone, or a network of its own."""

from collections.abc import Callable
from typing import NamedTuple

from torch import nn

from adacanon.baselines.clouds.learned_canonicalization import LearnedCanonicalization
from adacanon.baselines.clouds.pca_frames import PCAAligned, PCAFrameAveraged
from adacanon.baselines.clouds.vn_networks import VNDGCNN, VNPointNet
from adacanon.experiments.clouds.posed_clouds import CloudClassifier, PosedClouds, canonicalized, plain
from adacanon.experiments.clouds.searches import ANCHORED, FAST, REMEMBERED, searches
from adacanon.points import DGCNN, RSCNN, Balls, DeepSet, PointNet, PointNet2
from adacanon.points.rotations import axis_frames
from adacanon.runs.run import Settings

DRAWN, ANY_ORDER = " (random draws)", " (any order)"
"""Ends of the names of rows: AC rows that search as the paper does, whatever the preset, and averages over the
principal axes in any order."""

ADAPTIVE: dict[str, dict[str, Settings]] = {
    "AC": {"paper": {"draws": 50}, "cpu": ANCHORED},
    f"AC{DRAWN}": {"paper": {"draws": 50}, "cpu": {**FAST, "fixed": True}},
}
"""How the AC rows search and train, by method and preset."""

ON_NEIGHBOURHOODS: dict[str, dict[str, Settings]] = {"DGCNN": {"cpu": REMEMBERED}}
"""The same by backbone and preset, where AC rows differ: on a view of a few points, a point has other neighbours."""

EXPANSION = 5
"""Fixed poses of every training cloud in the -Aug rows. In `cpu` an epoch takes one of them: all rows take equal
steps."""

Build = Callable[[int, Settings], nn.Module]


class Method(NamedTuple):
    """What a row does, and around which backbone."""

    name: str
    backbone: str


BACKBONES: dict[str, Build] = {
    "DeepSet": lambda classes, options: DeepSet(classes),
    "PointNet": lambda classes, options: PointNet(classes),
    "PointNet++": lambda classes, options: PointNet2(classes, levels=_levels(options)),
    "RSCNN": lambda classes, options: RSCNN(classes, levels=_levels(options)),
    "DGCNN": lambda classes, options: DGCNN(classes, k=options["k"]),
}
VECTOR_NEURONS: dict[str, Build] = {
    "PointNet": lambda classes, options: VNPointNet(classes, k=options["k"]),
    "DGCNN": lambda classes, options: VNDGCNN(classes, k=options["k"]),
}
WRAPPERS: dict[str, Callable[[nn.Module, Settings], nn.Module]] = {
    "plain": lambda network, options: network,
    "Aug": lambda network, options: network,
    "CN": lambda network, options: LearnedCanonicalization(network, k=options["k"]),
    "PCA": lambda network, options: PCAAligned(network),
    "PCA-FA": lambda network, options: PCAFrameAveraged(network),
    f"PCA-FA{ANY_ORDER}": lambda network, options: PCAFrameAveraged(network, axis_frames),
}


def method_of(row: str) -> Method:
    """What the name of a row says.

    Example:
        >>> method_of("PCA-FA-PointNet"), method_of("PointNet-Aug").name, method_of("DGCNN").name
        (Method(name='PCA-FA', backbone='PointNet'), 'Aug', 'plain')
    """
    for variant in (DRAWN, ANY_ORDER):
        if row.endswith(variant):
            name, backbone = method_of(row.removesuffix(variant))
            return Method(f"{name}{variant}", backbone)
    if row.endswith("-Aug"):
        return Method("Aug", row.removesuffix("-Aug"))
    before, _, backbone = row.rpartition("-")
    return Method(before or "plain", backbone)


def adaptive_settings(method: str, backbone: str, preset: str) -> Settings:
    """How an AC row searches and trains: the one place for it."""
    differing = ON_NEIGHBOURHOODS.get(backbone, {}) if method == "AC" else {}
    return differing.get(preset, ADAPTIVE[method][preset])


def own_settings(row: str, preset: str) -> Settings:
    """What a row has beside the settings of its backbone."""
    method, backbone = method_of(row)
    if method in ADAPTIVE:
        return adaptive_settings(method, backbone, preset)
    if method != "Aug":
        return {}
    return {"fixed": True, "expansion": EXPANSION, **({"whole": True} if preset == "paper" else {})}


def build(row: str, data: PosedClouds, options: Settings, *, seed: int) -> CloudClassifier:
    """A row bound to its data; all but AC are trained with cross-entropy."""
    method, backbone = method_of(row)
    if method == "VN":
        return plain(VECTOR_NEURONS[backbone](data.classes, options), data)
    network = BACKBONES[backbone](data.classes, options)
    if method not in ADAPTIVE:
        return plain(WRAPPERS[method](network, options), data)
    evaluation, training = searches(options, samples=len(data.parts.train))
    return canonicalized(network, data, evaluation, in_training=training, forms=options.get("forms"), seed=seed)


def _levels(options: Settings) -> list[Balls]:
    return [Balls(*level) for level in options["levels"]]
