"""Trained networks that stay in the cache folder, for what is measured and drawn after a table has been run."""

from pathlib import Path

from torch import nn

from adacanon.checked_files import set_aside
from adacanon.folders import cache_folder
from adacanon.runs.run import Run
from adacanon.training.checkpoint import load_checkpoint, misfit, save_checkpoint


def file_of(run: Run, data: str) -> Path:
    """Where the network of a run is kept. Settings do not say which shapes there were, a fingerprint does."""
    return cache_folder() / "networks" / f"{run.key}-{data}.pt"


def keep(run: Run, module: nn.Module, data: str) -> None:
    """Keep what a run has trained; a full disk costs the file, never the run."""
    save_checkpoint(file_of(run, data), {"module": module.state_dict()})


def restored(run: Run, module: nn.Module, data: str) -> bool:
    """Give a module the state that its run has left on the same data, if it has left one. A state that does not fit,
    because other code has kept it, is set aside.
    """
    state = load_checkpoint(file_of(run, data))
    if state is None:
        return False
    reason = misfit(module, state.get("module"))
    if reason:
        why = f"it does not fit the network of {run.row}: {reason}"
        set_aside(file_of(run, data), why, then="the network is trained again")
    return not reason
