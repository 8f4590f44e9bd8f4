"""QM9: the real file by its counts and a sum by hand, small and damaged files against clear errors, official files."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from adacanon.data import import_qm9, load_qm9
from adacanon.data.qm9 import DEBYES, ELECTRONVOLTS, ELEMENTS, FILE, KEYS
from adacanon.errors import DataError, InputError
from cases.official_molecules import HEADER, METHANE, official

Arrays = dict[str, Any]


@pytest.fixture
def arrays(tmp_path: Path) -> Arrays:
    file = import_qm9(official(tmp_path / "official"), folder=tmp_path / "imported", validation=1, test=2)
    with np.load(file) as archive:
        return dict(archive)


def write(folder: Path, content: Arrays) -> Path:
    (folder / FILE).parent.mkdir(parents=True)
    np.savez_compressed(folder / FILE, allow_pickle=False, **content)
    return folder


class TestImport:
    def test_what_is_imported_can_be_loaded(self, tmp_path: Path) -> None:
        file = import_qm9(official(tmp_path / "official"), folder=tmp_path / "data", validation=1, test=2)
        assert file == tmp_path / "data" / FILE
        data = load_qm9(folder=tmp_path / "data")
        assert (len(data.train), len(data.validation), len(data.test)) == (3, 1, 2)
        gaps = torch.cat([data.train.gap, data.validation.gap, data.test.gap])
        torch.testing.assert_close(gaps.sort().values, ELECTRONVOLTS * torch.arange(1, 7) / 10)
        for part in (data.train, data.validation, data.test):
            torch.testing.assert_close(part.polarizability, 10 + 10 * part.gap / ELECTRONVOLTS)
            assert set(part.mask.sum(1).tolist()) <= {3, 5}
            assert torch.equal(part.types.sum(2), part.mask.float())
            assert not part.positions[~part.mask].any()

    def test_numbers_with_strange_exponents_and_the_dipole_by_hand(self, tmp_path: Path) -> None:
        import_qm9(official(tmp_path / "official"), folder=tmp_path, validation=1, test=2)
        data = load_qm9(folder=tmp_path)
        (place, *_) = (data.train.mask.sum(1) == 5).nonzero()[:, 0].tolist()
        torch.testing.assert_close(data.train.positions[place, 1], torch.tensor([2.1503e-3, -6.0313e-3, 1.9761e-3]))
        assert data.train.types[place, :2].argmax(1).tolist() == [1, 0]
        rows = [[float(word.replace("*^", "e")) for word in line.split()[1:]] for line in METHANE]
        expected = [DEBYES * sum(row[3] * row[k] for row in rows) for k in range(3)]
        torch.testing.assert_close(data.train.dipole[place], torch.tensor(expected), rtol=1e-4, atol=1e-5)

    def test_molecules_that_fell_apart_are_left_out(self, tmp_path: Path) -> None:
        listed = tmp_path / "uncharacterized.txt"
        listed.write_text("molecules that failed\n-----\n Index  SMILES\n     2   C  C\n     5   O  O\n2 compounds\n")
        source = official(tmp_path / "official")
        file = import_qm9(source, folder=tmp_path / "data", without=listed, validation=1, test=1)
        assert np.load(file)["molecule_index"].tolist() == [1, 3, 4, 6]

    def test_the_split_follows_from_the_seed(self, tmp_path: Path) -> None:
        source = official(tmp_path / "official", 12)
        parts = [
            np.load(import_qm9(source, folder=tmp_path / str(k), validation=3, test=4, seed=seed))["test"].tolist()
            for k, seed in enumerate((0, 0, 1))
        ]
        assert parts[0] == parts[1] != parts[2]

    def test_errors(self, tmp_path: Path) -> None:
        source = official(tmp_path / "official")
        with pytest.raises(InputError, match=r"6 molecules have no parts of validation=3, test=3 and the rest"):
            import_qm9(source, folder=tmp_path, validation=3, test=3)
        (tmp_path / "empty.txt").write_text("nothing\n")
        with pytest.raises(DataError, match=r"expected lines that begin with the number of a molecule"):
            import_qm9(source, folder=tmp_path, without=tmp_path / "empty.txt", validation=1, test=1)
        for content, message in (
            ("2\ngdb 1 1 2\nC 0 0 0 0\n", r"expected 15 scalars and 2 atoms with x, y, z and charge, got 2 and"),
            ("1\n" + HEADER.format(1, 2, 3) + "\nS 0 0 0 0\n", r"expected the layout of QM9, got KeyError\('S'\)"),
            ("no number\n", r"expected the layout of QM9, got ValueError"),
        ):
            (source / "dsgdb9nsd_000001.xyz").write_text(content)
            with pytest.raises(DataError, match=message):
                import_qm9(source, folder=tmp_path, validation=1, test=1)
        assert not (tmp_path / FILE).exists()


def changed(key: str, change: Callable[[np.ndarray], Any]) -> Callable[[Arrays], None]:
    def apply(content: Arrays) -> None:
        content[key] = change(content[key].copy())

    return apply


def with_first(x: np.ndarray, value: float) -> np.ndarray:
    x.reshape(-1)[0] = value
    return x


DAMAGES: dict[str, tuple[Callable[[Arrays], Any], str]] = {
    "an array is missing": (lambda content: content.pop("mulliken_charges"), r"missing mulliken_charges"),
    "too few positions": (changed("positions", lambda x: x[1:]), r"expected positions of shape \(24, 3\)"),
    "another element": (
        changed("atomic_numbers", lambda x: with_first(x, 16)),
        r"expected atomic numbers .*got \[16\]",
    ),
    "a position that is not finite": (changed("positions", lambda x: with_first(x, np.nan)), r"expected finite"),
    "a target that is not finite": (changed("targets", lambda x: with_first(x, np.inf)), r"expected finite"),
    "a charged molecule": (
        changed("mulliken_charges", lambda x: with_first(x, 1.0)),
        r"expected neutral molecules, the charges of molecule 0 sum to",
    ),
    "another target": (
        changed("target_names", lambda x: np.array(["Polarizability_bohr3", "Dipole_debye"])),
        r"expected HOMO_LUMO_gap_au among target_names, got Polarizability_bohr3, Dipole_debye",
    ),
    "a molecule in two parts": (
        lambda content: content.update(train=np.append(content["train"], content["test"][0])),
        r"expected every molecule in one of train, validation, test, some come twice",
    ),
    "a molecule that is not there": (changed("test", lambda x: with_first(x, 6)), r"test must lie in 0\.\.5"),
    "a molecule without atoms": (
        changed("atom_counts", lambda x: np.concatenate([[0], [x[0] + x[1]], x[2:]])),
        r"molecule 0 has no atoms",
    ),
}


class TestLoad:
    @pytest.mark.parametrize("name", DAMAGES)
    def test_damaged_files(self, name: str, tmp_path: Path, arrays: Arrays) -> None:
        damage, message = DAMAGES[name]
        damage(arrays)
        with pytest.raises(DataError, match=message):
            load_qm9(folder=write(tmp_path / "data", arrays))

    def test_the_keys_are_those_that_an_import_writes(self, arrays: Arrays) -> None:
        assert set(KEYS) == set(arrays) - {"molecule_index"}

    def test_without_a_file_the_error_says_how_to_make_one(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("ADACANON_DATA", str(tmp_path))
        with pytest.raises(DataError, match=r"are missing\. Hint: .*adacanon data import FOLDER --output DATA"):
            load_qm9()

    def test_an_import_into_the_cache_is_found(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("ADACANON_DATA", raising=False)
        monkeypatch.setenv("ADACANON_CACHE", str(tmp_path / "cache"))
        import_qm9(official(tmp_path / "official"), validation=1, test=2)
        assert len(load_qm9().train) == 3

    def test_a_number_of_training_molecules(self, tmp_path: Path, arrays: Arrays) -> None:
        data = load_qm9(folder=write(tmp_path / "data", arrays))
        assert torch.equal(data.limited(2).train.gap, data.train.gap[:2])
        assert data.limited(None) is data
        for count in (0, 4):
            with pytest.raises(InputError, match=rf"There are 3 training molecules, got train={count}"):
                data.limited(count)


@pytest.mark.data
def test_the_real_file(data_folder: Path) -> None:
    """Counts, units, and the dipole of one molecule by hand; its length goes with the true dipole."""
    data = load_qm9(folder=data_folder)
    assert (len(data.train), len(data.validation), len(data.test)) == (30_000, 3_000, 5_000)
    assert data.train.positions.shape == (30_000, 29, 3)
    assert data.train.types.sum((0, 1)).argsort(descending=True).tolist() == [0, 1, 3, 2, 4]
    assert 6.5 < float(data.train.gap.mean()) < 7.1
    assert 74 < float(data.train.polarizability.mean()) < 76
    with np.load(data_folder / FILE) as archive:
        first, counts = int(archive["test"][0]), archive["atom_counts"].astype(int)
        rows = slice(counts[:first].sum(), counts[: first + 1].sum())
        numbers, charges = archive["atomic_numbers"][rows], archive["mulliken_charges"][rows]
        expected = DEBYES * (charges[:, None] * archive["positions"][rows]).sum(0)
        true = torch.from_numpy(archive["targets"][archive["test"].astype(int), 0]).float()
    size = counts[first]
    assert [ELEMENTS[k] for k in data.test.types[0, :size].argmax(1)] == numbers.tolist()
    torch.testing.assert_close(data.test.dipole[0], torch.from_numpy(expected).float(), rtol=1e-4, atol=1e-4)
    assert float(torch.corrcoef(torch.stack([data.test.dipole.norm(dim=1), true]))[0, 1]) > 0.93
