"""What a canonicalized network found for a batch."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torch import Tensor

from adacanon.core.family import Family
from adacanon.core.pytree import Tree, flatten_leading, owners, unflatten_leading

if TYPE_CHECKING:
    from adacanon.core.model import CanonicalizedModel
    from adacanon.explain import Shown


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
        model: what found it, for pages that ask it again. It is not pickled or copied with the rest, nor is ``given``.
        given: the batch as it came, before the family prepared it.

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
    model: "CanonicalizedModel | None" = field(default=None, repr=False, compare=False)
    given: Any = field(default=None, repr=False, compare=False)

    def __getstate__(self) -> dict[str, Any]:
        """Without the model, which may hold what cannot be pickled, and the batch as it came."""
        return {**vars(self), "model": None, "given": None}

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

    def save(
        self,
        path: str | Path,
        *,
        classes: Sequence[str] = (),
        labels: Sequence[int] | Tensor | None = None,
        names: Sequence[str] = (),
        title: str | None = None,
        samples: int = 4,
        index: Sequence[int] | None = None,
        top: int = 3,
        moves: int = 8,
        inputs: Any = None,
    ) -> Path:
        """Write a page about what was found: one file, without requests to anywhere.

        Args:
            path: of the file, such as ``"page.html"``.
            classes: their names, in the order of the network's outputs.
            labels: the true class of every input of the batch, to be shown beside the answer.
            names: of all inputs of the batch, such as those of files; numbers if not given.
            title: of the page.
            samples: the first inputs of the batch, this many at most, are shown.
            index: show these inputs instead.
            top: canonical forms of this many leading classes are shown.
            moves: random transformations that every input is moved by, to see whether the answer stays; 0 for none.
            inputs: what to draw in place of the batch that the model was given, such as graphs where it was given
                coefficients.

        Example:
            >>> from tempfile import TemporaryDirectory
            >>> import torch
            >>> from adacanon import Canonicalized
            >>> from adacanon.points import PointNet, Rotations
            >>> found = Canonicalized(PointNet(2), Rotations()).eval().canonicalize(torch.randn(1, 9, 3))
            >>> with TemporaryDirectory() as folder:
            ...     found.save(f"{folder}/page.html", classes=["rod", "disc"]).name
            'page.html'
        """
        shown = self.show(
            classes=classes,
            labels=labels,
            names=names,
            title=title,
            samples=samples,
            index=index,
            top=top,
            moves=moves,
            inputs=inputs,
        )
        return shown.save(path)

    def show(
        self,
        *,
        classes: Sequence[str] = (),
        labels: Sequence[int] | Tensor | None = None,
        names: Sequence[str] = (),
        title: str | None = None,
        samples: int = 4,
        index: Sequence[int] | None = None,
        top: int = 3,
        moves: int = 8,
        inputs: Any = None,
    ) -> "Shown":
        """The page of :meth:`save` as an object that a notebook displays; elsewhere it says what to do."""
        from adacanon.explain import Shown, page

        return Shown(
            page(
                self,
                classes=classes,
                labels=labels,
                names=names,
                title=title,
                samples=samples,
                index=index,
                top=top,
                moves=moves,
                inputs=inputs,
            )
        )
