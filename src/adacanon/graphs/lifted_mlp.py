"""The first layer of a ``SpectralMLP`` merged with the change of basis before it."""

from functools import cached_property

import torch
from torch import Tensor

from adacanon.core.family import Fused
from adacanon.graphs.coefficients import BandCoefficients
from adacanon.graphs.spectral_mlp import Pullback, SpectralMLP


class LiftedMLP(Fused):
    r"""A ``SpectralMLP`` on the rotated coefficients of a batch, as a function of the blocks that rotate them.

    The first layer is :math:`W\,\mathrm{vec}(XR) = A\,\mathrm{vec}(X)` with blocks X and coefficients R. What X is
    multiplied with depends on the graph alone; it is formed when it is first asked for.

    Args:
        network: on the rotated coefficients, in evaluation mode.
        g: coefficients of a batch.
        rows: of every block.

    Example:
        >>> g = BandCoefficients(torch.randn(2, 1, 3, 4), torch.tensor([[5], [7]]), torch.tensor([[3], [3]]))
        >>> LiftedMLP(SpectralMLP(2, 4, classes=3), g, rows=2)(torch.randn(9, 2, 1, 2, 3)).shape
        torch.Size([9, 2, 3])
    """

    def __init__(self, network: SpectralMLP, g: BandCoefficients, rows: int) -> None:
        _, bands, width, _ = g.factors.shape
        self.network, self.g, self.point = network, g, (bands, width, rows)

    @cached_property
    def lifted(self) -> Tensor:
        """A of every graph, (graphs, bands * width * rows, hidden)."""
        g, (bands, width, rows) = self.g, self.point
        with torch.no_grad(), torch.autocast(g.factors.device.type, enabled=False):
            weight = _by_band(self.network, g, rows)
            lifted = g.factors.new_empty(len(g.factors), bands, width, weight.shape[2])
            for column in range(width):  # each in the place that the products below read
                torch.bmm(g.factors[:, :, column].transpose(0, 1), weight, out=lifted[:, :, column].transpose(0, 1))
            return lifted.reshape(len(g.factors), bands * width * rows, -1)

    @cached_property
    def shift(self) -> Tensor:
        """What the first layer adds to the products, (graphs, 1, hidden)."""
        with torch.no_grad(), torch.autocast(self.g.factors.device.type, enabled=False):
            return _shift(self.network, self.g)

    def __call__(self, u: Tensor) -> Tensor:
        return self.network.after_first(self._first(u)).transpose(0, 1)

    def pullback(self, u: Tensor) -> tuple[Tensor, Pullback] | None:
        """Outputs, and the map from their cotangents to those of u, without a graph of operations in between."""
        with torch.no_grad():
            pulled = self.network.pullback(self._first(u))
        if pulled is None:
            return None
        outputs, rest = pulled

        def back(cotangent: Tensor) -> Tensor:
            with torch.no_grad():
                points = torch.bmm(rest(cotangent.transpose(0, 1)), self.lifted.mT)
            return points.unflatten(2, self.point).transpose(0, 1).mT

        return outputs.transpose(0, 1), back

    def with_gradients(self, network: SpectralMLP, g: BandCoefficients, u: Tensor) -> Tensor:  # type: ignore[override]
        """Outputs (graphs, forms, classes) at points (graphs, forms, bands, rows, width); pairs are so cheap that
        looking for equal ones would cost more than it saves.
        """
        forms, channels, width = u.shape[1], g.factors.shape[3], g.factors.shape[2]
        many = forms * (channels - width) > width * channels  # multiplications of the two ways
        products = _merged_products if many else _products_of_forms
        return network.after_first(products(network, g, u) + _shift(network, g))

    def _first(self, u: Tensor) -> Tensor:
        """The first layer, (graphs, count, hidden)."""
        points = u.mT.transpose(0, 1).flatten(2)  # (graphs, count, bands * width * rows), a view of fresh draws
        return torch.baddbmm(self.shift, points, self.lifted)


def _products_of_forms(network: SpectralMLP, g: BandCoefficients, u: Tensor) -> Tensor:
    """First the rotated coefficients, one product per graph and band for all forms, then the layer."""
    graphs, forms = u.shape[:2]
    rotated = u.transpose(1, 2).flatten(2, 3) @ g.factors  # (graphs, bands, forms * rows, channels)
    rotated = rotated.unflatten(2, (forms, -1)).transpose(1, 2).reshape(graphs, forms, -1)
    return rotated @ network.first.weight.T


def _merged_products(network: SpectralMLP, g: BandCoefficients, u: Tensor) -> Tensor:
    """First what all forms of a graph have in common, then one product per graph."""
    graphs, bands, width, _ = g.factors.shape
    rows = u.shape[3]
    lifted = g.factors.transpose(0, 1).flatten(1, 2) @ _by_band(network, g, rows)  # (bands, graphs * width, ...)
    lifted = lifted.unflatten(1, (graphs, width)).transpose(0, 1)
    return torch.bmm(u.mT.flatten(2), lifted.reshape(graphs, bands * width * rows, -1))


def _by_band(network: SpectralMLP, g: BandCoefficients, rows: int) -> Tensor:
    """The weights of the first layer, (bands, channels, rows * hidden)."""
    _, bands, _, channels = g.factors.shape
    return network.first.weight.reshape(-1, bands, rows, channels).permute(1, 3, 2, 0).flatten(2)


def _shift(network: SpectralMLP, g: BandCoefficients) -> Tensor:
    return network.shift(g.invariants).expand(len(g.factors), -1).unsqueeze(1)
