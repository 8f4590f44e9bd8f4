"""Where runs are computed: in this process, in processes of this machine, or on a Ray cluster."""

from adacanon.runs.executors.choice import executor_named
from adacanon.runs.executors.executor import Executor, WorkerLostError
from adacanon.runs.executors.processes import LocalProcesses
from adacanon.runs.executors.this_process import ThisProcess

__all__ = ["Executor", "LocalProcesses", "ThisProcess", "WorkerLostError", "executor_named"]
