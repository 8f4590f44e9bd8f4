"""Fixed codes for many labels, where one channel for each would not fit into memory."""

import hashlib

import numpy as np

CHANNELS = 256
"""As many as a hash has bits."""

MOST_ONE_HOT = 2048
"""Labels of a column that get a channel each; more of them get codes."""


def label_codes(labels: np.ndarray) -> np.ndarray:
    """Signs of 1/16, one for every bit of the SHA-256 of a label: vectors of length 1, nearly at right angles to one
    another, that depend on the label alone.

    Shape:
        (labels,) -> (labels, 256)

    Example:
        >>> codes = label_codes(np.array([5, 7, 5]))
        >>> codes.shape, (codes @ codes.T).round(1).tolist()
        ((3, 256), [[1.0, 0.0, 1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 1.0]])
    """
    hashes = b"".join(hashlib.sha256(str(int(label)).encode()).digest() for label in labels)
    bits = np.unpackbits(np.frombuffer(hashes, np.uint8).reshape(len(labels), -1), axis=1)
    return (2.0 * bits - 1) / np.sqrt(CHANNELS)
