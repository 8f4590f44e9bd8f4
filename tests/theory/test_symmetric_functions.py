r"""Theorem "symmetry preserving prior maximization", part 1: every continuous symmetry preserving
:math:`Q(g) = F(P(\pi(u)g))` is of the form :math:`f\circ\rho_f`, namely with :math:`f = F`.

Here :math:`P(X) = XA^\top` embeds clouds of :math:`\mathbb R^3` in :math:`\mathbb R^5`, and F reads the cloud back.
"""

from dataclasses import dataclass

import pytest
import torch
from torch import Tensor

from adacanon import AnchoredSearch, GridSearch, Monotone, RandomSearch, SampleAndRefine
from adacanon.core import Family, Maximizer
from adacanon.points import Rotations
from adacanon.spaces import SO3
from cases.theory_cases import CloudNetwork, canonicalized, largest_difference, random_clouds, stream

EMBEDDING = torch.randn(5, 3, generator=stream(11), dtype=torch.float64)
SEARCHES = [RandomSearch(1), RandomSearch(16), GridSearch(16), SampleAndRefine(8, steps=2), AnchoredSearch(8)]


@dataclass(frozen=True)
class EmbeddedRotations(Family):
    r""":math:`\kappa_u = P \circ \pi(u)`: rotate, then embed by an injective linear map."""

    embedding: Tensor

    def space(self, g: Tensor) -> SO3:
        return SO3()

    def transform(self, g: Tensor, u: Tensor, owner: Tensor) -> Tensor:
        return Rotations().transform(g, u, owner) @ self.embedding.mT

    def anchor(self, g: Tensor) -> Tensor:
        return Rotations().anchor(g)


def q(clouds: Tensor) -> Tensor:
    """A function of the Gram matrix, hence invariant; without further structure."""
    gram = torch.tanh(clouds @ clouds.mT)
    return torch.stack(
        [gram.sin().sum((1, 2)), gram.pow(3).mean((1, 2)), (gram @ gram).diagonal(dim1=1, dim2=2).std(1)], 1
    )


def read_back(embedded: Tensor) -> Tensor:
    r""":math:`P^{-1}` on the image of P."""
    return embedded @ torch.linalg.pinv(EMBEDDING).mT


@pytest.mark.parametrize("search", SEARCHES, ids=repr)
def test_a_symmetric_function_is_reproduced(search: Maximizer) -> None:
    clouds = random_clouds(16)
    model = canonicalized(lambda x: q(read_back(x)), search, EmbeddedRotations(EMBEDDING))
    assert largest_difference(model(clouds), q(clouds)) < 1e-10


def test_the_direction_of_the_prior_does_not_matter_to_a_symmetric_function() -> None:
    clouds = random_clouds(16)
    model = canonicalized(q, RandomSearch(16), prior=Monotone(torch.neg))
    assert largest_difference(model(clouds), q(clouds)) < 1e-10


def test_a_function_without_symmetry_is_changed() -> None:
    f, clouds = CloudNetwork(0), random_clouds(16)
    model = canonicalized(lambda x: f(read_back(x)), RandomSearch(16), EmbeddedRotations(EMBEDDING))
    assert largest_difference(model(clouds), f(clouds)) > 0.1


def test_without_injectivity_a_symmetric_function_is_lost() -> None:
    """Forgetting one coordinate of three, no F can read Q back; the same construction then fails."""
    flat = EMBEDDING.clone()
    flat[:, 2] = 0
    clouds = random_clouds(16)
    model = canonicalized(lambda x: q(x @ torch.linalg.pinv(flat).mT), RandomSearch(16), EmbeddedRotations(flat))
    assert largest_difference(model(clouds), q(clouds)) > 0.1
