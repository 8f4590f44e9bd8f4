"""No damage of a cached file changes a result: it is noticed, the file is set aside, and its content made again."""

import io
import random
import sqlite3
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from adacanon.checked_files import DamagedFileError, opened_checked, write_checked
from adacanon.data.array_cache import cached_arrays
from adacanon.errors import InputError
from adacanon.frozen import stored_features
from adacanon.graphs import spectra_store
from adacanon.graphs.spectra import decompose, spectra
from adacanon.training.checkpoint import load_checkpoint, save_checkpoint

DAMAGES = 60


def damaged(content: bytes, draw: random.Random) -> bytes:
    """One flipped bit, some foreign bytes, zeros over a stretch, a cut or a doubled piece, at a random place."""
    kind, place, changed = draw.randrange(5), draw.randrange(len(content)), bytearray(content)
    if kind == 0:
        changed[place] ^= 1 << draw.randrange(8)
    elif kind == 1:
        changed[place : place + 4] = draw.randbytes(len(changed[place : place + 4]))
    elif kind == 2:
        changed[place : place + 512] = bytes(len(changed[place : place + 512]))
    elif kind == 3:
        del changed[place:]
    else:
        changed[place:place] = changed[place : place + 64]
    return bytes(changed)


def assert_damage_never_matters(file: Path, result: Callable[[], bytes], *, damages: int = DAMAGES) -> None:
    """Whatever happens to a file, the result stays; nearly always the damage is also named."""
    expected = result()
    whole, named, draw = file.read_bytes(), 0, random.Random(0)
    for _ in range(damages):
        file.write_bytes(damaged(whole, draw))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            assert result() == expected
        named += any("is damaged" in str(w.message) or "cannot be used" in str(w.message) for w in caught)
        file.write_bytes(whole)
    assert named > 0


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("ADACANON_CACHE", str(tmp_path))
    return tmp_path


