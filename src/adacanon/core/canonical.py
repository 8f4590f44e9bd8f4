"""What a canonicalized network found for a batch."""

from dataclasses import dataclass

from torch import Tensor

from adacanon.core.family import Family
from adacanon.core.pytree import Tree, flatten_leading, owners, unflatten_leading


@dataclass(frozen=True)
class Canonical:
    """The outcome of a search.

    Attributes:
        parameters: the chosen transformations :math:`u_d`, a tree with leaves (batch, forms, *point).
        scores: the prior values :math:`h_d(f_d(\\kappa_{u_d}(g)))`, (batch, forms); with a temperature and a form per
            class those of the soft maxima.
        logits: the network's outputs at the chosen forms, (batch, classes); with one shared form the answers (batch,
            ...), carried back and, with a temperature, blended. Also under the name ``answers``.
        evaluations: network evaluations per input that the search took; one on a coarse view counts by its share.
        mask: which entries of padded parameters mean something, or None if all do.
        determined: for which inputs the anchors of the search follow from the input, (batch,) of booleans; for the
            others, such as symmetric shapes, the outcome depends on the pose in which they come. None if the search
            uses no anchors.
        weights: with a temperature, those of the candidates, (candidates, batch, forms); None without.
        effective_forms: the effective number of forms that decide, (batch, forms), see ``core.soft``; None without.
        known: for maps of pixels, the share of every pixel for which there is an answer, (batch, 1, height, width),
            from 0 to 1; where it is 0 the answer is 0. None for other answers.

    Example:
        >>> import torch
        >>> from adacanon.core import Canonicalized
        >>> from adacanon.points import PointNet, Rotations
        >>> found = Canonicalized(PointNet(4), Rotations()).eval().canonicalize(torch.randn(2, 9, 3))
        >>> found.scores.shape, found.forms().shape, found.evaluations
        (torch.Size([2, 4]), torch.Size([2, 4, 9, 3]), 24.0)
    """

    parameters: Tree
    scores: Tensor
    logits: Tensor
    evaluations: float
    mask: Tree | None
    family: Family
    g: Tree
    determined: Tensor | None = None
    weights: Tensor | None = None
    effective_forms: Tensor | None = None
    known: Tensor | None = None

    @property
    def answers(self) -> Tensor:
        """The answers of the model: ``logits`` by the name that fits vectors, poses and maps."""
        return self.logits

    def forms(self) -> Tree:
        """The canonical forms :math:`\\kappa_{u_d}(g)`, a tree with leaves (batch, forms, ...)."""
        batch, forms = self.scores.shape
        owner = owners(batch, forms, self.scores.device)
        pairs = self.family.transform(self.g, flatten_leading(self.parameters, 2), owner)
        return unflatten_leading(pairs, (batch, forms))
