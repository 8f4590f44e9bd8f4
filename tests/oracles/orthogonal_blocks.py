"""Blocks of orthogonal matrices, one matrix at a time."""

import torch
from torch import Tensor


def haar_block(table: Tensor, m: int, rows: int) -> Tensor:
    """The upper left block of Q, where QR with positive diagonal of R is the first m rows of a table (.., columns)."""
    columns = table.shape[1]
    width = min(m, columns)
    block = torch.zeros(rows, columns, dtype=table.dtype)
    frame: list[Tensor] = []
    for j in range(width):  # Gram and Schmidt, twice for accuracy
        v = table[:m, j].clone()
        for _ in range(2):
            for q in frame:
                v = v - (q @ v) * q
        frame.append(v / v.norm())
    for j, q in enumerate(frame):
        block[: min(rows, m), j] = q[:rows]
    return block


def complete(block: Tensor, m: int) -> Tensor:
    """An orthogonal m x m matrix with a given J x r block in its upper left corner, if there is one.

    Below X goes B with B^T B = I - X^T X, in at most m - J rows; the other columns complete an orthonormal basis.
    """
    j, r = block.shape
    values, vectors = torch.linalg.eigh(torch.eye(r, dtype=block.dtype) - block.T @ block)
    roots = values.clamp(min=0).sqrt().unsqueeze(1) * vectors.T  # ascending: the rows that vanish come first
    below = torch.zeros(m - j, r, dtype=block.dtype)
    kept = min(m - j, r)
    if kept:
        below[:kept] = roots[r - kept :]
    frame = torch.cat([block, below])
    left, _, _ = torch.linalg.svd(frame, full_matrices=True)
    return torch.cat([frame, left[:, r:]], dim=1)
