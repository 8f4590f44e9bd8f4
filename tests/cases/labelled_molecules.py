"""Small graphs with categories of nodes and edges, rings and paths with tails, whose answers are known."""

import torch
from torch_geometric.data import Data

ATOM_KINDS, BOND_KINDS = (4, 3), (3,)


def small_molecules(count: int, *, seed: int = 0) -> list[Data]:
    """Rings of four to eight nodes with a tail of two, random categories, each edge in both directions."""
    generator = torch.Generator().manual_seed(seed)

    def draw(high: int, rows: int) -> torch.Tensor:
        return torch.randint(high, (rows,), generator=generator)

    graphs = []
    for _ in range(count):
        size = int(draw(5, 1)) + 4
        ring = torch.stack([torch.arange(size), torch.arange(size).roll(-1)])
        once = torch.cat([ring, torch.tensor([[0, size], [size, size + 1]])], dim=1)
        bonds = draw(BOND_KINDS[0], once.shape[1]).unsqueeze(1)
        graphs.append(
            Data(
                x=torch.stack([draw(kinds, size + 2) for kinds in ATOM_KINDS], dim=1),
                edge_index=torch.cat([once, once.flip(0)], dim=1),
                edge_attr=torch.cat([bonds, bonds]),
            )
        )
    return graphs
