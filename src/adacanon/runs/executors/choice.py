"""Which executor a command uses."""

from adacanon.errors import InputError
from adacanon.runs.executors.executor import Executor
from adacanon.runs.executors.processes import LocalProcesses
from adacanon.runs.executors.this_process import ThisProcess

EXECUTORS = ("local", "ray")


def executor_named(
    name: str = "local", *, address: str = "", jobs: int | None = None, cpus: float = 1.0, gpus: float = 0.0
) -> Executor:
    """The executor of that name.

    Args:
        name: ``local`` or ``ray``.
        address: of a running Ray cluster; without one, a cluster is started and stopped again.
        jobs: runs at a time; of ``local`` one, if it is not given, of a cluster as many as it has room for.
        cpus: processors that Ray reserves for a run, and its threads.
        gpus: graphics processors that Ray reserves for a run.

    Example:
        >>> with executor_named("local", jobs=1) as executor:
        ...     executor.submit(abs, -3).result()
        3
    """
    if jobs is not None and jobs < 1:
        raise InputError(f"At least one run is done at a time, got jobs={jobs}")
    if name == "ray":
        from adacanon.runs.executors.ray_cluster import RayCluster

        return RayCluster(address, jobs=jobs, cpus=cpus, gpus=gpus)
    if name != "local":
        raise InputError(f"Executors are {', '.join(EXECUTORS)}; got {name!r}")
    if address or cpus != 1.0 or gpus:
        raise InputError(
            "--address, --cpus-per-run and --gpus-per-run are for clusters, got them with the executor local. "
            "Hint: add --executor ray"
        )
    return ThisProcess() if jobs in (None, 1) else LocalProcesses(jobs or 1)