def matrices() -> list[Tensor]:
    random_numbers = torch.randn(4, 12, 12, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    return [matrix + matrix.T for matrix in random_numbers]


class TestDamage:
    def test_of_the_database_of_spectra(self, cache: Path) -> None:
        def result() -> bytes:
            return b"".join(s.eigenvectors.contiguous().numpy().tobytes() for s in spectra(matrices()))

        result()
        assert_damage_never_matters(cache / "spectra.sqlite", result, damages=2 * DAMAGES)

    def test_of_a_checkpoint(self, tmp_path: Path) -> None:
        file = tmp_path / "run.pt"
        weights = torch.arange(300.0)

        def result() -> bytes:
            state = load_checkpoint(file)
            if state is None:
                state = {"weights": weights, "epoch": 3}
                save_checkpoint(file, state)
            return state["weights"].numpy().tobytes() + bytes([state["epoch"]])

        result()
        assert_damage_never_matters(file, result)

    def test_of_a_checkpoint_without_a_checksum_of_its_own(self, tmp_path: Path) -> None:
        """As earlier versions wrote them: the archive's own checksums protect the tensors."""
        file = tmp_path / "run.pt"

        def result() -> bytes:
            state = load_checkpoint(file)
            return b"anew" if state is None else state["weights"].numpy().tobytes()

        content = io.BytesIO()
        torch.save({"weights": torch.arange(300.0)}, content)
        draw, taken = random.Random(1), 0
        for _ in range(DAMAGES):
            file.write_bytes(damaged(content.getvalue(), draw))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = result()
            assert found in (b"anew", torch.arange(300.0).numpy().tobytes())
            taken += found != b"anew"
        assert taken < DAMAGES

    def test_of_a_shard_of_features(self, tmp_path: Path) -> None:
        def result() -> bytes:
            features = stored_features(tmp_path, 6, lambda rows: torch.arange(60.0).view(6, 2, 5)[rows], shard=6)
            return features.numpy().tobytes()

        result()
        (file,) = tmp_path.iterdir()
        assert_damage_never_matters(file, result)

    def test_of_cached_arrays(self, cache: Path) -> None:
        def result() -> bytes:
            found = cached_arrays("name", "digest", lambda: {"x": np.arange(50.0), "y": np.arange(9)})
            return found["x"].tobytes() + found["y"].tobytes()

        result()
        (file,) = (cache / "arrays").iterdir()
        assert_damage_never_matters(file, result)

    def test_of_the_layout_of_the_database_whose_error_message_is_no_text(self, cache: Path) -> None:
        expected = spectra(matrices())
        file = cache / "spectra.sqlite"
        file.write_bytes(file.read_bytes().replace(b"PRIMARY KEY (", b"PRIMARY \xedEY (", 1))
        with pytest.warns(UserWarning, match="cannot be used"):
            found = spectra(matrices())
        assert all(torch.equal(a.eigenvectors, b.eigenvectors) for a, b in zip(expected, found, strict=True))


class TestCheckedFiles:
    def test_a_file_under_another_name_is_that_of_something_else(self, tmp_path: Path) -> None:
        save_checkpoint(tmp_path / "one.pt", {"epoch": 1})
        (tmp_path / "one.pt").rename(tmp_path / "other.pt")
        with pytest.warns(UserWarning, match=r"another name.*now other.pt.broken; the training starts anew"):
            assert load_checkpoint(tmp_path / "other.pt") is None
        assert [file.name for file in tmp_path.iterdir()] == ["other.pt.broken"]
        assert load_checkpoint(tmp_path / "other.pt") is None  # without a second warning

    def test_other_programs_read_the_content_as_before(self, tmp_path: Path) -> None:
        save_checkpoint(tmp_path / "run.pt", {"module": nn.Linear(2, 1).state_dict()})
        assert set(torch.load(tmp_path / "run.pt", weights_only=True)["module"]) == {"weight", "bias"}
        write_checked(tmp_path / "a.npy", lambda stream: np.save(stream, np.arange(3)))
        assert np.load(tmp_path / "a.npy").tolist() == [0, 1, 2]

    @pytest.mark.parametrize("content", [b"", b"short", bytes(1000)])
    def test_files_without_a_checksum_are_refused(self, content: bytes, tmp_path: Path) -> None:
        file = tmp_path / "file"
        file.write_bytes(content)
        with pytest.raises(DamagedFileError, match="has no checksum"), opened_checked(file):
            pass

    def test_a_vanished_folder_costs_nothing_but_the_file(self, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Between noticing the damage and renaming the file, somebody empties the cache."""
        (cache / "run.pt").write_bytes(b"nonsense")
        monkeypatch.setattr(Path, "replace", lambda *_: (_ for _ in ()).throw(FileNotFoundError("gone")))
        with pytest.warns(UserWarning, match="cannot be renamed"):
            assert load_checkpoint(cache / "run.pt") is None


class TestEarlierVersions:
    def test_shards_without_checksums_are_used_once_said_and_sealed(self, tmp_path: Path) -> None:
        np.save(tmp_path / "000000-000003.npy", np.ones((3, 2), np.float16))
        refuse = lambda rows: pytest.fail("computed again")  # noqa: E731
        with pytest.warns(UserWarning, match="1 shards .* without checksums"):
            assert stored_features(tmp_path, 3, refuse).tolist() == [[1, 1]] * 3
        assert [file.name for file in tmp_path.iterdir()] == ["000000-000003.features"]
        assert stored_features(tmp_path, 3, refuse).tolist() == [[1, 1]] * 3

    @pytest.mark.parametrize(
        "content", [np.ones((4, 2), np.float16), np.ones((3, 2)), np.full((3, 2), np.nan, np.float16), b"nothing"]
    )
    def test_shards_that_do_not_look_right_are_computed_again(
        self, content: np.ndarray | bytes, tmp_path: Path
    ) -> None:
        file = tmp_path / "000000-000003.npy"
        file.write_bytes(content) if isinstance(content, bytes) else np.save(file, content)
        with pytest.warns(UserWarning, match="cannot be used"):
            assert stored_features(tmp_path, 3, lambda rows: torch.zeros(3, 2)).tolist() == [[0, 0]] * 3
        assert {file.name for file in tmp_path.iterdir()} == {"000000-000003.features", "000000-000003.npy.broken"}

    def test_spectra_without_checksums_are_computed_again_and_go_first(
        self, cache: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with sqlite3.connect(cache / "spectra.sqlite") as database:
            database.execute("CREATE TABLE spectra (digest TEXT PRIMARY KEY, content BLOB)")
            database.execute("INSERT INTO spectra VALUES ('digest', ?)", (bytes(2**20),))
        database.close()
        (found,) = spectra(matrices()[:1])
        assert torch.equal(found.eigenvectors, decompose(matrices()[0]).eigenvectors)
        assert tables(cache) == {"spectra", "checked_spectra"}
        monkeypatch.setenv("ADACANON_SPECTRA_LIMIT", "1")
        spectra(matrices()[1:2])
        assert tables(cache) == {"checked_spectra"}


def tables(cache: Path) -> set[str]:
    database = sqlite3.connect(cache / "spectra.sqlite")
    names = {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    database.close()
    return names


class TestSizeOfTheDatabase:
    def test_what_was_stored_first_goes_first(self, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("ADACANON_SPECTRA_LIMIT", "1")
        for number in range(12):
            spectra_store.store_blobs({f"name{number}": memoryview(bytes([number]) * 2**18)})
            assert f"name{number}" in spectra_store.load_blobs([f"name{number}"])
        kept = spectra_store.load_blobs([f"name{number}" for number in range(12)])
        assert list(kept) == ["name9", "name10", "name11"]
        assert (cache / "spectra.sqlite").stat().st_size < 1.5 * 2**20

    def test_a_spectrum_above_the_limit_is_not_kept_and_that_is_said(
        self, cache: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("ADACANON_SPECTRA_LIMIT", "1")
        with pytest.warns(UserWarning, match="more than 1 MB were not cached. Hint: set ADACANON_SPECTRA_LIMIT"):
            spectra_store.store_blobs({"name": memoryview(bytes(2**21))})

    @pytest.mark.parametrize("limit", ["many", "-1", "1.5"])
    def test_limits_that_mean_nothing_are_refused(
        self, cache: Path, monkeypatch: pytest.MonkeyPatch, limit: str
    ) -> None:
        monkeypatch.setenv("ADACANON_SPECTRA_LIMIT", limit)
        with pytest.raises(InputError, match="whole number of megabytes"):
            spectra_store.store_blobs({"name": memoryview(bytes(8))})

    def test_what_is_longer_than_a_row_is_kept_in_pieces(self, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(spectra_store, "PIECE", 1000)
        content = np.random.default_rng(0).bytes(4321)
        spectra_store.store_blobs({"name": memoryview(content)})
        assert spectra_store.load_blobs(["name", "other"]) == {"name": content}
        database = sqlite3.connect(cache / "spectra.sqlite")
        assert database.execute("SELECT count(*) FROM checked_spectra").fetchone() == (5,)
        database.execute("DELETE FROM checked_spectra WHERE piece = 4")
        database.commit()
        database.close()
        with pytest.warns(UserWarning, match="is damaged"):
            assert spectra_store.load_blobs(["name"]) == {}
        assert spectra_store.load_blobs(["name"]) == {}
