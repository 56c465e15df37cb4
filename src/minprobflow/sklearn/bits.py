"""From what users pass to an estimator (any numbers, dense or sparse) to the bits that the model is defined over."""

from __future__ import annotations

import hashlib
import warnings
from typing import TypeAlias

import numpy as np
from jaxtyping import UInt8
from scipy.sparse import sparray, spmatrix
from sklearn.preprocessing import binarize

from ..arguments import number, shown
from ..errors import InputError
from ..units import binary_rows

Matrix: TypeAlias = np.ndarray | sparray | spmatrix
Binarize = float | int | np.number | str | None
SAMPLE = "sample"


def check(how: object) -> None:
    """Raise if `how` is none of the ways below."""
    if how is None or (isinstance(how, str) and how == SAMPLE):
        return
    try:
        number("binarize", how)
    except InputError:
        ways = 'give a threshold (a finite number), "sample" (values are probabilities) or None (values are 0 and 1)'
        raise InputError(f"binarize={shown(how)}: {ways}") from None


def rows(X: Matrix, how: Binarize, rng: np.random.RandomState) -> UInt8[np.ndarray, "n D"]:
    """Dense rows of 0 and 1: above the threshold, drawn with the values as probabilities, or as they came."""
    values = _dense(visible(X, how))
    if how == SAMPLE and not _are_bits(values):
        values = rng.uniform(size=values.shape) < values
    return values.astype(np.uint8)


def rows_one_by_one(X: Matrix, how: Binarize, seed: int) -> UInt8[np.ndarray, "n D"]:
    """As `rows`, but what is drawn for a row depends on that row and the seed alone, not on its place or its company."""
    values = _dense(visible(X, how))
    if how == SAMPLE and not _are_bits(values):
        values = np.stack([_uniform(row, seed) < row for row in np.ascontiguousarray(values, np.float64)])
    return values.astype(np.uint8)


def visible(X: Matrix, how: Binarize) -> Matrix:
    """What stands for the visible units where means of the hidden ones are asked for: bits, or the probabilities themselves."""
    check(how)  # it may have been set since training
    if how is None:
        if isinstance(X, np.ndarray):
            binary_rows(X, "X (with binarize=None)")
        elif not np.isin(X.data, (0, 1)).all():
            binary_rows(X.toarray(), "X (with binarize=None)")  # says which
        return X
    if how == SAMPLE:
        return _clipped(X)
    return binarize(X.astype(np.float64), threshold=how, copy=False)


def warn_if_clipped(X: Matrix, how: Binarize) -> None:
    """Probabilities are from 0 to 1; what is outside is clipped, but not silently."""
    low, high = float(X.min()), float(X.max())
    if how == SAMPLE and (low < 0 or high > 1):
        warnings.warn(
            f"X has values from {low:g} to {high:g}, but they count as probabilities and are clipped to [0, 1]: scale X to [0, 1], "
            "for example with sklearn.preprocessing.MinMaxScaler, or set binarize= to a threshold",
            UserWarning,
            stacklevel=4,
        )


def _clipped(X: Matrix) -> Matrix:
    if isinstance(X, np.ndarray):
        return X if X.dtype == bool else np.clip(X, 0, 1)
    clipped = X.copy()
    clipped.data = np.clip(X.data, 0, 1) if X.dtype != bool else X.data
    return clipped


def _dense(X: Matrix) -> np.ndarray:
    return X if isinstance(X, np.ndarray) else np.asarray(X.toarray())


def _are_bits(values: np.ndarray) -> bool:
    return bool(np.isin(values, (0, 1)).all())


def _uniform(row: np.ndarray, seed: int) -> np.ndarray:
    digest = hashlib.blake2b(row.tobytes(), digest_size=8).digest()
    return np.random.default_rng([seed, int.from_bytes(digest, "little")]).random(len(row))
