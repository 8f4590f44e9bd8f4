"""Networks of several arguments on forms that are tuples."""

from torch import Tensor, nn

from adacanon.errors import InputError, ShapeError


class Unpacked(nn.Module):
    r""":math:`(X, m, \dots) \mapsto f(X, m, \dots)`: what stands beside the points of a form is handed to the network
    as further arguments, in the same order.

    Args:
        network: f, such as a PointNet that takes points and a mask.

    Example:
        >>> import torch
        >>> from adacanon.points import PointNet
        >>> network = Unpacked(PointNet(10)).eval()
        >>> network((torch.randn(4, 8, 3), torch.ones(4, 8, dtype=torch.bool))).shape
        torch.Size([4, 10])
    """

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        if not isinstance(network, nn.Module):
            raise InputError(f"Unpacked expects a module, got {network!r}. Hint: an instance, Unpacked(PointNet(10))")
        self.network = network

    def forward(self, form: tuple[Tensor, ...]) -> Tensor:
        if not isinstance(form, tuple | list):
            raise ShapeError(
                f"Unpacked expects points and what stands beside them as a tuple, got {type(form).__name__}. "
                "Hint: model((points, mask)); a network of points alone needs no Unpacked"
            )
        try:
            return self.network(*form)
        except TypeError as error:
            shapes = ", ".join(str(tuple(x.shape)) for x in form)
            name = type(self.network).__name__
            error.add_note(f"Unpacked called {name} with {len(form)} tensors, of shapes {shapes}")
            raise
