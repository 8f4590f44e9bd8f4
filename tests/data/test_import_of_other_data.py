"""``adacanon data import`` of images and molecules: one command, which tells by the files what they are."""

import re
from functools import partial
from pathlib import Path

import pytest
import torch

from adacanon.cli import main
from adacanon.data import load_images, load_qm9, official_qm9
from adacanon.data.importing import import_folder
from adacanon.data.releases import RELEASES
from adacanon.errors import DataError
from cases.official_images import arrays, cifar10, cifar100, idx_files
from cases.official_molecules import official


def cifar(folder: Path, name: str, packed: bool) -> Path:
    """The folder of an archive, or of its contents."""
    folder.mkdir()
    make, number = (cifar10, 10) if name == "cifar10" else (cifar100, 100)
    if not packed:
        return make(folder / "unpacked")
    make(folder / f"cifar-{number}-python.tar.gz")
    return folder


@pytest.fixture
def small_split(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(official_qm9, "read_qm9", partial(official_qm9.read_qm9, validation=1, test=2))


class TestImages:
    @pytest.mark.parametrize("packed", [True, False])
    @pytest.mark.parametrize("name", ["cifar10", "cifar100"])
    def test_cifar_is_known_packed_and_unpacked(self, tmp_path: Path, name: str, packed: bool) -> None:
        done = import_folder(cifar(tmp_path / "official", name, packed), tmp_path / "data")
        assert done.counts == {"train": 20, "test": 12}
        assert done.official == {"train": 50_000, "test": 10_000}
        stored = torch.from_numpy(arrays(name)["test_images"]).permute(0, 3, 1, 2)
        assert torch.equal(load_images(name, folder=tmp_path / "data").test.pixels, stored)

    def test_an_archive_may_be_named_itself(self, tmp_path: Path) -> None:
        done = import_folder(cifar10(tmp_path / "cifar-10-python.tar.gz"), tmp_path / "data")
        assert done.file == tmp_path / "data" / "images" / "cifar10.npz"

    @pytest.mark.parametrize("packed", [True, False])
    def test_mnist_is_known_with_and_without_gz(self, tmp_path: Path, packed: bool) -> None:
        content = idx_files(tmp_path, packed=packed)
        seen: list[tuple[int, int]] = []
        done = import_folder(tmp_path, tmp_path / "data", on_progress=lambda *step: seen.append(step))
        assert done.counts == {"train": 20, "test": 12}
        assert seen == [(1, 4), (2, 4), (3, 4), (4, 4)]
        assert load_images("mnist", folder=tmp_path / "data").train.labels.tolist() == content["train_labels"].tolist()

    def test_of_two_archives_one_must_be_named(self, tmp_path: Path) -> None:
        cifar10(tmp_path / "cifar-10-python.tar.gz")
        cifar100(tmp_path / "cifar-100-python.tar.gz")
        hint = (
            rf"holds 2 of them. Hint: name one of them, .*cifar-10-python.tar.gz or {tmp_path}/cifar-100-python.tar.gz"
        )
        with pytest.raises(DataError, match=hint):
            import_folder(tmp_path, tmp_path / "data")

    def test_a_file_that_is_missing_is_named(self, tmp_path: Path) -> None:
        folder = cifar(tmp_path / "official", "cifar10", packed=False)
        (folder / "data_batch_4").unlink()
        with pytest.raises(
            DataError, match=r"expected the files data_batch_1, .*archive cifar-10.*; missing data_batch_4\."
        ):
            import_folder(folder, tmp_path / "data")
        assert not (tmp_path / "data").exists()

    def test_a_damaged_file_is_named(self, tmp_path: Path) -> None:
        folder = cifar(tmp_path / "official", "cifar10", packed=False)
        (folder / "test_batch").write_bytes(b"nonsense")
        with pytest.raises(DataError, match=r"test_batch is damaged or not the official file"):
            import_folder(folder, tmp_path / "data")

    def test_the_command_says_what_it_wrote(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        folder = cifar(tmp_path / "official", "cifar10", packed=True)
        assert main(["data", "import", str(folder), "--output", str(tmp_path / "data")]) == 0
        printed = " ".join(capsys.readouterr().out.split())
        assert "cifar10.npz: 20 train, 12 test images of cifar-10-python. This is not the whole release" in printed
        assert "7/7" in printed


@pytest.mark.usefixtures("small_split")
class TestMolecules:
    def test_they_are_known_by_their_names(self, tmp_path: Path) -> None:
        done = import_folder(official(tmp_path / "xyz"), tmp_path / "data")
        assert done.counts == {"train": 3, "validation": 1, "test": 2}
        assert done.remark.startswith("There is no uncharacterized.txt in the folder or beside it")
        assert len(load_qm9(folder=tmp_path / "data").train) == 3

    @pytest.mark.parametrize("place", ["xyz", "."])
    def test_the_list_of_those_that_fell_apart_is_found(
        self, tmp_path: Path, place: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        folder = official(tmp_path / "xyz")
        (tmp_path / place / "uncharacterized.txt").write_text("     2   C  C\n     5   O  O\n2 compounds\n")
        assert main(["data", "import", str(folder), "--output", str(tmp_path / "data")]) == 0
        printed = capsys.readouterr().out
        assert "1 train, 1 validation, 2 test molecules of QM9 (dsgdb9nsd)." in printed
        assert f"in {tmp_path / place / 'uncharacterized.txt'}, are left out." in printed
        assert "which has 122831 train, 3000 validation, 5000 test molecules" in printed


def test_the_official_counts_of_molecules_are_two() -> None:
    (qm9,) = (release for release in RELEASES if release.unit == "molecules")
    assert [sum(counts.values()) for counts in qm9.counts] == [133_885 - 3054, 133_885]


def test_an_archive_that_must_be_unpacked_gets_a_hint(tmp_path: Path) -> None:
    (tmp_path / "dsgdb9nsd.xyz.tar.bz2").touch()
    with pytest.raises(DataError, match=r"no such archive. Hint: unpack it and name the folder"):
        import_folder(tmp_path / "dsgdb9nsd.xyz.tar.bz2", tmp_path / "data")


def test_the_error_names_what_was_looked_for(tmp_path: Path) -> None:
    with pytest.raises(DataError) as caught:
        import_folder(tmp_path, tmp_path / "data")
    for release in RELEASES:
        assert re.search(
            f"{re.escape(release.name)} .with {re.escape(' or '.join(release.known_by))}", str(caught.value)
        )
