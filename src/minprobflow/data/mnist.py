"""MNIST: 50,000 / 10,000 / 10,000 images of 28x28."""

from __future__ import annotations

import gzip
from typing import Literal

import numpy as np

from .base import Dataset, DatasetSpec, Labels, SourceFile, binarise, register
from .folder import locate
from .idx import parse_idx
from .loader_options import Seed

MIRRORS = ("https://ossci-datasets.s3.amazonaws.com/mnist/", "https://storage.googleapis.com/cvdf-datasets/mnist/")


def idx_files(folder: str, mirrors: tuple[str, ...], sums: tuple[str, str, str, str]) -> tuple[SourceFile, ...]:
    """The four files of a set in MNIST's layout."""
    names = ("train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz", "t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz")
    return tuple(SourceFile(f"{folder}/{n}", s, tuple(m + n for m in mirrors)) for n, s in zip(names, sums, strict=True))


def load_idx(name: str, files: tuple[SourceFile, ...], how: str, seed: int, source: str) -> Dataset:
    """The first 50,000 of the training file to train, its last 10,000 to validate, the test file to test."""
    images, labels, test_images, test_labels = (parse_idx(gzip.decompress(locate(f).read_bytes()), f.name) for f in files)
    pixels, test_pixels = (binarise(x.reshape(len(x), -1), how, seed + i) for i, x in enumerate((images, test_images)))
    classes, test_classes = labels.astype(np.int64), test_labels.astype(np.int64)
    return Dataset(
        name,
        pixels[:50_000],
        pixels[50_000:],
        test_pixels,
        (28, 28),
        f"{source}, {'pixel > 127' if how == 'threshold' else f'stochastic binarisation with seed {seed}'}",
        {f.name: f.sha256 for f in files},
        Labels(classes[:50_000], classes[50_000:], test_classes),
    )


FILES = idx_files(
    "mnist",
    MIRRORS,
    (
        "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
        "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
        "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
        "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
    ),
)


def load(binarise: Literal["threshold", "stochastic"] = "threshold", seed: Seed = 0) -> Dataset:
    """Thresholded at half intensity as in the paper, or `binarise="stochastic"` with a seed.

    Args:
        binarise: 1 above half intensity ("threshold"), or with probability grey value / 255 ("stochastic").
        seed: of the stochastic binarisation.
    """
    return load_idx("mnist", FILES, binarise, seed, "the original IDX files of MNIST")


register(DatasetSpec("mnist", "handwritten digits, thresholded at half intensity", (50_000, 10_000, 10_000), 784, FILES, load))
