"""MNIST and Fashion-MNIST: 50,000 / 10,000 / 10,000 images of 28x28 each."""

from __future__ import annotations

import gzip
from functools import partial
from typing import Literal

import numpy as np

from . import base
from .base import Dataset, DatasetSpec, SourceFile, in_three, register
from .folder import locate
from .idx import parse_idx
from .loader_options import Seed

NAMES = ("train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz", "t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz")
MIRRORS = {
    "mnist": ("https://ossci-datasets.s3.amazonaws.com/mnist/", "https://storage.googleapis.com/cvdf-datasets/mnist/"),
    "fashion-mnist": (
        "https://github.com/zalandoresearch/fashion-mnist/raw/master/data/fashion/",
        "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/",
    ),
}
SUMS = {  # sha256 of the four files
    "mnist": (
        "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
        "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
        "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
        "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
    ),
    "fashion-mnist": (
        "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84",
        "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845",
        "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073",
        "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5",
    ),
}
FILES = {
    name: tuple(SourceFile(f"{name}/{n}", s, tuple(m + n for m in MIRRORS[name])) for n, s in zip(NAMES, sums, strict=True))
    for name, sums in SUMS.items()
}
TITLES = {"mnist": "MNIST", "fashion-mnist": "Fashion-MNIST"}
ABOUT = {"mnist": "handwritten digits", "fashion-mnist": "pieces of clothing"}


def load(name: str, binarise: Literal["threshold", "stochastic"] = "threshold", seed: Seed = 0) -> Dataset:
    """The first 50,000 of the training file to train, its last 10,000 to validate, the test file to test.

    Args:
        binarise: 1 above half intensity ("threshold"), or with probability grey value / 255 ("stochastic").
        seed: of the stochastic binarisation.
    """
    images, labels, test_images, test_labels = (parse_idx(gzip.decompress(locate(f).read_bytes()), f.name) for f in FILES[name])
    pixels, test_pixels = (base.binarise(x.reshape(len(x), -1), binarise, seed + i) for i, x in enumerate((images, test_images)))
    classes, test_classes = labels.astype(np.int64), test_labels.astype(np.int64)
    how = "pixel > 127" if binarise == "threshold" else f"stochastic binarisation with seed {seed}"
    return in_three(
        name,
        [pixels[:50_000], pixels[50_000:], test_pixels],
        (28, 28),
        f"the original IDX files of {TITLES[name]}, {how}",
        FILES[name],
        [classes[:50_000], classes[50_000:], test_classes],
    )


for _name, _about in ABOUT.items():
    _sizes = (50_000, 10_000, 10_000)
    register(DatasetSpec(_name, f"{_about}, thresholded at half intensity", _sizes, 784, FILES[_name], partial(load, _name)))
