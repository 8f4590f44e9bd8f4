"""State: checkpoints, records, choices, weights and ``state_dict`` with damaged, missing or foreign parts."""

import io
import json
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from adacanon import Canonicalized, CoarseToFine, RandomSearch, WithMemory
from adacanon.diagnosis import load_model
from adacanon.images import load_weights
from adacanon.maximizers import Calibration
from adacanon.points import Rotations
from adacanon.runs.choices import chosen_file, read_choices
from adacanon.training import append_record, load_checkpoint, read_records, save_checkpoint
from benchmarks.fuzz.draw import Draw
from benchmarks.fuzz.files import folder
from benchmarks.fuzz.hostile import hostile
from benchmarks.fuzz.judging import RefusedError, SilentlyWrongError
from benchmarks.fuzz.models import CASES, CloudScores, clouds, model_of
from benchmarks.fuzz.mutation import damaged, reworded

STATE = {"epoch": 3, "model": {"weight": torch.arange(12.0).reshape(3, 4)}, "history": [0.5, 0.25]}


class Malicious:
    """Its pickle makes a file, if anybody executes it."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return os.mkdir, (str(self.marker),)


def checkpoint(draw: Draw) -> None:
    """A damaged checkpoint is set aside, or holds what was saved."""
    with folder() as place:
        file = place / "run.pt"
        save_checkpoint(file, STATE)
        file.write_bytes(damaged(draw, file.read_bytes()))
        found = load_checkpoint(file)
    if found is not None and not _equal(found, STATE):
        raise SilentlyWrongError("a damaged checkpoint was taken for whole")


def records(draw: Draw) -> None:
    """Lines of JSON: those that are whole are read as they are, others are told."""
    rows = [{"run": i, "metrics": {"accuracy": 0.5 + i}} for i in range(3)]
    text = "".join(json.dumps(row, sort_keys=True) + "\n" for row in rows)
    with folder() as place:
        file = place / "t.jsonl"
        file.write_bytes(damaged(draw, text.encode()) if draw.chance(0.5) else reworded(draw, text).encode())
        found = read_records(file)
        if draw.chance(0.3):
            append_record(file, {"run": 9})
            found = read_records(file)
        lines = file.read_text(encoding="utf-8").rpartition("\n")[0].splitlines()
    if json.dumps(found) != json.dumps([json.loads(line) for line in lines if line]):
        raise SilentlyWrongError("other records than the lines of the file")


def choices(draw: Draw) -> None:
    """chosen.json with other words or values."""
    content = {"A-NLSF": {"MUTAG": {"learning_rate": 0.01, "hidden": 64}}}
    text = json.dumps(content, indent=1) + "\n"
    changed = draw.pick([lambda: damaged(draw, text.encode()), lambda: reworded(draw, text).encode()])()
    with folder() as place:
        chosen_file(place).write_bytes(changed)
        found = read_choices(place)
    if found != json.loads(changed):
        raise SilentlyWrongError("other choices than those of the file")


def strangers_pickle(draw: Draw) -> None:
    """No pickle that anybody brings is executed."""
    with folder() as place:
        marker, ending = place / "marker", draw.pick([".pth", ".pt", ".npz", ".npy", ".pkl", ".pt2", ".ts"])
        content, evil = io.BytesIO(), Malicious(marker)
        way = draw.whole(0, 2)
        if way == 0:
            torch.save({"weight": evil}, content)
        elif way == 1:
            np.savez(content, weight=np.array([evil], dtype=object))
        else:
            content.write(pickle.dumps(evil))
        file = place / f"w{ending}"
        file.write_bytes(content.getvalue())
        actions = (
            lambda: load_weights(nn.LayerNorm(2), file),
            lambda: load_model(str(file)),
            lambda: load_checkpoint(file),
            lambda: load_model("torch.nn:Flatten", weights=file),
        )
        try:
            draw.pick(actions)()
        finally:
            if marker.exists():
                raise SilentlyWrongError(f"a pickle in {ending} was executed")


def weights(draw: Draw) -> None:
    """A file of weights, changed: refused, or loaded with the numbers that were saved."""
    with torch.random.fork_rng(devices=[]):
        module, other = nn.Linear(3, 2), nn.Linear(3, 2)
    state: dict[str, Any] = dict(module.state_dict())
    way = draw.whole(0, 3)
    if way == 1:
        state[draw.pick(["weight", "bias", "extra"])] = draw.pick([torch.zeros(7), hostile(draw)])
    if way == 2:
        del state[draw.pick(["weight", "bias"])]
    content = io.BytesIO()
    try:
        torch.save(state, content)
    except Exception as error:  # what cannot be saved cannot be brought
        raise RefusedError(str(error)) from error
    with folder() as place:
        file = place / "w.pth"
        file.write_bytes(damaged(draw, content.getvalue()) if way == 3 else content.getvalue())
        load_weights(other, file)
    if not all(torch.equal(value, torch.as_tensor(state[name]).to(value)) for name, value in other.named_parameters()):
        raise SilentlyWrongError("other weights than those that were saved")


def state_dict(draw: Draw) -> None:
    """A ``state_dict`` with a part changed, missing or added: refused, or the model answers as it did."""
    name = draw.pick(sorted(CASES))
    model, g = model_of(name), CASES[name].inputs(draw)
    state = {key: value.clone() for key, value in model.state_dict().items()}
    key = draw.pick(sorted(state))
    way = draw.whole(0, 5)
    if way == 0:
        del state[key]
    elif way == 1:
        state["stranger"] = torch.zeros(1)
    elif way == 2:
        state[key] = torch.zeros(2, 7, 1)
    elif way == 3:
        state[key] = hostile(draw)
    elif way == 4 and key.endswith("extra_state"):
        state[key] = torch.tensor(list(damaged(draw, bytes(state[key].tolist()))), dtype=torch.uint8)
    with torch.random.fork_rng(devices=[]):
        other = CASES[name].make().eval()
    loaded(other, state)
    with torch.no_grad():
        if way == 5 and not torch.equal(other(g), model(g)):
            raise SilentlyWrongError(f"{name}: another answer with the same state")
        other(g)


def memory(draw: Draw) -> None:
    """What a search remembers, saved and damaged."""
    with torch.random.fork_rng(devices=[]):
        known = CoarseToFine(RandomSearch(2), 3, calibration=Calibration(2))
        search = draw.pick([WithMemory(RandomSearch(2), 5), known])
        model = Canonicalized(CloudScores(), Rotations(), search).train()
    model(clouds(draw), ids=torch.tensor([0, 1, 2]))
    content = io.BytesIO()
    torch.save(model.state_dict(), content)
    state = torch.load(io.BytesIO(content.getvalue()), weights_only=True)
    key = draw.pick(sorted(state))
    state[key] = hostile(draw) if draw.chance(0.7) else state[key]
    loaded(model, state)
    model(clouds(draw), ids=torch.tensor([0, 1, 4]))


def loaded(model: nn.Module, state: dict[str, Any]) -> None:
    """torch documents a RuntimeError for keys and shapes that do not fit."""
    try:
        model.load_state_dict(state)
    except RuntimeError as error:
        if "Error(s) in loading state_dict" in str(error):
            raise RefusedError("keys or shapes") from error
        raise


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
        return torch.equal(a, b)
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_equal(a[key], b[key]) for key in a)
    return bool(a == b)


KINDS = {
    "state, checkpoints": (checkpoint, 3),
    "state, records": (records, 3),
    "state, choices": (choices, 2),
    "state, strangers' pickles": (strangers_pickle, 2),
    "state, weights": (weights, 2),
    "state, state_dict": (state_dict, 4),
    "state, memory": (memory, 1),
}
