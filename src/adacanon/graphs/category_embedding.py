"""Categories of nodes or edges, such as kinds of atoms and bonds, as learned or as fixed features."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from adacanon.arguments import whole_number
from adacanon.errors import InputError, ShapeError
from adacanon.takes import several, takes, whole


class CategoryEmbedding(nn.Module):
    r""":math:`x \mapsto \sum_c E_c[x_c] + W\,\mathrm{BN}(z)`: one table of vectors for every column of categories, and
    a linear map of the real numbers z that may follow them.

    Args:
        categories: how many every column has; OGB's are ``adacanon.data.ogb.ATOMS`` and ``BONDS``.
        width: of the result.
        numbers: columns of real numbers after the categories.

    Shape:
        (rows, columns + numbers), or (rows,) for a single column -> (rows, width)

    Example:
        >>> embedding = CategoryEmbedding((4, 3), 8)
        >>> embedding(torch.tensor([[0, 2], [3, 1]])).shape
        torch.Size([2, 8])
        >>> embedding(torch.tensor([[0, 3]]))
        Traceback (most recent call last):
            ...
        adacanon.errors.InputError: Column 1 has the categories 0..2, got 3..3
    """

    first: Tensor

    @takes(categories=several(1), width=whole(1), numbers=whole(0))
    def __init__(self, categories: Sequence[int], width: int, *, numbers: int = 0) -> None:
        super().__init__()
        self.categories = tuple(whole_number("CategoryEmbedding", "categories", n, least=1) for n in categories)
        if not self.categories:
            raise InputError("CategoryEmbedding needs a column of categories. Hint: nn.Linear for real numbers alone")
        totals = torch.tensor(self.categories).cumsum(0)
        self.register_buffer("first", totals - torch.tensor(self.categories), persistent=False)
        self.table = nn.Parameter(torch.randn(int(totals[-1]), width) / len(self.categories) ** 0.5)
        self.numbers = nn.Sequential(nn.BatchNorm1d(numbers), nn.Linear(numbers, width)) if numbers else None
        self.columns = len(self.categories) + numbers

    def forward(self, x: Tensor) -> Tensor:
        x = x.unsqueeze(1) if x.dim() == 1 else x
        if x.dim() != 2 or x.shape[1] != self.columns:
            raise ShapeError(
                f"CategoryEmbedding expects {len(self.categories)} columns of categories and "
                f"{self.columns - len(self.categories)} of numbers, got {tuple(x.shape)}"
            )
        place = checked_categories(x[:, : len(self.categories)], self.categories) + self.first
        found = functional.embedding_bag(place, self.table, mode="sum")
        return found if self.numbers is None else found + self.numbers(x[:, len(self.categories) :].to(found.dtype))


def one_hot_columns(x: Tensor, categories: Sequence[int]) -> Tensor:
    """Zeros and ones of all columns of categories side by side, (rows, columns) -> (rows, sum of categories).

    Example:
        >>> one_hot_columns(torch.tensor([[1, 0], [0, 2]]), (2, 3)).tolist()
        [[0.0, 1.0, 1.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0, 1.0]]
    """
    x = x.unsqueeze(1) if x.dim() == 1 else x
    if x.dim() != 2 or x.shape[1] != len(categories):
        raise ShapeError(f"Expected {len(categories)} columns of categories, got {tuple(x.shape)}")
    columns = checked_categories(x, categories).T
    return torch.cat([functional.one_hot(column, n) for column, n in zip(columns, categories, strict=True)], 1).float()


def checked_categories(x: Tensor, categories: Sequence[int]) -> Tensor:
    """Whole numbers below the number of categories of their column, as int64."""
    index = x.long()
    if x.is_floating_point() and not torch.equal(index.to(x.dtype), x):
        raise InputError("Categories must be whole numbers. Hint: nn.Linear for real numbers")
    if len(index) == 0:
        return index
    low, high = (values.tolist() for values in (index.amin(0), index.amax(0)))
    for column, number in enumerate(categories):
        if low[column] < 0 or high[column] >= number:
            raise InputError(f"Column {column} has the categories 0..{number - 1}, got {low[column]}..{high[column]}")
    return index
