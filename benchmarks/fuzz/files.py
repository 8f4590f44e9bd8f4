"""Files: data sets, pictures, clouds and arrays whose bytes or words were changed."""

import io
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from PIL import Image

from adacanon.data import load_labelled, read_tu
from adacanon.data.cloud_files import read_surface
from adacanon.data.number_files import read_numbers
from adacanon.data.pictures import read_picture
from benchmarks.fuzz.draw import Draw
from benchmarks.fuzz.judging import SilentlyWrongError
from benchmarks.fuzz.mutation import damaged, reworded

TU = {
    "A": "1, 2\n2, 1\n3, 4\n4, 3\n4, 5\n5, 4\n",
    "graph_indicator": "1\n1\n2\n2\n2\n",
    "graph_labels": "1\n-1\n",
    "node_labels": "0\n1\n2\n0\n1\n",
    "node_attributes": "0.5, 1\n1.5, 2\n2, 3\n0, 0\n-1, 4\n",
}
SHAPES = {
    ".off": b"OFF\n4 2 0\n0 0 0\n1 0 0\n0 1 0\n0 0 1\n3 0 1 2\n3 0 1 3\n",
    ".pcd": b"VERSION .7\nFIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nCOUNT 1 1 1\nWIDTH 3\nHEIGHT 1\n"
    b"VIEWPOINT 0 0 0 1 0 0 0\nPOINTS 3\nDATA ascii\n0 0 0\n1 0 0\n0 1 0.5\n",
    ".ply": b"ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\n"
    b"element face 1\nproperty list uchar int vertex_indices\nend_header\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n",
    "binary.ply": b"ply\nformat binary_little_endian 1.0\nelement vertex 3\nproperty float x\nproperty float y\n"
    b"property float z\nend_header\n" + struct.pack("<9f", 0, 0, 0, 1, 0, 0, 0, 1, 0.5),
}


@contextmanager
def folder() -> Iterator[Path]:
    with TemporaryDirectory(prefix="adacanon-fuzz-") as name:
        yield Path(name)


def tu(draw: Draw) -> None:
    """What is read is what a plain reader reads, line by line."""
    files = dict(TU)
    if draw.chance(0.1):
        del files[draw.pick(sorted(files))]
    changed = draw.pick(sorted(files))
    files[changed] = reworded(draw, files[changed])
    with folder() as place:
        for name, text in files.items():
            (place / f"T_{name}.txt").write_text(text, encoding="utf-8")
        if draw.chance(0.3):
            (place / f"T_{changed}.txt").write_bytes(damaged(draw, files[changed].encode()))
            files[changed] = (place / f"T_{changed}.txt").read_bytes().decode("utf-8", errors="replace")
        found = read_tu(place, "T", features="attributes")
    _compare_tu(found, files)


def _compare_tu(found: Any, files: dict[str, str]) -> None:
    """Nodes, edges and labels by the simplest reader there is."""
    rows = {name: [[float(w) for w in line.split(",")] for line in _lines(text)] for name, text in files.items()}
    graph_of = [int(row[0]) for row in rows["graph_indicator"]]
    labels = [row[0] for row in rows["graph_labels"]]
    if len(found.graphs) != len(labels):
        raise SilentlyWrongError(f"{len(found.graphs)} graphs were read of {len(labels)}")
    ordered = sorted(set(labels))
    if found.labels.tolist() != [ordered.index(label) for label in labels]:
        raise SilentlyWrongError(f"labels {found.labels.tolist()} were read for {labels}")
    for number, graph in enumerate(found.graphs, 1):
        first = graph_of.index(number)
        pairs = sorted([int(a) - 1 - first, int(b) - 1 - first] for a, b in rows["A"] if graph_of[int(a) - 1] == number)
        if sorted(graph.edge_index.T.tolist()) != pairs or graph.num_nodes != graph_of.count(number):
            raise SilentlyWrongError(f"graph {number} has other edges or nodes than its file")
        attributes = rows.get("node_attributes")
        if attributes:
            wanted = torch.tensor(attributes[first : first + graph.num_nodes], dtype=torch.float64)
            if not torch.equal(graph.x[:, -wanted.shape[1] :], wanted.float()):
                raise SilentlyWrongError(f"graph {number} has other attributes than its file")


def _lines(text: str) -> list[str]:
    return [line.partition("#")[0] for line in text.split("\n") if line.partition("#")[0].strip()]


