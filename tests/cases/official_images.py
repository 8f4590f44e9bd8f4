"""CIFAR and MNIST in the layouts of their official files, with a few images each."""

import gzip
import io
import pickle
import struct
import tarfile
from pathlib import Path
from typing import Any

import numpy as np

from adacanon.data.images import LAYOUTS

Arrays = dict[str, Any]


def arrays(name: str, train: int = 20, test: int = 12) -> Arrays:
    draw, layout = np.random.default_rng(0), LAYOUTS[name]
    content: Arrays = {}
    for part, count in (("train", train), ("test", test)):
        content[f"{part}_images"] = draw.integers(0, 256, (count, *layout.shape), dtype=np.uint8)
        content[f"{part}_labels"] = (np.arange(count) % layout.classes).astype(np.uint8)
        content[f"{part}_index"] = np.arange(count, dtype=np.uint16) * 3
    if name != "mnist":
        content["class_names"] = np.array([f"class{i}" for i in range(layout.classes)])
    return content


def python2_array(array: np.ndarray) -> bytes:
    """An array of bytes as Python 2 pickled it, the way it stands in the official archives."""
    shape = b"".join(b"J" + struct.pack("<i", n) for n in array.shape)
    kind = b"cnumpy\ndtype\nU\x02u1K\x00K\x01\x87R(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"
    data = b"T" + struct.pack("<i", array.nbytes) + array.tobytes()
    empty = b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87R"
    return empty + b"(K\x01(" + shape + b"t" + kind + b"\x89" + data + b"tb"


def python2_batch(images: np.ndarray, **lists: list[Any]) -> bytes:
    """A dictionary with the strings of Python 2."""

    def string(text: str) -> bytes:
        return b"U" + bytes([len(text)]) + text.encode()

    rows = np.ascontiguousarray(images.transpose(0, 3, 1, 2)).reshape(len(images), -1)
    content = b"\x80\x02}(" + string("data") + python2_array(rows)
    for key, values in lists.items():
        items = b"".join(string(v) if isinstance(v, str) else b"K" + bytes([v]) for v in values)
        content += string(key) + b"](" + items + b"e"
    return content + b"u."


def archive(path: Path, files: dict[str, bytes]) -> Path:
    """The files in an archive; or by themselves, where the path is that of no archive."""
    if not path.name.endswith(".tar.gz"):
        path.mkdir()
        for name, content in files.items():
            (path / name).write_bytes(content)
        return path
    with tarfile.open(path, "w:gz") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(f"folder/{name}")
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return path


def cifar10(path: Path, **changed: bytes) -> Path:
    content, names = arrays("cifar10"), [f"class{i}" for i in range(10)]
    images, labels = content["train_images"], content["train_labels"].tolist()
    files = {f"data_batch_{i + 1}": python2_batch(images[4 * i :][:4], labels=labels[4 * i :][:4]) for i in range(5)}
    files["test_batch"] = python2_batch(content["test_images"], labels=content["test_labels"].tolist())
    files["batches.meta"] = pickle.dumps({b"label_names": [name.encode() for name in names]}, protocol=2)
    return archive(path, files | {key.replace("_meta", ".meta"): value for key, value in changed.items()})


def cifar100(path: Path) -> Path:
    """As pickled today."""
    content = arrays("cifar100")
    files = {
        part: pickle.dumps(
            {
                b"data": content[f"{part}_images"].transpose(0, 3, 1, 2).reshape(-1, 3072),
                b"fine_labels": content[f"{part}_labels"].tolist(),
                b"coarse_labels": [0] * len(content[f"{part}_labels"]),
            }
        )
        for part in ("train", "test")
    }
    names = {b"fine_label_names": [b"class%d" % i for i in range(100)], b"coarse_label_names": [b"animals"]}
    return archive(path, files | {"meta": pickle.dumps(names)})


def idx_files(folder: Path, *, packed: bool) -> Arrays:
    content = arrays("mnist")
    for part, prefix in (("train", "train"), ("test", "t10k")):
        for key, axes in (("images", 3), ("labels", 1)):
            array = content[f"{part}_{key}"]
            whole = struct.pack(f">HBB{axes}I", 0, 8, axes, *array.shape) + array.tobytes()
            name = f"{prefix}-{key}-idx{axes}-ubyte"
            (folder / (f"{name}.gz" if packed else name)).write_bytes(gzip.compress(whole) if packed else whole)
    return content
