"""Samples of a model to start reverse AIS from, with a word on whether the chains that gave them have mixed."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.tree_util import Partial
from jaxtyping import Array, Float, Key, Num

from ..models.base import Model
from ..samplers.base import AnyKernel, ChainState
from ..samplers.engine import observe, total
from .annealing import BLOCK


class Samples(NamedTuple):
    """States, and the potential scale reduction of their free energies (1 when mixed)."""

    states: Num[np.ndarray, "chains D"]
    r_hat: float


def model_samples(key: Key[Array, ""], model: Model, kernel: AnyKernel, starts: Num[np.ndarray, "chains D"], steps: int) -> Samples:
    """Long chains from the given starts, observed in the second half of their steps."""
    blocks = np.array_split(np.arange(len(starts)), -(-len(starts) // BLOCK))
    runs = [_run(jax.random.fold_in(key, i), model, kernel, jnp.asarray(starts[b]).astype(float), steps) for i, b in enumerate(blocks)]
    states, means, variances = (np.concatenate([np.asarray(run[j]) for run in runs]) for j in range(3))
    return Samples(states.astype(model.space.dtype), r_hat(means, variances, steps // 2))


def _run(key: Key[Array, ""], model: Model, kernel: AnyKernel, v: Float[Array, "chains D"], steps: int) -> tuple[Array, Array, Array]:
    """The last states, and mean and variance of each chain's free energies."""
    shift, observed = _free_energy(model, v), steps // 2  # sums of squares about the first one lose no digits
    powers = total(Partial(_powers, shift))
    state, sums = observe(key, model, kernel.init(key, model, v), observed, kernel, powers, burn_in=steps - observed)
    first, second = sums / max(observed, 1)
    return state.v, shift + first, jnp.maximum(second - first**2, 0.0)


_free_energy = jax.jit(lambda model, v: model.free_energy(v))


def _powers(shift: Float[Array, " chains"], model: Model, state: ChainState, info: object) -> Float[Array, "2 chains"]:
    f = model.free_energy(state.v) - shift
    return jnp.stack([f, f**2])


def r_hat(means: Float[np.ndarray, " chains"], variances: Float[np.ndarray, " chains"], steps: int) -> float:
    """Gelman & Rubin's ratio from each chain's mean and variance of one quantity over `steps` steps."""
    if not (np.isfinite(means).all() and np.isfinite(variances).all()):
        return float("inf")  # energies beyond single precision: nothing can be said of them
    within = max(float(np.mean(variances, dtype=np.float64)), 1e-12)
    return float(np.sqrt((steps - 1) / max(steps, 1) + np.var(means, ddof=1, dtype=np.float64) / within))
