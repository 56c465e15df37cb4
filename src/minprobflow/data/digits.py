"""The 8x8 digits that ship with scikit-learn."""

from __future__ import annotations

import numpy as np

from .base import Dataset


def load() -> Dataset:
    """1,797 images thresholded at half intensity, shuffled with a fixed seed: 1,200 / 297 / 300."""
    from sklearn.datasets import load_digits

    binary = (load_digits().data >= 8).astype(np.uint8)
    binary = binary[np.random.default_rng(0).permutation(len(binary))]
    return Dataset("digits", binary[:1200], binary[1200:1497], binary[1497:], (8, 8), "scikit-learn load_digits, pixel >= 8 of 16")
