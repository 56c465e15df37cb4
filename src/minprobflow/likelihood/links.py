"""What replica exchange measures on the links between neighbouring rungs, and what follows for log Z.

On a link from rung r to s = r + 1 each state x of rung r has the log weight F_r(x) - F_s(x), and each y of rung s has F_s(y) - F_r(y).
The mean weight of the first is Z_s / Z_r, of the second Z_r / Z_s; both logarithms are too low on average. Columns (one chain at all
rungs) do not know of each other, so what they differ by is the error, whatever the correlations within them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

ITERATIONS = 100


class Weights(NamedTuple):
    """Log weights of one link."""

    up: Float[np.ndarray, "n chains"]
    down: Float[np.ndarray, "n chains"]


class Total(NamedTuple):
    """A sum over links, its standard error over columns, and what each column alone gives."""

    value: float
    stderr: float
    columns: Float[np.ndarray, " chains"]


class Links(NamedTuple):
    """log Z_last / Z_0 in three ways, and how well each link works."""

    between: Total
    """by Bennett's ratio"""
    lower: Total
    """from the weights on the way up"""
    upper: Total
    """from those on the way down"""
    acceptance: Float[np.ndarray, " links"]
    """mean probability of a swap"""
    weakest_column: Float[np.ndarray, " links"]
    """that of the column where it is least"""
    slopes: Float[np.ndarray, " links"]
    """of log p_s(w) / p_r(w) in the weight w on the way up: 1 in equilibrium (Crooks 1999)"""
    slope_errors: Float[np.ndarray, " links"]


def split(work: Float[np.ndarray, "rounds chains rungs"], first_turn: int) -> list[Weights]:
    """The log weights of each link, from what `samplers.exchange` reports of rounds first_turn, first_turn + 1, ..."""
    turns = first_turn + np.arange(len(work))
    return [Weights(-work[turns % 2 == link % 2, :, link], -work[turns % 2 == link % 2, :, link + 1]) for link in range(work.shape[2] - 1)]


def measured(links: list[Weights]) -> Links:
    """Of links with at least one round each."""
    ratios, ups, downs = [], [], []
    acceptance, weakest, slopes, errors = [], [], [], []
    for weights in links:
        up, down = (np.asarray(w, np.float64) for w in weights)
        ratio, influence = bennett_by_chain(up, down)
        ratios.append((ratio, influence, influence * len(influence) + ratio))
        ups.append(_log_mean(up))
        value, influence, columns = _log_mean(down)
        downs.append((-value, -influence, -columns))
        accepted = np.exp(np.minimum(up + down, 0)).mean(0)
        acceptance.append(accepted.mean())
        weakest.append(accepted.min())
        slope, error = crooks_slope(up, down)
        slopes.append(slope)
        errors.append(error)
    figures = [np.asarray(column) for column in (acceptance, weakest, slopes, errors)]
    return Links(_summed(ratios), _summed(ups), _summed(downs), *figures)


def bennett_by_chain(up: Float[np.ndarray, "n chains"], down: Float[np.ndarray, "n chains"]) -> tuple[float, Float[np.ndarray, " chains"]]:
    """Bennett's ratio of one link, L with sum sigma(up - L) = sum sigma(down + L), and each column's influence on it.

    Newton's method within a bracket: the left side falls in L, the right one rises.
    """
    low, high = -float(down.max()) - 1, float(up.max()) + 1
    low, high = min(low, float(up.min()) - 1), max(high, -float(down.min()) + 1)
    root = float(np.clip((_log_mean(up)[0] - _log_mean(down)[0]) / 2, low, high))
    for _ in range(ITERATIONS):
        rising, falling = _sigmoid(up - root), _sigmoid(down + root)
        excess = (rising - falling).sum(0)
        slope = (rising * (1 - rising) + falling * (1 - falling)).sum()
        if abs(excess.sum()) < 1e-9 * up.size or high - low < 1e-12:
            break
        low, high = (root, high) if excess.sum() > 0 else (low, root)
        newton = root + excess.sum() / max(slope, 1e-300)
        root = newton if low < newton < high else (low + high) / 2
    return root, excess / max(float(slope), 1e-300)


def crooks_slope(up: Float[np.ndarray, "n chains"], down: Float[np.ndarray, "n chains"]) -> tuple[float, float]:
    """How fast the log ratio of the two densities of the weight rises with it, by logistic regression; and its error over columns."""
    x, label = np.stack([up, -down]), np.stack([np.zeros_like(up), np.ones_like(down)])
    spread = float(x.std())
    if spread < 1e-6:
        return 1.0, float("inf")  # the rungs are the same model: nothing can be said
    z = (x - x.mean()) / spread
    a, b = 0.0, spread
    for _ in range(30):
        p = _sigmoid(a + b * z)
        curvature = p * (1 - p)
        gradient = np.asarray([(label - p).sum(), ((label - p) * z).sum()])
        hessian = np.asarray([[curvature.sum(), (curvature * z).sum()], [(curvature * z).sum(), (curvature * z * z).sum()]])
        hessian += 1e-9 * np.trace(hessian) * np.eye(2) + 1e-12 * np.eye(2)
        step = np.linalg.solve(hessian, gradient)
        step *= min(1.0, 2.0 / max(abs(step).max(), 1e-300))  # where the densities hardly overlap the plain step overshoots
        a, b = a + step[0], b + step[1]
        if abs(step).max() < 1e-8:
            break
    scores = np.stack([(label - p).sum((0, 1)), ((label - p) * z).sum((0, 1))], 1)
    influence = np.linalg.solve(hessian, scores.T)[1]
    chains = len(influence)
    return b / spread, float(np.sqrt(chains / max(chains - 1, 1) * (influence**2).sum())) / spread


def _log_mean(weights: Float[np.ndarray, "n chains"]) -> tuple[float, Float[np.ndarray, " chains"], Float[np.ndarray, " chains"]]:
    """log of the mean weight, each column's influence on it, and what each column alone gives."""
    columns = np.logaddexp.reduce(weights, 0) - np.log(len(weights))
    value = float(np.logaddexp.reduce(columns) - np.log(len(columns)))
    return value, (np.exp(columns - value) - 1) / len(columns), columns


def _summed(parts: list[tuple[float, np.ndarray, np.ndarray]]) -> Total:
    influence = np.sum([part[1] for part in parts], 0)
    chains = len(influence)
    stderr = float(np.sqrt(chains / max(chains - 1, 1) * (influence**2).sum()))
    return Total(float(sum(part[0] for part in parts)), stderr, np.sum([part[2] for part in parts], 0))


def _sigmoid(x: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
    with np.errstate(over="ignore"):
        return 1 / (1 + np.exp(-x))
