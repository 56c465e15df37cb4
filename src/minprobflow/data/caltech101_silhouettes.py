"""Caltech-101 Silhouettes, 28x28, split 1 (Marlin, Swersky, Chen & de Freitas 2010): 4,100 / 2,264 / 2,307."""

from __future__ import annotations

import io
from typing import Literal

import numpy as np

from .base import Dataset, DatasetSpec, SourceFile, in_three, register
from .folder import locate

FILE = SourceFile(
    "caltech101_silhouettes/caltech101_silhouettes_28_split1.mat",
    "eb6735e8d84b1850fabc5590124aab1755e90c9fd28123585324398405e1e42a",
    ("https://people.cs.umass.edu/~marlin/data/caltech101_silhouettes_28_split1.mat",),
)


def load(polarity: Literal["original", "inverted"] = "original", orientation: Literal["upright", "stored"] = "upright") -> Dataset:
    """The author's file.

    Args:
        polarity: "original" has 0 for the object and 1 for the background, as the file; "inverted" has 1 for the object.
            Log-likelihoods of an RBM do not depend on it in principle, training in practice may.
        orientation: "upright" (row by row), or "stored" (column by column, as the file).
    """
    import scipy.io

    content = scipy.io.loadmat(io.BytesIO(locate(FILE).read_bytes()))
    parts = []
    for part in ("train", "val", "test"):
        rows = np.asarray(content[f"{part}_data"], np.uint8)
        if orientation == "upright":
            rows = rows.reshape(-1, 28, 28).swapaxes(1, 2).reshape(-1, 784)
        parts.append(rows if polarity == "original" else 1 - rows)
    classes = [content[f"{part}_labels"].ravel().astype(np.int64) for part in ("train", "val", "test")]
    meaning = "0 = object, 1 = background" if polarity == "original" else "0 = background, 1 = object"
    source = f"the author's split 1, {meaning}, {orientation}"
    return in_three("caltech101-silhouettes", parts, (28, 28), source, [FILE], classes)


register(DatasetSpec("caltech101-silhouettes", "outlines of objects of 101 kinds", (4_100, 2_264, 2_307), 784, (FILE,), load))
