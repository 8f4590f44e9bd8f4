"""The rows of the tables on clouds: a method around a backbone, or a network of its own."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from torch import nn

from adacanon.baselines.clouds.learned_canonicalization import LearnedCanonicalization
from adacanon.baselines.clouds.pca_frames import PCAAligned, PCAFrameAveraged
from adacanon.baselines.clouds.vn_networks import VNDGCNN, VNPointNet
from adacanon.core.loss import LOSSES
from adacanon.experiments.clouds.rotated_clouds import RotatedClouds, canonicalized, plain
from adacanon.experiments.clouds.searches import KINDS, TWO_FORMS, searches, settings_of
from adacanon.experiments.clouds.soft_clouds import SOFT, soft_learner
from adacanon.points import DGCNN, RSCNN, Balls, DeepSet, PointNet, PointNet2
from adacanon.points.rotations import axis_frames
from adacanon.runs.run import Settings
from adacanon.runs.table import Row
from adacanon.training.learner import Learner

EXPANSION = 5
"""Fixed poses of every training cloud in the -Aug rows. In `cpu` an epoch takes one of them: all rows take equal
steps."""

Build = Callable[[int, Settings], nn.Module]

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
    "augmented": lambda network, options: network,
    "CN": lambda network, options: LearnedCanonicalization(network, k=options["k"]),
    "PCA": lambda network, options: PCAAligned(network),
    "PCA-FA": lambda network, options: PCAFrameAveraged(network),
    "PCA-FA (any order)": lambda network, options: PCAFrameAveraged(network, axis_frames),
}


def plain_row(backbone: str) -> Row:
    """A backbone as it is, on clouds in random poses."""
    return Row(backbone, "plain", backbone)


def augmented_row(backbone: str) -> Row:
    """A backbone on a few fixed poses of every training cloud."""
    own = {"fixed": True, "expansion": EXPANSION}
    return Row(f"{backbone}-Aug", "augmented", backbone, settings=own, preset_settings={"paper": {"whole": True}})


def rival_row(method: str, backbone: str) -> Row:
    """A rival or a control around a backbone."""
    return Row(f"{method}-{backbone}", method, backbone)


def adaptive_row(backbone: str) -> Row:
    """Adaptive canonicalization by the paper's rule, the maximum; in the preset `paper` with the paper's search too, in
    `full` with the paper's search in evaluation.
    """
    kinds = {"paper": "random draws", "cpu": DEFAULT_SEARCHES[backbone], "full": "calibrated draws on large views"}
    return searching_row(f"AC-{backbone} (paper)", backbone, kinds)


def soft_row(backbone: str) -> Row:
    """Adaptive canonicalization by the rule that was chosen on shapes held out (`temperature`), in every preset."""
    return Row(f"AC-{backbone} (soft)", "soft", backbone, settings=SOFT)


def default_row(backbone: str) -> Row:
    """Adaptive canonicalization by the defaults of the library: its search in evaluation, the maximum, cross-entropy.
    Training compares the same rotations on views and takes gradients at two forms.
    """
    row = searching_row(f"AC-{backbone} (default)", backbone, {"full": "calibrated anchors on large views"})
    return replace(row, settings={"loss": "cross-entropy"})


def all_frames_row(backbone: str) -> Row:
    """Frame averaging over principal axes in any order."""
    return Row(f"PCA-FA-{backbone} (any order)", "PCA-FA (any order)", backbone)


def random_draws_row(backbone: str) -> Row:
    """Adaptive canonicalization among random rotations, in every preset; in `cpu` with shortcuts."""
    name = f"AC-{backbone} (random draws)"
    return searching_row(name, backbone, {"paper": "random draws", "cpu": "learning draws"})


def searching_row(name: str, backbone: str, search: Mapping[str, str], *, forms: bool = True) -> Row:
    """An AC row with kinds of search by preset. Other than in `paper` it trains on two forms of a cloud, unless told to
    train on all of them; clouds whose winners are remembered keep their poses.
    """
    own = {preset: settings_of(kind) for preset, kind in search.items()}
    for preset in own.keys() - {"paper"}:
        own[preset] |= TWO_FORMS if forms else {}
        own[preset] |= {"fixed": True} if KINDS[search[preset]].remembers else {}
    return Row(name, "AC", backbone, search=search, preset_settings=own)


DEFAULT_SEARCHES = {
    "DeepSet": "calibrated anchors",
    "PointNet": "calibrated anchors",
    "PointNet++": "calibrated anchors",
    "RSCNN": "calibrated anchors",
    "DGCNN": "remembered anchors",
}
"""How the AC row of a backbone searches in `cpu`. DGCNN ranks poses badly on a view of a few points, on which a point
has other neighbours."""


def build(row: Row, data: RotatedClouds, options: Settings, *, seed: int) -> Learner:
    """A row bound to its data; all but AC rows that name no loss are trained with cross-entropy, those one-vs-rest."""
    if row.method == "VN":
        return plain(VECTOR_NEURONS[row.backbone](data.classes, options), data)
    network = BACKBONES[row.backbone](data.classes, options)
    if row.method == "soft":
        return soft_learner(network, data, options, seed=seed)
    if row.method != "AC":
        return plain(WRAPPERS[row.method](network, options), data)
    evaluation, training = searches(options, samples=len(data.split.train))
    loss = LOSSES[options.get("loss", "one-vs-rest")]
    forms = options.get("forms")
    return canonicalized(network, data, evaluation, training_search=training, forms=forms, loss=loss, seed=seed)


def _levels(options: Settings) -> list[Balls]:
    return [Balls(*level) for level in options["levels"]]
