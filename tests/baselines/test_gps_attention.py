"""Attention within graphs: graphs padded with those of similar size have the same answers as all padded together."""

import torch
from torch import nn

from adacanon.baselines.graphs.gps_layer import _attended, attended


def test_the_size_of_other_graphs_does_not_matter(generator: torch.Generator) -> None:
    sizes = torch.tensor([40, 3, 300, 33, 64, 1, 65, 128])
    graph = torch.repeat_interleave(torch.arange(len(sizes)), sizes)
    x = torch.randn(len(graph), 8, dtype=torch.float64, generator=generator, requires_grad=True)
    attention = nn.MultiheadAttention(8, 2, batch_first=True).double()
    weight = torch.randn(len(graph), 8, dtype=torch.float64, generator=generator)
    grouped, together = attended(attention, x, graph), _attended(attention, x, graph)
    torch.testing.assert_close(grouped, together)
    gradients = [torch.autograd.grad((answer * weight).sum(), x)[0] for answer in (grouped, together)]
    torch.testing.assert_close(*gradients)
    alone = torch.cat([_attended(attention, part, torch.zeros(len(part)).long()) for part in x.split(sizes.tolist())])
    torch.testing.assert_close(grouped, alone)
