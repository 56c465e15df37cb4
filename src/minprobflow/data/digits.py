"""The 8x8 digits that ship with scikit-learn."""

from __future__ import annotations

import numpy as np

from .base import Dataset, DatasetSpec, in_three, register


def load(grey: bool = False) -> Dataset:
    """1,797 images thresholded at half intensity, shuffled with a fixed seed: 1,200 / 297 / 300.

    Args:
        grey: as real numbers from 0 to 1 (in steps of 1/16) instead, for models with real visible units.
    """
    from sklearn.datasets import load_digits

    digits = load_digits()
    order = np.random.default_rng(0).permutation(len(digits.data))
    rows = (digits.data / 16).astype(np.float32) if grey else (digits.data >= 8).astype(np.uint8)
    rows, classes = rows[order], digits.target.astype(np.int64)[order]
    parts = (slice(0, 1200), slice(1200, 1497), slice(1497, None))
    source = "scikit-learn load_digits, " + ("pixel / 16" if grey else "pixel >= 8 of 16")
    return in_three("digits", [rows[p] for p in parts], (8, 8), source, classes=[classes[p] for p in parts])


register(DatasetSpec("digits", "handwritten digits of scikit-learn, thresholded (or grey=true); embedded", (1_200, 297, 300), 64, (), load))
