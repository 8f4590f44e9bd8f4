"""Clouds and meshes from files: what was written is read, draws are uniform, and damage gets a message."""

import struct
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adacanon.data import file_content
from adacanon.data.cloud_files import read_surface
from adacanon.data.labelled import load_labelled
from adacanon.data.surfaces import Surface, areas, points_of_surface
from adacanon.errors import AdacanonError, DataError, InputError

POINTS = np.array([[0.5, 1, -2], [3, 4, 5], [1e-3, 0, 7], [-1, -1, 2]])
FACES = [[0, 1, 2], [0, 1, 2, 3]]
UNEQUAL = [[], [[0, 1, 2]] * 3, [[0, 1, 2, 3], [1, 2, 3]], [[], [0, 1, 2]], [[0, 1, 2], []]]
TRIANGLES = [[0, 1, 2], [0, 1, 2], [0, 2, 3]]


def ply(storage: str, points: np.ndarray = POINTS, faces: list[list[int]] = FACES) -> bytes:
    """Colours behind the coordinates, and a number beside every list, as programs write them."""
    header = (
        f"ply\nformat {storage} 1.0\ncomment by hand\nelement vertex {len(points)}\nproperty double x\n"
        "property double y\nproperty double z\nproperty uchar red\n"
        f"element face {len(faces)}\nproperty list uchar int vertex_indices\nproperty float quality\nend_header\n"
    )
    if storage == "ascii":
        rows = [f"{x!r} {y!r} {z!r} 255" for x, y, z in points.tolist()]
        rows += [f"{len(face)} {' '.join(map(str, face))} 0.5" for face in faces]
        return (header + "\n".join(rows) + "\n").encode()
    order = "<" if "little" in storage else ">"
    body = b"".join(struct.pack(f"{order}dddB", *point, 255) for point in points)
    body += b"".join(struct.pack(f"{order}B{len(face)}if", len(face), *face, 0.5) for face in faces)
    return header.encode() + body


def pcd(storage: str, points: np.ndarray = POINTS) -> bytes:
    """With a field of padding and one of colour before and behind the coordinates."""
    header = (
        f"# .PCD v0.7\nVERSION 0.7\nFIELDS _ x y z rgb\nSIZE 1 4 4 4 4\nTYPE U F F F U\nCOUNT 3 1 1 1 1\n"
        f"WIDTH {len(points)}\nHEIGHT 1\nVIEWPOINT 0 0 0 1 0 0 0\nPOINTS {len(points)}\nDATA {storage}\n"
    )
    if storage == "ascii":
        return (header + "".join(f"0 0 0 {x} {y} {z} 255\n" for x, y, z in points)).encode()
    return header.encode() + b"".join(struct.pack("<3BfffI", 0, 0, 0, *point, 255) for point in points)


OFF = "OFF\n# by hand\n4 2 0\n0.5 1 -2\n3 4 5\n0.001 0 7\n-1 -1 2\n3 0 1 2\n4 0 1 2 3 255 0 0\n"
MADE = {
    "text.ply": ply("ascii"),
    "little.ply": ply("binary_little_endian"),
    "big.ply": ply("binary_big_endian"),
    "text.pcd": pcd("ascii"),
    "binary.pcd": pcd("binary"),
    "mesh.off": OFF.encode(),
    "joined.off": OFF.replace("OFF\n# by hand\n", "OFF").encode(),
    "coloured.off": OFF.replace("OFF", "COFF").replace(" -2\n", " -2 0 0 0 255\n").encode(),
    "UPPER.PLY": ply("ascii").replace(b"\n", b"\r\n"),
}


def saved(folder: Path, name: str, content: bytes) -> Path:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    return file


