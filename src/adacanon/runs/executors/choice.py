"""Which executor a command uses."""

from adacanon.errors import InputError
from adacanon.runs.executors.executor import Executor, check_jobs
from adacanon.runs.executors.processes import LocalProcesses
from adacanon.runs.executors.this_process import ThisProcess
from adacanon.training.hardware import Hardware

EXECUTORS = ("local", "ray")


def executor_named(
    name: str = "local",
    *,
    address: str = "",
    jobs: int | None = None,
    cpus: float = 1.0,
    gpus: float = 0.0,
    hardware: Hardware | None = None,
) -> Executor:
    """The executor of that name.

    Args:
        name: ``local`` or ``ray``.
        address: of a running Ray cluster; without one, a cluster is started and stopped again.
        jobs: runs at a time; of ``local`` one, if it is not given, of a cluster as many as it has room for.
        cpus: processors that Ray reserves for a run, and its threads.
        gpus: graphics processors that Ray reserves for a run.
        hardware: what a run is computed on; one processor, if it is not given. Several processes share one run after
            the other. Whether a machine of a running cluster has what is asked for, it says itself.

    Example:
        >>> with executor_named("local", jobs=1) as executor:
        ...     executor.submit(abs, -3).result()
        3
    """
    check_jobs(jobs)
    hardware = (hardware or Hardware()).checked_words()
    if hardware.processes > 1:
        return _ranks(name, jobs, hardware)
    if name == "ray":
        from adacanon.runs.executors.ray_cluster import RayCluster

        if not address:
            hardware.checked()
        cluster = RayCluster(address, jobs=jobs, cpus=cpus, gpus=gpus)
        cluster.hardware = hardware
        return cluster
    if name != "local":
        raise InputError(f"Executors are {', '.join(EXECUTORS)}; got {name!r}")
    if address or cpus != 1.0 or gpus:
        raise InputError(
            "--address, --cpus-per-run and --gpus-per-run are for clusters, got them with the executor local. "
            "Hint: add --executor ray"
        )
    executor = ThisProcess() if jobs in (None, 1) else LocalProcesses(jobs or 1)
    executor.hardware = hardware.checked()
    return executor


def _ranks(name: str, jobs: int | None, hardware: Hardware) -> Executor:
    if name != "local" or jobs not in (None, 1):
        raise InputError(
            f"Several processes share one run at a time, got --devices {hardware.devices} --nodes {hardware.nodes} "
            f"with {'--executor ' + name if name != 'local' else '--jobs ' + str(jobs)}. "
            "Hint: leave one of them out"
        )
    hardware.checked()
    from adacanon.runs.executors.ranks import Ranks

    return Ranks(hardware)