def ogb_numbers(draw: Draw) -> None:
    """Columns of OGB: what is read is what the text says."""
    import gzip

    text = reworded(draw, "0,1,2\n3,4,5\n6,7,8\n")
    content = gzip.compress(text.encode())
    content = damaged(draw, content) if draw.chance(0.5) else content
    dtype = draw.pick([np.int32, np.uint8, np.float32])
    with folder() as place:
        file = place / "edge.csv.gz"
        file.write_bytes(content)
        found = read_numbers(file, dtype, missing=draw.chance(0.3))
    lines = gzip.decompress(content).decode().split("\n")
    lines = lines[:-1] if lines[-1] == "" else lines
    wanted = [[float(word) if word.strip() else float("nan") for word in line.split(",")] for line in lines]
    if not np.array_equal(found.astype(np.float64), np.array(wanted, dtype=dtype).astype(np.float64), equal_nan=True):
        raise SilentlyWrongError(f"other numbers than those of the text: {found.tolist()} for {text!r}")


def picture(draw: Draw) -> None:
    """A damaged picture is refused, or has numbers in [0, 1] and the shape that it tells."""
    pixels = draw.random.randbytes(4 * 5 * 3)
    content, format = io.BytesIO(), draw.pick(["PNG", "BMP", "GIF", "JPEG", "TIFF", "WEBP", "EPS", "PPM"])
    Image.frombytes("RGB", (4, 5), pixels).save(content, format)
    with folder() as place:
        file = place / f"p{draw.pick(['.png', '.jpg', '.bmp', '.tif'])}"
        file.write_bytes(damaged(draw, content.getvalue()) if draw.chance(0.9) else content.getvalue())
        found = read_picture(file)
    if not bool(((found.pixels >= 0) & (found.pixels <= 1)).all()) or found.pixels.dim() != 3:
        raise SilentlyWrongError("pixels outside [0, 1]")


def shape(draw: Draw) -> None:
    """A damaged cloud is refused, or has finite points and triangles that name them."""
    ending = draw.pick(sorted(SHAPES))
    content = SHAPES[ending]
    if ending != "binary.ply" and draw.chance(0.5):
        content = reworded(draw, content.decode()).encode()
    else:
        content = damaged(draw, content)
    with folder() as place:
        file = place / ("s" + ending[-4:])
        file.write_bytes(content)
        found = read_surface(file)
    if found.vertices.ndim != 2 or found.vertices.shape[1] != 3:
        raise SilentlyWrongError(f"vertices of shape {found.vertices.shape}")
    if len(found.triangles) and not (0 <= found.triangles.min() <= found.triangles.max() < len(found.vertices)):
        raise SilentlyWrongError("triangles name points that are not there")


def arrays(draw: Draw) -> None:
    """An .npz file of images or clouds with labels, its bytes or its arrays changed."""
    images = draw.chance(0.5)
    content: dict[str, Any] = {"labels": np.array([0, 1, 1])}
    content |= {"images": np.zeros((3, 4, 4), np.uint8)} if images else {"points": np.ones((3, 5, 3)).cumsum(1)}
    changed = draw.pick(sorted(content))
    if draw.chance(0.6):
        content[changed] = draw.pick(ARRAYS)
    if draw.chance(0.2):
        content["class_names"] = draw.pick(
            [np.array(["a", "b"]), np.array(["a", "a"]), np.array([1, 2]), np.array("a")]
        )
    stream = io.BytesIO()
    np.savez(stream, **content, allow_pickle=True)
    with folder() as place:
        file = place / "d.npz"
        file.write_bytes(damaged(draw, stream.getvalue()) if draw.chance(0.4) else stream.getvalue())
        found = load_labelled(file, limit=draw.pick([None, 1, 2]), size=draw.pick([None, 3]) if images else None)
    if len(found.inputs) != len(found.labels) or not bool(found.inputs.isfinite().all()):
        raise SilentlyWrongError("inputs that do not fit their labels, or that are not finite")


ARRAYS = (
    np.zeros((3, 4, 4, 7)),
    np.zeros((0, 4, 4)),
    np.full((3, 4, 4), np.nan),
    np.full((3, 4, 4), 300.0),
    np.ones((3, 5, 3), dtype=">f4").cumsum(1),
    np.array([0, -1, 1]),
    np.array([0.5, 1, 1]),
    np.array([0, 1]),
    np.array(["a", "b", "c"]),
    np.array([{"a": 1}, None, 2], dtype=object),
    np.zeros((3, 4, 4), dtype=np.complex64),
    np.zeros((3, 4, 4), dtype=bool),
    np.array(5),
)


KINDS = {
    "files, TU": (tu, 4),
    "files, OGB": (ogb_numbers, 3),
    "files, pictures": (picture, 3),
    "files, clouds": (shape, 3),
    "files, arrays": (arrays, 3),
}
