"""How long chains remember what was measured along them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

WINDOW = 5.0  # Sokal: sum the autocorrelation up to this many autocorrelation times


class Memory(NamedTuple):
    """How long chains remember: the integrated autocorrelation time 1 + 2 (rho_1 + rho_2 + ...), in steps."""

    autocorrelation: Float[np.ndarray, " lags"]
    time: float
    window: int
    resolved: bool
    """whether the chains were long enough; if not, the time is at least this"""


def memory(values: Float[np.ndarray, "steps chains"]) -> Memory:
    """Autocorrelation around the mean of all chains: a chain that stays in a place of its own does not count as mixed.

    >>> import numpy as np
    >>> independent = np.random.default_rng(0).normal(size=(2000, 20))
    >>> round(memory(independent).time, 1)
    1.0
    """
    steps = len(values)
    centred = values - values.mean()
    spectrum = np.abs(np.fft.rfft(centred, 2 * steps, axis=0)) ** 2
    covariance = np.fft.irfft(spectrum, axis=0)[:steps].mean(1) / np.arange(steps, 0, -1)
    if covariance[0] <= 0:
        return Memory(np.concatenate([[1.0], np.zeros(steps // 2 - 1)]), 1.0, 1, True)  # one state only
    rho = (covariance / covariance[0])[: steps // 2]
    times = 2 * np.cumsum(rho) - 1
    enough = np.flatnonzero(np.arange(len(rho)) >= WINDOW * times)
    window = int(enough[0]) if len(enough) else len(rho) - 1
    return Memory(rho, float(max(times[window], 1.0)), window, bool(len(enough)))
