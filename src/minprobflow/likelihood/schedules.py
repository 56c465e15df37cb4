"""Inverse temperatures for annealing, from 0 to 1."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float


def linear(n: int) -> Float[np.ndarray, " n"]:
    """Evenly spaced."""
    return np.linspace(0.0, 1.0, n)


def three_piece(n: int) -> Float[np.ndarray, " n"]:
    """Salakhutdinov & Murray (2008): of 14,500, 500 up to 0.5, 4,000 up to 0.9, 10,000 up to 1; in proportion for other n."""
    ends = (n - 1) * np.cumsum([500, 4000, 10000]) / 14500
    return np.interp(np.arange(n), [0, *ends], [0.0, 0.5, 0.9, 1.0])


def adaptive(n: int, betas: Float[np.ndarray, " m"], variances: Float[np.ndarray, " steps"]) -> Float[np.ndarray, " n"]:
    """Placed where the weights' variance arises, as measured by a pilot run.

    A step d(beta) adds a variance of about d(beta)^2 V(beta) to the log-weights. For a given number of steps the sum
    is least when each adds the same, that is with steps in inverse proportion to sqrt(V). A fifth of the steps is
    spread evenly, since the pilot may have seen too little.

    Args:
        betas: those of the pilot.
        variances: over chains, of the log-weight gained at each of the pilot's steps.
    """
    lengths = np.sqrt(np.maximum(variances, 0))
    even = np.diff(betas)
    density = 0.8 * lengths / max(lengths.sum(), 1e-300) + 0.2 * even / even.sum()
    reached = np.concatenate([[0], np.cumsum(density)])
    return np.interp(np.linspace(0, 1, n), reached / reached[-1], betas)  # ends at 1 exactly, as the sum's last entry does


NAMED = {"linear": linear, "three-piece": three_piece}
NAMES = (*NAMED, "adaptive")
