"""MNIST, thresholded at half intensity as in the paper: 50,000 / 10,000 / 10,000."""

from __future__ import annotations

import gzip

import numpy as np

from .base import Dataset
from .folder import data_file

TRAIN = ("mnist/train-images-idx3-ubyte.gz", "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609")
TEST = ("mnist/t10k-images-idx3-ubyte.gz", "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6")


def load() -> Dataset:
    """The first 50,000 of the training file to train, its last 10,000 to validate."""
    train, test = (_images(*file) for file in (TRAIN, TEST))
    return Dataset("mnist", train[:50_000], train[50_000:], test, (28, 28), "the original IDX files, pixel > 127")


def _images(name: str, sha256: str) -> np.ndarray:
    content = gzip.decompress(data_file(name, sha256).read_bytes())
    return (np.frombuffer(content, np.uint8, offset=16).reshape(-1, 784) > 127).astype(np.uint8)
