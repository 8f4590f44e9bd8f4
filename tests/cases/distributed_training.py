"""What each of two processes does; a module of its own, because spawned processes import it by name."""

import os
from pathlib import Path

import torch
from torch import nn

from adacanon import Canonicalized, Objective, SampleAndRefine
from adacanon.points import Rotations
from cases.networks import cloud_network, clouds


def exact_objective() -> Objective:
    return Objective(Canonicalized(cloud_network(), Rotations(), SampleAndRefine(6, 2)))


def train_on_half(rank: int, port: int, folder: str) -> None:
    """Two steps without update on half of a batch; leaves the gradients and the number of draws in a file."""
    torch.set_num_threads(1)
    address = f"tcp://127.0.0.1:{port}"
    torch.distributed.init_process_group("gloo", init_method=address, rank=rank, world_size=2)
    objective = exact_objective()
    parallel = nn.parallel.DistributedDataParallel(objective)
    half = slice(4 * rank, 4 * rank + 4)
    for _ in range(2):
        parallel.zero_grad()
        parallel(clouds(8)[half], torch.arange(8)[half] % 3).loss.backward()
    gradients = [parameter.grad for parameter in objective.parameters()]
    torch.save((gradients, objective.model.draws), Path(folder) / f"{rank}.pt")
    torch.distributed.barrier()  # no process leaves while another one still speaks to it
    torch.distributed.destroy_process_group()
    os._exit(0)  # threads of gloo may abort a process whose interpreter is being taken down