class TestReaders:
    @pytest.mark.parametrize("name", MADE)
    def test_vertices_and_faces_are_those_of_the_file(self, name: str, tmp_path: Path) -> None:
        found = read_surface(saved(tmp_path, name, MADE[name]))
        np.testing.assert_allclose(found.vertices, POINTS, rtol=1e-6)
        assert found.triangles.tolist() == ([] if name.endswith("pcd") else TRIANGLES)

    @pytest.mark.parametrize("storage", ["ascii", "binary_little_endian", "binary_big_endian"])
    @pytest.mark.parametrize(
        "faces", [[], [[0, 1, 2]] * 3, [[0, 1, 2, 3], [1, 2, 3]], [[], [0, 1, 2]], [[0, 1, 2], []]]
    )
    def test_faces_of_equal_and_unequal_lengths(self, storage: str, faces: list[list[int]], tmp_path: Path) -> None:
        found = read_surface(saved(tmp_path, "x.ply", ply(storage, POINTS, faces)))
        fans = [[face[0], face[i], face[i + 1]] for face in faces for i in range(1, len(face) - 1)]
        assert found.triangles.tolist() == fans
        np.testing.assert_array_equal(found.vertices, POINTS)

    def test_elements_before_the_vertices_are_passed_over(self, tmp_path: Path) -> None:
        text = (
            "ply\nformat ascii 1.0\nelement camera 2\nproperty list int float lens\nelement vertex 1\n"
            "property float z\nproperty float x\nproperty float y\nend_header\n2 9 9\n1 8\n3 1 2\n"
        )
        assert read_surface(saved(tmp_path, "x.ply", text.encode())).vertices.tolist() == [[1, 2, 3]]

    def test_off_against_torch_geometric(self, tmp_path: Path) -> None:
        """An independent writer and reader."""
        from torch_geometric.data import Data
        from torch_geometric.io import read_off, write_off

        generator = torch.Generator().manual_seed(0)
        points = torch.randn(30, 3, generator=generator)
        faces = torch.stack([torch.randperm(30, generator=generator)[:3] for _ in range(20)], 1)
        write_off(Data(pos=points, face=faces), str(tmp_path / "x.off"))
        found, theirs = read_surface(tmp_path / "x.off"), read_off(str(tmp_path / "x.off"))
        np.testing.assert_allclose(found.vertices, points.numpy(), rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(found.vertices, theirs.pos.numpy(), rtol=1e-6)
        assert found.triangles.tolist() == faces.T.tolist() == theirs.face.T.tolist()


class TestDamage:
    @pytest.mark.parametrize("name", MADE)
    @given(data=st.data())
    @settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    def test_a_damaged_file_is_read_or_refused_with_its_name(
        self, name: str, data: st.DataObject, tmp_path: Path
    ) -> None:
        content = bytearray(MADE[name])
        for _ in range(data.draw(st.integers(1, 4))):
            content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
        file = saved(tmp_path, name, bytes(content[: data.draw(st.integers(0, len(content)))]))
        told = ""
        try:
            read = read_surface(file)
        except AdacanonError as error:
            told = str(error)
        assert name in told if told else np.isfinite(read.vertices).all()

    @pytest.mark.parametrize(
        ("name", "content", "message"),
        [
            ("x.ply", b"", "no .ply file or cut off"),
            ("x.ply", ply("ascii")[:-12], "cut off or damaged: expected 2 rows of the element face"),
            ("x.ply", ply("binary_big_endian")[:-60], "cut off or damaged"),
            ("x.ply", ply("ascii").replace(b"vertex 4", b"vertex 4000000000000"), "cut off or damaged"),
            ("x.ply", ply("binary_little_endian").replace(b"vertex 4", b"vertex 400000000000"), "cut off or damaged"),
            ("x.ply", ply("ascii").replace(b"double x", b"double u"), "vertex with the numbers x, y and z"),
            ("x.ply", ply("ascii").replace(b"format ascii", b"format base64"), "format ascii, binary_little"),
            ("x.ply", ply("ascii").replace(b"double x", b"quad x"), "line of a .ply header, got 'property quad x'"),
            ("x.ply", ply("ascii").replace(b"3.0 4.0", b"3.0 four"), "expected numbers, got 'four'"),
            ("x.ply", ply("ascii").replace(b"3.0 4.0", b"3.0 nan"), "finite coordinates, 1 of 4 points"),
            ("x.ply", ply("ascii").replace(b"3 0 1 2", b"inf 0 1 2"), "cut off or damaged"),
            ("x.ply", ply("ascii").replace(b"3 0 1 2", b"3 0 inf 2"), "got numbers that are not finite"),
            ("x.ply", ply("ascii", faces=[[0, 1, 9]]), "name vertices 0 to 3, got 0 to 9"),
            ("x.ply", ply("ascii", points=POINTS[:0], faces=[]), "expected points, got none"),
            ("x.pcd", b"hello\n", "no .pcd file or cut off"),
            ("x.pcd", pcd("binary")[:-5], "cut off: expected 4 points of 19 bytes, got 71"),
            ("x.pcd", pcd("ascii").replace(b"POINTS 4", b"POINTS 5"), "5 points of 7 numbers, got 28"),
            ("x.pcd", pcd("binary_compressed"), "ascii or binary, got binary_compressed. Hint: convert"),
            ("x.pcd", pcd("ascii").replace(b"_ x y z", b"_ x y w"), "fields x, y and z"),
            ("x.pcd", pcd("ascii").replace(b"SIZE 1 4", b"SIZE 1 3"), "SIZE that goes with it, got F 3"),
            ("x.off", b"", "got 'an empty file'"),
            ("x.off", b"OFF BINARY\n\0\0", "got bytes of a binary file"),
            ("x.off", b"OFF\n4\n", "numbers of vertices and faces, got '4'"),
            ("x.off", b"OFF\n4 0 0\n1 2 3\n", "cut off: expected 4 vertices and 0 faces, got 1 lines"),
            ("x.off", b"OFF\n1 0 0\n1 2\n", "three coordinates of a vertex, got '1 2'"),
            ("x.off", b"OFF\n1 1 0\n1 2 3\n3 0 0\n", "3 corners of a face, got '3 0 0'"),
            ("x.off", b"OFF\n1 1 0\n1 2 3\n3 0 0 -1\n", "corner of a face as a whole number, got '-1'"),
        ],
    )
    def test_messages_say_what_was_expected(self, name: str, content: bytes, message: str, tmp_path: Path) -> None:
        with pytest.raises(DataError, match=message) as caught:
            read_surface(saved(tmp_path, name, content))
        assert str(tmp_path / name) in str(caught.value)

    def test_a_file_that_is_too_large_is_not_read(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(file_content, "LARGEST", 50)
        with pytest.raises(DataError, match="expected at most"):
            read_surface(saved(tmp_path, "x.off", MADE["mesh.off"]))


class TestPointsOfFaces:
    def test_triangles_are_hit_by_their_area_and_points_are_uniform_in_them(self) -> None:
        """Moments of the uniform distribution on a triangle: its centre, and (sum of squares + 9 centre²) / 12."""
        vertices = np.array([[0, 0, 0], [1, 0, 0], [0, 2, 0], [0, 0, 9], [6, 0, 9], [0, 3, 9], [5, 5, 5]], float)
        surface = Surface(vertices, np.array([[0, 1, 2], [3, 4, 5], [6, 6, 6]]))
        assert areas(surface).tolist() == [1, 9, 0]
        drawn = points_of_surface(Path("x"), surface, 20_000, generator=torch.Generator().manual_seed(0)).numpy()
        for corners, share in ((vertices[:3], 0.1), (vertices[3:6], 0.9)):
            inside = drawn[np.abs(drawn[:, 2] - corners[0, 2]) < 1]
            assert len(inside) / 20_000 == pytest.approx(share, abs=0.01)
            np.testing.assert_allclose(inside.mean(0), corners.mean(0), atol=0.06)
            second = ((corners**2).sum(0) + 9 * corners.mean(0) ** 2) / 12
            np.testing.assert_allclose((inside**2).mean(0), second, rtol=0.05, atol=0.01)

    def test_faces_without_area_are_refused(self) -> None:
        surface = Surface(np.zeros((3, 3)), np.array([[0, 1, 2]]))
        with pytest.raises(DataError, match="faces with an area"):
            points_of_surface(Path("x.off"), surface, 5, generator=torch.Generator())


class TestFolders:
    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        for name in ("a/one.off", "b/two.ply", "b/deeper/three.ply"):
            saved(tmp_path / "data", name, MADE["mesh.off" if name.endswith("off") else "big.ply"])
        return tmp_path / "data"

    def test_all_points_or_some_of_them(self, folder: Path) -> None:
        found = load_labelled(folder)
        assert (found.inputs.shape, found.inputs.dtype) == ((3, 4, 3), torch.float32)
        assert found.labels.tolist() == [0, 1, 1]
        assert "there are faces too, from which --faces would draw points" in found.preparation[0]
        assert found.preparation[1] == "neither centred nor scaled"
        first, again, other = (load_labelled(folder, points=2, seed=seed).inputs for seed in (0, 0, 7))
        assert torch.equal(first, again)
        assert not torch.equal(first, other)
        known = {tuple(point) for point in torch.from_numpy(POINTS).float().tolist()}
        assert all(len({tuple(point) for point in cloud} & known) == 2 for cloud in first.tolist())

    def test_a_draw_does_not_depend_on_the_other_files(self, folder: Path) -> None:
        every = load_labelled(folder, points=3, faces=True).inputs
        some = load_labelled(folder, points=3, faces=True, limit=2).inputs
        assert all(any(torch.equal(cloud, other) for other in every) for cloud in some)
        assert not torch.equal(every[1], every[2])

    def test_points_of_faces_are_centred_and_scaled_if_asked(self, folder: Path) -> None:
        found = load_labelled(folder, points=200, faces=True, normalise=True)
        torch.testing.assert_close(found.inputs.mean(1), torch.zeros(3, 3), atol=1e-5, rtol=0)
        torch.testing.assert_close(found.inputs.norm(dim=2).amax(1), torch.ones(3))
        assert found.preparation == (
            "200 points of every mesh, drawn from its faces uniformly by area",
            "every cloud was centred and scaled to radius 1",
        )

    def test_arrays_of_points_have_the_same_options(self, tmp_path: Path) -> None:
        points = np.random.default_rng(0).normal(size=(5, 20, 3)).astype(np.float32)
        np.savez(tmp_path / "x.npz", points=points, labels=np.zeros(5, int))
        found = load_labelled(tmp_path / "x.npz", points=7, normalise=True).inputs
        assert found.shape == (5, 7, 3)
        torch.testing.assert_close(found.norm(dim=2).amax(1), torch.ones(5))

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"points": 5}, "at least 5 points in a cloud, got 4. Hint: a smaller --points; --faces"),
            ({"points": 0}, "positive number"),
            ({"faces": True}, "--faces with --points"),
        ],
    )
    def test_what_cannot_be_drawn_is_refused(self, options: dict, message: str, folder: Path) -> None:
        with pytest.raises((DataError, InputError), match=message):
            load_labelled(folder, **options)

    def test_unequal_clouds_points_alone_and_two_kinds_are_refused(self, folder: Path) -> None:
        saved(folder, "b/four.pcd", pcd("binary", POINTS[:3]))
        with pytest.raises(DataError, match=r"one number of points, .*one\.off has 4 and .*four\.pcd has 3. Hint"):
            load_labelled(folder)
        with pytest.raises(DataError, match=r"four\.pcd: expected faces, got 3 points"):
            load_labelled(folder, points=3, faces=True)
        saved(folder, "b/picture.png", b"")
        with pytest.raises(DataError, match=r"4 clouds .* and 1 images, expected one kind"):
            load_labelled(folder)
