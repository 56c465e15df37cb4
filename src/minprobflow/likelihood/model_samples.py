"""Samples of a model to start reverse AIS from, with a word on whether the chains that gave them have mixed."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key, Num

from ..models.base import Model
from ..random_bits import subkey
from ..samplers import default_kernel, parallel_tempering
from .annealing import BLOCK

LOOKS = 16  # at the free energies of tempered chains


class Samples(NamedTuple):
    """States, and the potential scale reduction of their free energies (1 when mixed)."""

    states: Num[np.ndarray, "chains D"]
    r_hat: float


def gibbs_samples(key: Key[Array, ""], model: Model, starts: Num[np.ndarray, "chains D"], steps: int) -> Samples:
    """Long chains from the given starts."""
    blocks = np.array_split(np.arange(len(starts)), -(-len(starts) // BLOCK))
    runs = [_run(jax.random.fold_in(key, i), model, jnp.asarray(starts[b]).astype(float), jnp.asarray(steps)) for i, b in enumerate(blocks)]
    states, means, variances = (np.concatenate([np.asarray(run[j]) for run in runs]) for j in range(3))
    return Samples(states.astype(model.space.dtype), r_hat(means, variances, steps // 2))


def tempered_samples(
    key: Key[Array, ""], model: Model, base: Model, starts: Num[np.ndarray, "chains D"], steps: int, rungs: int = 16
) -> Samples:
    """Chains that exchange states with chains at higher temperatures (parallel tempering)."""
    betas = jnp.linspace(0.0, 1.0, rungs)
    state = jnp.broadcast_to(jnp.asarray(starts).astype(float), (rungs, *starts.shape))
    looks = []
    for i, part in enumerate(np.array_split(np.arange(steps), min(LOOKS, steps))):
        state = parallel_tempering(jax.random.fold_in(key, i), model, state, betas, len(part), base).states
        looks.append(np.asarray(model.free_energy(state[-1]), np.float64))
    later = np.asarray(looks[len(looks) // 2 :])
    ratio = r_hat(later.mean(0), later.var(0, ddof=1), len(later)) if len(later) > 1 else float("inf")
    return Samples(np.asarray(state[-1]).astype(model.space.dtype), ratio)


def r_hat(means: Float[np.ndarray, " chains"], variances: Float[np.ndarray, " chains"], steps: int) -> float:
    """Gelman & Rubin's ratio from each chain's mean and variance of one quantity over `steps` steps."""
    if not (np.isfinite(means).all() and np.isfinite(variances).all()):
        return float("inf")  # energies beyond single precision: nothing can be said of them
    within = max(float(np.mean(variances, dtype=np.float64)), 1e-12)
    return float(np.sqrt((steps - 1) / max(steps, 1) + np.var(means, ddof=1, dtype=np.float64) / within))


@jax.jit
def _run(key: Key[Array, ""], model: Model, v: Float[Array, "chains D"], steps: Int[Array, ""]) -> tuple[Array, Array, Array]:
    kernel, burn_in = default_kernel(model), steps - steps // 2
    shift = model.free_energy(v)  # sums of squares about this lose no digits

    def step(i: Array, carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        v, first, second = carry
        v = kernel(subkey(key, i), model, v)
        f = jnp.where(i >= burn_in, model.free_energy(v) - shift, 0.0)
        return v, first + f, second + f**2

    zero = jnp.zeros_like(shift)
    v, first, second = jax.lax.fori_loop(0, steps, step, (v, zero, zero))
    count = jnp.maximum(steps // 2, 1).astype(shift.dtype)
    return v, shift + first / count, jnp.maximum(second / count - (first / count) ** 2, 0.0)
