"""Weights for sequences that are not independent draws: families are sampled unevenly, close relatives many times over."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, UInt8

from .. import arguments
from ..arguments import number, whole
from ..errors import InputError
from ..tables import numbers, refuse_first, table

BLOCK = 500  # sequences compared with all others at a time
LARGEST = 254  # value of a letter


def sequence_weights(rows: UInt8[np.ndarray, "n D"], identity: float = 0.8) -> Float[np.ndarray, " n"]:
    """1 / the number of sequences (itself included) that share at least this part of the columns.

    Their sum is the effective number of sequences.

    >>> sequence_weights(np.asarray([[1, 2, 3], [1, 2, 3], [3, 1, 2]], np.uint8))
    array([0.5, 0.5, 1. ])
    """
    identity = number("identity", identity, high=1, above=0, hint="it is a share of the columns")
    rows = table(rows, "rows", "whole numbers from 0")
    why = f", expected whole numbers from 0 to {LARGEST}: number the values of each column from 0"
    refuse_first((rows < 0) | (rows > LARGEST) | (rows != np.floor(rows)), rows, "rows", why)
    rows = rows.astype(np.uint8)
    values = np.arange(int(rows.max()) + 1, dtype=np.uint8)
    one_hot = (rows[:, :, None] == values).reshape(len(rows), -1).astype(np.float32)  # matches are a matrix product
    needed = identity * rows.shape[1] - 1e-3
    alike = [(one_hot[i : i + BLOCK] @ one_hot.T >= needed).sum(1) for i in range(0, len(rows), BLOCK)]
    return 1 / np.concatenate(alike)


def repeated(rows: UInt8[np.ndarray, "n D"], weights: Float[np.ndarray, " n"], n: int, seed: int = 0) -> UInt8[np.ndarray, "m D"]:
    """`n` rows in which each stands in proportion to its weight, so that plain training is weighted training.

    Systematic sampling: a row's count is its expected one, rounded up or down at random.
    """
    n, rows, weights = whole("n", n, 1), table(rows, "rows"), numbers(weights, "weights")
    if weights.shape != rows.shape[:1] or not np.isfinite(weights).all() or weights.min() < 0 or not 0 < float(weights.sum()) < np.inf:
        raise InputError(
            f"weights of shape {weights.shape} for {len(rows)} rows: pass a finite number of at least 0 for each, not all zero"
        )
    ends = np.cumsum(weights) * (n / np.sum(weights))
    points = np.arange(n) + np.random.default_rng(arguments.seed("seed", seed)).random()
    return rows[np.minimum(np.searchsorted(ends, points, side="right"), len(rows) - 1)]
