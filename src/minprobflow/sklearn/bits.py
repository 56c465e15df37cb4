"""From what users pass to an estimator (any numbers, dense or sparse) to the bits that the model is defined over."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from jaxtyping import UInt8
from scipy.sparse import issparse
from sklearn.preprocessing import binarize

from ..errors import InputError
from ..spaces import binary_rows

Binarize = float | int | np.number | str | None
HALF = 0.5


def check(how: Any) -> None:
    """Raise if `how` is none of the ways below."""
    number = isinstance(how, int | float | np.number) and not isinstance(how, bool) and np.isfinite(how)
    if not (number or how is None or (isinstance(how, str) and how == "sample")):
        raise InputError(f'binarize={how!r}: give a threshold (a number), "sample" (values are probabilities) or None (values are 0 and 1)')


def rows(X: Any, how: Binarize, rng: np.random.RandomState) -> UInt8[np.ndarray, "n D"]:
    """Dense rows of 0 and 1: above the threshold, drawn with the values as probabilities, or as they came."""
    values = visible(X, how)
    values = values.toarray() if issparse(values) else values
    if how == "sample":
        values = rng.uniform(size=values.shape) < values
    return values.astype(np.uint8)


def visible(X: Any, how: Binarize) -> Any:
    """What stands for the visible units where means of the hidden ones are asked for: bits, or the probabilities themselves."""
    if how is None:
        if not issparse(X):
            binary_rows(X, "X (with binarize=None)")
        elif not np.isin(X.data, (0, 1)).all():
            binary_rows(X.toarray(), "X (with binarize=None)")  # says which
        return X
    if how == "sample":
        low, high = _range(X)
        if low < 0 or high > 1:
            raise InputError(
                f'X has values from {low:g} to {high:g}, but binarize="sample" takes them as probabilities: '
                "scale them to [0, 1], for example with sklearn.preprocessing.MinMaxScaler"
            )
        return X
    return binarize(X.astype(np.float64), threshold=how, copy=False)


def warn_if_not_shares(X: Any, how: Binarize) -> None:
    """The default threshold means something only for values from 0 to 1."""
    low, high = _range(X)
    if how == HALF and (low < 0 or high > 1):
        warnings.warn(
            f"X has values from {low:g} to {high:g}, and those above 0.5 count as 1: "
            "scale X to [0, 1], or set binarize= to the threshold you mean",
            UserWarning,
            stacklevel=4,
        )


def _range(X: Any) -> tuple[float, float]:
    return float(X.min()), float(X.max())
