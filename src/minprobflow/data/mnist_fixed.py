"""The fixed binarisation of MNIST that published log-likelihoods use (Salakhutdinov & Murray 2008; Larochelle)."""

from __future__ import annotations

import io

import numpy as np

from .base import Dataset, DatasetSpec, SourceFile, in_three, register
from .folder import is_present, locate

ARCHIVE = SourceFile("binarized_mnist/binarized_mnist_larochelle.npz", "350243cb824d66d022e0c3e87cac231231668817ff03f5f6d7b6533017d56b4b")
_URL = "http://www.cs.toronto.edu/~larocheh/public/datasets/binarized_mnist/"
FILES = tuple(
    SourceFile(f"binarized_mnist/binarized_mnist_{part}.amat", sha256, (f"{_URL}binarized_mnist_{part}.amat",))
    for part, sha256 in (
        ("train", "ad693b29f94c14277b095f5238ddefbbdaaae0939789dd2f4f0205278cee3e4d"),
        ("valid", "1de3d397c40fe8eeb33dafd4099a1f665ec01e96d9be234aaeeac8a34930e2e2"),
        ("test", "e6687bfea3f820c174f33b7865140b2a2dd2930ef786f35d45795fc193b5ab2c"),
    )
)


def load() -> Dataset:
    """From one archive of the three parts if it is there, else from the published text files."""
    packed = is_present(ARCHIVE)
    if packed:
        with np.load(io.BytesIO(locate(ARCHIVE).read_bytes())) as arrays:
            parts = [np.asarray(arrays[part], np.uint8) for part in ("train", "valid", "test")]
    else:
        # "0 1 ... 0\n": every second byte is a digit
        parts = [np.frombuffer(locate(file).read_bytes(), np.uint8)[::2].reshape(-1, 784) - ord("0") for file in FILES]
    source = "Larochelle's fixed binarisation; rows are not in the order of MNIST's files"
    return in_three("mnist-fixed", parts, (28, 28), source, [ARCHIVE] if packed else FILES)


register(
    DatasetSpec("mnist-fixed", "MNIST in the literature's fixed binarisation", (50_000, 10_000, 10_000), 784, FILES, load, ((ARCHIVE,),))
)
