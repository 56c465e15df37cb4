"""Means of importance weights in the log domain, with their errors."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from ..errors import InputError

BOOTSTRAPS = 300


class LogMean(NamedTuple):
    """log of the mean weight. On average it is too low: by Jensen, E log mean w <= log E w."""

    value: float
    stderr_weights: float  # from the weights' relative variance
    stderr_bootstrap: float  # from resampling chains
    ess: float  # effective number of chains

    @property
    def stderr(self) -> float:
        """The larger of the two."""
        return max(self.stderr_weights, self.stderr_bootstrap)


def bennett(
    forward: Float[np.ndarray, " n"], reverse: Float[np.ndarray, " m"], seed: int = 0, bootstraps: int = 200
) -> tuple[float, float]:
    """log Z/Z0 from the log-weights of both directions, and its error by resampling chains (Bennett 1976).

    The root L of sum_F sigma(w - L - log n/m) = sum_R sigma(w + L + log n/m): of all ways to join the two sides the one
    with the least variance, and no longer one-sided in its error.
    """
    rng = np.random.default_rng(seed)
    draws = [w[np.vstack([np.arange(len(w)), rng.integers(len(w), size=(bootstraps, len(w)))])] for w in (forward, reverse)]
    offset = np.log(len(forward) / len(reverse))
    middle = (_log_sum(forward) - np.log(len(forward)) - _log_sum(reverse) + np.log(len(reverse))) / 2
    spread = 10 + max(np.ptp(forward), np.ptp(reverse), abs(2 * (_log_sum(forward) - np.log(len(forward)) - middle)))
    low, high = (np.full(bootstraps + 1, middle + sign * spread) for sign in (-1, 1))
    for _ in range(60):
        root = (low + high) / 2
        excess = _sigmoid(draws[0] - root[:, None] - offset).sum(1) - _sigmoid(draws[1] + root[:, None] + offset).sum(1)
        low, high = np.where(excess > 0, root, low), np.where(excess > 0, high, root)
    return float(root[0]), float(root[1:].std(ddof=1))


def log_mean(log_weights: Float[np.ndarray, " chains"], seed: int = 0) -> LogMean:
    """log mean exp with both standard errors and the effective sample size."""
    n = len(log_weights)
    if not np.isfinite(log_weights).all():
        raise InputError("the importance weights are not finite: the model's energies are infinite or too large for single precision")
    value = float(_log_sum(log_weights) - np.log(n))
    relative = np.exp(log_weights - value)
    rng = np.random.default_rng(seed)
    means = np.log([max(relative[rng.integers(n, size=n)].mean(), 1e-300) for _ in range(BOOTSTRAPS)])
    ess = float(relative.sum() ** 2 / (relative**2).sum())
    return LogMean(value, float(relative.std(ddof=1) / np.sqrt(n)) if n > 1 else float("inf"), float(means.std(ddof=1)), ess)


# these two are SciPy's as well, whose import takes a tenth of a second

_log_sum = np.logaddexp.reduce


def _sigmoid(x: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
    return np.exp(-np.logaddexp(0, -x))
