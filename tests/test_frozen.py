"""Frozen backbones: cached features give what the whole network gives, and survive an interruption."""

from pathlib import Path
from typing import IO

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from adacanon import Canonicalized, GridSearch, one_vs_rest
from adacanon.checked_files import write_checked
from adacanon.errors import ShapeError
from adacanon.frozen import OverForms, features_of_forms, stored_features
from adacanon.points import Rotations
from adacanon.spaces import rotation_group
from cases.networks import POINTS, clouds

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
        one, other = (features_of_forms(backbone, Rotations(), CUBE, clouds(), chunk_size=chunk) for chunk in (1, 50))
        torch.testing.assert_close(one, other)

    def test_points_take_the_precision_of_the_inputs(self) -> None:
        backbone, _ = parts()
        features = features_of_forms(backbone.float(), Rotations(), CUBE, clouds().float())
        assert features.dtype == torch.float32

    def test_features_without_forms_are_refused(self) -> None:
        with pytest.raises(ShapeError, match="features_of_forms"):
            OverForms(nn.Linear(8, 3))(torch.zeros(5, 8))


class TestStore:
    @pytest.fixture(autouse=True)
    def _nothing_asked(self) -> None:
        self.asked: list[int] = []

    def features(self, rows: slice) -> Tensor:
        self.asked.append(rows.start)
        return torch.arange(rows.start, rows.stop).float()[:, None, None].expand(-1, 2, 4)

    def broken(self, rows: slice) -> Tensor:
        if rows.start == 6:
            raise KeyboardInterrupt
        return self.features(rows)

    def test_an_interrupted_store_goes_on_where_it_stopped(self, tmp_path: Path) -> None:
        folder, told = tmp_path / "cache" / "features", []
        with pytest.raises(KeyboardInterrupt):
            stored_features(folder, 10, self.broken, shard=3)
        assert self.asked == [0, 3]
        found = stored_features(folder, 10, self.features, shard=3, on_shard=lambda done, all: told.append((done, all)))
        assert self.asked == [0, 3, 6, 9]
        assert told == [(3, 10), (6, 10), (9, 10), (10, 10)]
        assert found.dtype == torch.float16
        assert torch.equal(found[:, 0, 0].float(), torch.arange(10.0))

    def test_what_is_there_is_not_computed_again(self, tmp_path: Path) -> None:
        stored_features(tmp_path, 10, self.features)
        found = stored_features(tmp_path, 10, lambda rows: pytest.fail("computed again"))
        assert torch.equal(found[9], torch.full((2, 4), 9.0).half())

    def test_a_full_disk_costs_the_file_and_not_the_features(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def full(stream: IO[bytes], array: object, **_: object) -> None:
            stream.write(b"half of it")
            raise OSError("No space left on device")

        monkeypatch.setattr("numpy.save", full)
        with pytest.warns(UserWarning, match="could not be kept.*No space left.*the work goes on"):
            found = stored_features(tmp_path, 10, self.features)
        assert torch.equal(found[:, 0, 0].float(), torch.arange(10.0))
        assert list(tmp_path.iterdir()) == []

    def test_a_shard_of_other_data_is_set_aside_and_computed_again(self, tmp_path: Path) -> None:
        other = np.zeros((9, 2, 4), np.float16)
        write_checked(tmp_path / "000000-000010.features", lambda stream: np.save(stream, other))
        with pytest.warns(UserWarning, match="holds 9 samples, expected 10.*computed again"):
            found = stored_features(tmp_path, 10, self.features)
        assert torch.equal(found[:, 0, 0].float(), torch.arange(10.0))
        names = {file.name for file in tmp_path.iterdir()}
        assert names == {"000000-000010.features", "000000-000010.features.broken"}
