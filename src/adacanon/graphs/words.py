"""Changes of basis within bands in words, and coefficients as tables by band."""

import math
from collections.abc import Sequence

from torch import Tensor

from adacanon.core.pictures import Numbers


def basis_change_in_words(blocks: Tensor, factors: Tensor, sizes: Tensor) -> str:
    r"""What blocks :math:`X_k` do to the coefficients :math:`R_k` of the bands of one graph.

    The angle is that between the coefficients before and after, all rows and channels of a band as one vector. The
    energy that is kept is :math:`\|X_kR_k\|^2 / \|R_k\|^2`; it falls where a band has more rows than are read.

    Args:
        blocks: (bands, rows, width).
        factors: (bands, width, channels).
        sizes: the dimensions of the bands, (bands,).

    Example:
        >>> import torch
        >>> half_turn = -torch.eye(2).expand(2, 2, 2)
        >>> basis_change_in_words(half_turn, torch.ones(2, 2, 1), torch.tensor([1, 4]))
        'basis change of band 1: sign changed; band 2: turned by 180°'
    """
    numbered = enumerate(zip(blocks.double(), factors.double(), sizes.tolist(), strict=True), start=1)
    words = [f"band {k}: {text}" for k, (x, r, size) in numbered if (text := _band_in_words(x, r, size))]
    return f"basis change of {'; '.join(words)}" if words else "no band has a signal that could be turned"


def _band_in_words(block: Tensor, factor: Tensor, size: int) -> str:
    """Nothing for a band without a signal."""
    rows, energy = block.shape[0], float(factor.square().sum())
    if energy == 0:
        return ""
    before, after = factor[:rows], block @ factor
    inner = float((before * after[: len(before)]).sum())
    if size == 1:
        return "sign kept" if inner > 0 else "sign changed"
    kept, length = float(after.square().sum()) / energy, float(before.norm() * after.norm())
    angle = math.degrees(math.acos(max(-1.0, min(1.0, inner / length)))) if length > 0 else 0.0
    turned = f"turned by {angle:.0f}°" if round(angle) else "as it is"
    return turned if kept > 0.995 else f"{turned}, {100 * kept:.0f} % of its energy kept"


def coefficients_by_band(values: Tensor, rows: Sequence[int]) -> Numbers:
    """A table of coefficients (rows of all bands, channels), with a name for the rows of each band."""
    return Numbers(values, tuple((f"band {k}", count) for k, count in enumerate(rows, start=1)))
