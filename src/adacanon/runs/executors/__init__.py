"""Where runs are computed: in this process, in processes of this machine, or on a Ray cluster."""

from adacanon.runs.executors.choice import executor_named
from adacanon.runs.executors.executor import Executor, WorkerLostError, check_jobs
from adacanon.runs.executors.processes import LocalProcesses
from adacanon.runs.executors.ranks import follow, is_follower
from adacanon.runs.executors.this_process import ThisProcess
from adacanon.training.hardware import Hardware

__all__ = [
    "Executor",
    "Hardware",
    "LocalProcesses",
    "ThisProcess",
    "WorkerLostError",
    "check_jobs",
    "executor_named",
    "follow",
    "is_follower",
]
