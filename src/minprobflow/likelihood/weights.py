"""Means of importance weights in the log domain, with their errors."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import logsumexp

BOOTSTRAPS = 1000


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


def log_mean(log_weights: Float[np.ndarray, " chains"], seed: int = 0) -> LogMean:
    """log mean exp with both standard errors and the effective sample size."""
    n = len(log_weights)
    value = float(logsumexp(log_weights) - np.log(n))
    relative = np.exp(log_weights - value)
    draws = np.random.default_rng(seed).integers(n, size=(BOOTSTRAPS, n))
    means = np.log(np.maximum(relative[draws].mean(1), 1e-300))
    ess = float(relative.sum() ** 2 / (relative**2).sum())
    return LogMean(value, float(relative.std(ddof=1) / np.sqrt(n)) if n > 1 else float("inf"), float(means.std(ddof=1)), ess)
