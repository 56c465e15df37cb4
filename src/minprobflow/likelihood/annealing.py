"""Chains carried along a path of models, with their importance weights: the engine of AIS in both directions.

Time grows with chains x temperatures; memory does not: chains go in blocks of `BLOCK`, temperatures in slabs of `SLAB`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key, Num

from ..models import fast
from ..models.base import FastAnnealing, Model
from ..random_bits import subkey
from ..samplers import default_kernel

BLOCK, SLAB = 500, 100


class Annealed(NamedTuple):
    """Where the chains ended and what they gathered."""

    states: Num[np.ndarray, "chains D"]
    log_weights: Float[np.ndarray, " chains"]
    variances: Float[np.ndarray, " steps"]  # over chains, of the log-weight gained at each step


def transition(
    key: Key[Array, ""], model: Model, base: Model, v: Float[Array, "chains D"], beta_from: Float[Array, ""], beta_to: Float[Array, ""]
) -> tuple[Float[Array, "chains D"], Float[Array, " chains"]]:
    """One step along the path: the weight F(v) at beta_from less F(v) at beta_to, and v sampled once at beta_to."""
    if isinstance(model, FastAnnealing):
        return model.anneal(key, base, v, beta_from, beta_to)
    before, after = model.between(base, beta_from), model.between(base, beta_to)
    kernel = default_kernel(after)
    return kernel.step(key, after, kernel.init(key, after, v))[0].v, before.free_energy(v) - after.free_energy(v)


def anneal(
    key: Key[Array, ""],
    model: Model,
    base: Model,
    v: Num[np.ndarray, "chains D"],
    betas: Float[np.ndarray, " betas"],
    progress: Callable[[float], object] | None = None,
) -> Annealed:
    """Carry chains through `betas` (rising for AIS, falling for reverse AIS)."""
    steps = len(betas) - 1
    padded = np.append(betas, np.full(-steps % SLAB, betas[-1])).astype(np.float32)  # staying at one beta gains nothing
    slabs = (len(padded) - 1) // SLAB
    blocks = np.array_split(np.arange(len(v)), -(-len(v) // BLOCK))
    states, log_weights, moments = [], [], np.zeros((2, slabs * SLAB))
    for b, block in enumerate(blocks):
        x, total = jnp.asarray(v[block]).astype(float), np.zeros(len(block))
        for s in range(slabs):
            slab_key = jax.random.fold_in(jax.random.fold_in(key, b), s)
            x, gain, first, second = _slab(slab_key, model, base, x, jnp.asarray(padded[s * SLAB : (s + 1) * SLAB + 1]))
            total += np.asarray(gain, np.float64)  # summed in double precision across slabs
            moments[:, s * SLAB : (s + 1) * SLAB] += np.stack([first, second]).astype(np.float64) * len(block) / len(v)
            if progress:
                progress((b * slabs + s + 1) / (len(blocks) * slabs))
        states.append(np.asarray(x).astype(model.space.dtype))
        log_weights.append(total)
    with np.errstate(over="ignore", invalid="ignore"):  # weights that are not finite are refused where they are averaged
        variances = np.maximum(moments[1] - moments[0] ** 2, 0)[:steps]
    return Annealed(np.concatenate(states), np.concatenate(log_weights), variances)


@jax.jit
def _slab(
    key: Key[Array, ""], model: Model, base: Model, v: Float[Array, "chains D"], betas: Float[Array, " betas"]
) -> tuple[Array, Array, Array, Array]:
    if walk := fast.path(model):
        v, gains = walk(key, base, v, betas)
        return v, jnp.sum(gains, 0), jnp.mean(gains, 1), jnp.mean(gains**2, 1)

    def step(carry: tuple[Array, Array], i: Array) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
        v, total = carry
        v, gain = transition(subkey(key, i), model, base, v, betas[i], betas[i + 1])
        return (v, total + gain), (jnp.mean(gain), jnp.mean(gain**2))

    start = (v, jnp.zeros(v.shape[0], v.dtype))
    (v, total), (first, second) = jax.lax.scan(step, start, jnp.arange(betas.shape[0] - 1))
    return v, total, first, second
