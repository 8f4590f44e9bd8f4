"""What is done with models beside running them: contracts, metrics, pages, programs."""

from collections.abc import Callable
from dataclasses import asdict
from tempfile import TemporaryDirectory
from typing import Any

import torch
from torch import nn

from adacanon import Canonicalized, Family, RandomSearch, doctor, predict, probabilities
from adacanon.core.pytree import Tree
from adacanon.explain import page
from adacanon.images import Rotations as Turns
from adacanon.images import Windows, load_weights
from adacanon.points import AxisRotations, Rotations
from adacanon.testing import assert_equivariant, assert_invariant, check_family
from adacanon.training.calibration import calibration_error, scaled_calibration_error
from adacanon.training.part_metrics import category_mean, class_ious, predicted_parts, shape_ious
from adacanon.training.ranking import average_precision, roc_auc
from cases.conformance import answering, inputs_of
from cases.image_cases import images
from cases.on_any_device.case import CLASSES, Case, Move, seeded
from cases.on_any_device.families import PictureNetwork, cloud_network, clouds, pictures
from cases.on_any_device.graph_models import FAMILY, NODES, graphs


def _contract(family: Family, inputs: Callable[[], Any]) -> Case:
    """The contract that plug-in authors check."""

    def run(move: Move) -> dict[str, Tree]:
        return {"kept": check_family(family, family.prepare(move(inputs())))}

    return run


def _symmetry(move: Move) -> dict[str, Tree]:
    model = move(seeded(lambda: Canonicalized(cloud_network(), AxisRotations((0, 0, 1)))).eval())
    vectors = move(answering("vectors", 0.5).eval())
    return {
        "invariance": round(assert_invariant(model, move(clouds()), AxisRotations((0, 0, 1)), tolerance=10), 4),
        "equivariance": round(
            assert_equivariant(vectors, move(inputs_of("vectors")), Rotations(), answers="vectors", tolerance=10), 4
        ),
    }


def _metrics(move: Move) -> dict[str, Tree]:
    scores = move(torch.linspace(-2, 3, 24).sin().reshape(8, 3))
    labels = move(torch.arange(8) % 3)
    tasks = move((torch.arange(24).reshape(8, 3) % 2).float())
    own = move(torch.tensor([[True, True, False], [False, True, True]]))
    parts = predicted_parts(scores.reshape(2, 4, 3), own)
    return {
        "calibration": (calibration_error(scores, labels), scaled_calibration_error(scores, labels)),
        "ranking": (roc_auc(scores, tasks), average_precision(scores, tasks)),
        "parts": (parts, shape_ious(parts, labels.reshape(2, 4), own), class_ious(parts, labels.reshape(2, 4), 3)),
        "mean": category_mean(shape_ious(parts, labels.reshape(2, 4), own), labels[:2]),
        "predictions": (predict(scores), probabilities(scores)),
    }


def _doctor(build: Callable[[], Any], inputs: Callable[[], Any], *families: str) -> Case:
    """A diagnosis of a network on the device, by a loader of batches on the device."""

    def run(move: Move) -> dict[str, Tree]:
        network, batch = move(seeded(build)).eval(), move((inputs(), torch.arange(12) % CLASSES))
        found = doctor(network, [batch], families=families, candidates=(1, 4), temperatures=(0.0, 1.0))
        return {"diagnosis": asdict(found) | {"seconds": None}}

    return run


def _weights(move: Move) -> dict[str, Tree]:
    """A file of weights in a network on the device."""
    network = move(nn.Linear(3, 2))
    with TemporaryDirectory() as folder:
        torch.save(seeded(lambda: nn.Linear(3, 2)).state_dict(), f"{folder}/linear.pth")
        load_weights(network, f"{folder}/linear.pth")
    return {"parameters": dict(network.named_parameters())}


def _page(build: Callable[[], Canonicalized], inputs: Callable[[], Any], **options: Any) -> Case:
    """The page of an answer, letter by letter."""

    def run(move: Move) -> dict[str, Tree]:
        model = move(seeded(build)).eval()
        return {"page": page(model.canonicalize(move(inputs())), samples=1, moves=1, **options)}

    return run


PAGES: dict[str, Case] = {
    "page of clouds": _page(lambda: Canonicalized(cloud_network(), Rotations(), RandomSearch(4)), clouds),
    "page of windows": _page(lambda: Canonicalized(PictureNetwork(), Windows(), RandomSearch(4)), pictures),
    "page of turned images": _page(
        lambda: Canonicalized(PictureNetwork(), Turns(), RandomSearch(4), temperature=0.5), pictures
    ),
    "page of maps": _page(lambda: answering("maps", 0.5, 4), lambda: inputs_of("maps")),
    "page of vectors": _page(lambda: answering("vectors", 0.0, 4), lambda: inputs_of("vectors")),
}

CASES: dict[str, Case] = {
    "contract of Rotations": _contract(Rotations(), clouds),
    "contract of images": _contract(Turns(), pictures),
    "contract of BandRotations": _contract(FAMILY, graphs),
    "contract of NodeRotations": _contract(NODES, graphs),
    "symmetry": _symmetry,
    "metrics": _metrics,
    "weights of a file": _weights,
    "doctor of images": _doctor(
        PictureNetwork, lambda: images(12, 2, 8, 8, dtype=torch.float32), "rotation", "reflection", "truncation"
    ),
    "doctor of clouds": _doctor(cloud_network, lambda: clouds(12), "rotation"),
    **PAGES,
}
