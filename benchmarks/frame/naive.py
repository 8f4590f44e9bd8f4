"""Algorithm 1 of the paper as one would write it down: the reference that speed is measured against.

One pass of the network for every drawn rotation, without gradients; then, for every class, one pass with gradients over
the batch, each cloud turned by that class's best rotation. Refinement is left out, here and there.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from adacanon.spaces import SO3


def naive_step(network: nn.Module, clouds: Tensor, labels: Tensor, *, draws: int) -> None:
    """Leave the gradient of the one-vs-rest loss in the parameters."""
    rotations = SO3().sample(draws).to(clouds)
    network.eval()
    with torch.no_grad():
        scores = torch.stack([network(clouds @ rotation.T) for rotation in rotations])
    best = scores.argmax(0)
    network.train()
    network.zero_grad()
    for d in range(scores.shape[2]):
        forms = clouds @ rotations[best[:, d]].mT
        logits = network(forms)[:, d]
        loss = functional.binary_cross_entropy_with_logits(logits, (labels == d).float(), reduction="sum") / len(labels)
        loss.backward()
