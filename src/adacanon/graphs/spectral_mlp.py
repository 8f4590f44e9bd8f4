"""The symmetryless network of A-NLSF."""

from collections.abc import Callable
from itertools import cycle, pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional

from adacanon.arguments import whole_number
from adacanon.errors import ShapeError
from adacanon.graphs.coefficients import BandCoefficients
from adacanon.takes import share, takes, whole

Pullback = Callable[[Tensor], Tensor]
_BETWEEN = (nn.ReLU, nn.Dropout, nn.Linear)


class SpectralMLP(nn.Module):
    r"""The symmetryless network :math:`\Psi : \mathbb R^{J\times T} \to \mathbb R^D`, an MLP on all coefficients.

    Args:
        rows: :math:`J = \sum_k J_k`.
        channels: T.
        classes: D.
        hidden: width.
        layers: linear layers in all.
        dropout: share of hidden units dropped in training.
        invariants: numbers that every graph brings beside its coefficients.

    Shape:
        coefficients (pairs, rows, channels), or a pair of them and invariants (pairs, invariants) -> (pairs, classes)

    Example:
        >>> SpectralMLP(rows=6, channels=2, classes=3, hidden=8)(torch.ones(5, 6, 2)).shape
        torch.Size([5, 3])
    """

    @takes(
        rows=whole(1),
        channels=whole(1),
        classes=whole(1),
        hidden=whole(1),
        layers=whole(1),
        dropout=share,
        invariants=whole(0),
    )
    def __init__(
        self,
        rows: int,
        channels: int,
        *,
        classes: int,
        hidden: int = 128,
        layers: int = 3,
        dropout: float = 0.0,
        invariants: int = 0,
    ) -> None:
        super().__init__()
        layers = whole_number("SpectralMLP", "layers", layers, least=1)
        widths = [*[hidden] * (layers - 1), classes]
        rest: list[nn.Module] = []
        for a, b in pairwise(widths):
            rest += [nn.ReLU(inplace=True), nn.Dropout(dropout), nn.Linear(a, b)]
        self.shape = (rows, channels)
        self.first = nn.Linear(rows * channels, widths[0])
        self.beside = nn.Linear(invariants, widths[0], bias=False) if invariants else None
        self.rest = nn.Sequential(*rest)

    def forward(self, form: Tensor | tuple[Tensor, Tensor]) -> Tensor:
        coefficients, invariants = (form, None) if isinstance(form, Tensor) else form
        if coefficients.shape[1:] != self.shape:
            raise ShapeError(
                f"SpectralMLP expects coefficients of shape (pairs, {self.shape[0]}, {self.shape[1]}), "
                f"got {tuple(coefficients.shape)}. Hint: rows is the sum of J_k, channels the number of node features"
            )
        return self.after_first(coefficients.flatten(1) @ self.first.weight.T + self.shift(invariants))

    def after_first(self, hidden: Tensor) -> Tensor:
        """The outputs, from those of the first layer. The last layer is in full precision, whatever those before it
        are: its scores are compared with one another.
        """
        if not self.rest:
            return hidden
        *before, last = self.rest
        for layer in before:
            hidden = layer(hidden)
        with torch.autocast(hidden.device.type, enabled=False):
            return last(hidden.to(self.first.weight.dtype))

    def pullback(self, hidden: Tensor) -> tuple[Tensor, Pullback] | None:
        """What ``after_first`` gives in evaluation mode, and the map from its cotangents to those of ``hidden``; None
        if some layer is not of the kind it was made as.
        """
        if any(type(layer) is not kind for layer, kind in zip(self.rest, cycle(_BETWEEN), strict=False)):
            return None
        linear = [layer for layer in self.rest if isinstance(layer, nn.Linear)]
        kept = []
        for layer in linear:
            kept.append(hidden.relu())
            hidden = functional.linear(kept[-1], layer.weight, layer.bias)

        def back(cotangent: Tensor) -> Tensor:
            for layer, active in zip(reversed(linear), reversed(kept), strict=True):
                cotangent = (cotangent @ layer.weight).mul_(active.sign())
            return cotangent

        return hidden, back

    def shift(self, invariants: Tensor | None) -> Tensor:
        """What the first layer adds to the product with the coefficients."""
        if (invariants is None) != (self.beside is None):
            raise ShapeError("SpectralMLP was made with invariants= and got none, or the other way round")
        if self.beside is None or invariants is None:
            return self.first.bias
        if invariants.shape[-1] != self.beside.in_features:
            raise ShapeError(
                f"SpectralMLP expects {self.beside.in_features} invariants for every graph, "
                f"got {tuple(invariants.shape)}"
            )
        return self.first.bias + self.beside(invariants)

    def takes(self, rows: int, g: BandCoefficients) -> bool:
        """Whether these coefficients fit; if not, ``forward`` says why."""
        return self.shape == (rows, g.factors.shape[-1]) and (g.invariants is None) == (self.beside is None)
