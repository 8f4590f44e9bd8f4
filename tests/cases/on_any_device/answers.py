"""Answers of every kind, under every temperature that they allow, and heads on features of frozen backbones."""

from torch import Tensor, nn

from adacanon import Temperature
from adacanon.core.pytree import Tree
from adacanon.frozen import OverForms, features_of_forms
from adacanon.points import DeepSet, Rotations
from adacanon.spaces import rotation_group
from cases.conformance import TEMPERATURES, answering, inputs_of
from cases.on_any_device.case import CLASSES, Case, Move, of_model, of_network, seeded
from cases.on_any_device.families import clouds


def _answers(name: str, temperature: float) -> Case:
    return of_model(lambda: answering(name, temperature, candidates=5), lambda: inputs_of(name), targets=None)


def _features(move: Move) -> dict[str, Tree]:
    backbone = move(seeded(lambda: DeepSet(4, widths=(8,), head=()))).eval()
    return {"features": features_of_forms(backbone, Rotations(), rotation_group("tetrahedron"), move(clouds()))}


def _forms() -> tuple[Tensor]:
    return (clouds(3, 5).flatten(0, 1).reshape(3, 5, 3),)


CASES: dict[str, Case] = {
    **{f"answers {name}, temperature {temperature}": _answers(name, temperature) for name, temperature in TEMPERATURES},
    "frozen features_of_forms": _features,
    "frozen OverForms": of_network(lambda: OverForms(nn.Linear(3, CLASSES)), _forms),
    "frozen OverForms, soft": of_network(lambda: OverForms(nn.Linear(3, CLASSES), temperature=0.5), _forms),
    "frozen OverForms, learned": of_network(
        lambda: OverForms(nn.Linear(3, CLASSES), temperature=Temperature([0.5, 1.0, 2.0], learned=True)), _forms
    ),
}
