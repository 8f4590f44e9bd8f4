"""Frozen backbones: cached features give what the whole network gives, and survive an interruption."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from adacanon import Canonicalized, GridSearch, one_vs_rest
from adacanon.errors import DataError, ShapeError
from adacanon.frozen import OverForms, features_of_forms, stored_features
from adacanon.points import Rotations
from adacanon.spaces import rotation_group
from networks import POINTS, clouds

CUBE = rotation_group("cube")


def parts() -> tuple[nn.Module, nn.Module]:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        backbone = nn.Sequential(nn.Flatten(), nn.Linear(3 * POINTS, 8), nn.Tanh()).double()
        return backbone, nn.Linear(8, 4).double()


class TestOverForms:
    def test_values_and_gradients_are_those_of_the_canonicalized_network(self) -> None:
        backbone, head = parts()
        labels = torch.tensor([0, 3, 1])
        features = features_of_forms(backbone, Rotations(), CUBE, clouds())
        assert features.shape == (3, 24, 8)
        logits = OverForms(head)(features)
        one_vs_rest(logits, labels).backward()
        found = [p.grad.clone() for p in head.parameters()]
        head.zero_grad()
        whole = Canonicalized(nn.Sequential(backbone, head), Rotations(), GridSearch(points=CUBE))
        expected = whole(clouds())
        one_vs_rest(expected, labels).backward()
        torch.testing.assert_close(logits, expected)
        for ours, theirs in zip(found, head.parameters(), strict=True):
            torch.testing.assert_close(ours, theirs.grad)

    def test_chunks_do_not_matter(self) -> None:
        backbone, _ = parts()
        one, other = (features_of_forms(backbone, Rotations(), CUBE, clouds(), chunk=chunk) for chunk in (1, 50))
        torch.testing.assert_close(one, other)

    def test_features_without_forms_are_refused(self) -> None:
        with pytest.raises(ShapeError, match="features_of_forms"):
            OverForms(nn.Linear(8, 3))(torch.zeros(5, 8))


class TestStore:
    def batches(self, done: int, *, stop: int = 10) -> Iterator[Tensor]:
        self.asked = done
        for i in range(done, stop, 3):
            yield torch.arange(i, min(i + 3, stop)).float()[:, None, None].expand(-1, 2, 4)

    def test_an_interrupted_store_goes_on_where_it_stopped(self, tmp_path: Path) -> None:
        file = tmp_path / "cache" / "features.npy"
        with pytest.raises(DataError, match="10 samples were expected, got 6"):
            stored_features(file, 10, lambda done: self.batches(done, stop=6))
        features = stored_features(file, 10, self.batches)
        assert self.asked == 6
        assert features.dtype == torch.float16
        assert torch.equal(features[:, 0, 0].float(), torch.arange(10.0))

    def test_what_is_there_is_not_computed_again(self, tmp_path: Path) -> None:
        file = tmp_path / "features.npy"
        stored_features(file, 10, self.batches)
        assert torch.equal(
            stored_features(file, 10, lambda done: pytest.fail("computed again"))[9], torch.full((2, 4), 9.0).half()
        )

    def test_the_store_of_other_data_is_refused(self, tmp_path: Path) -> None:
        file = tmp_path / "features.npy"
        stored_features(file, 10, self.batches)
        with pytest.raises(DataError, match="remove it"):
            stored_features(file, 11, self.batches)
