"""Means and pairwise moments of a model: by enumeration if it is small, else by sampling, with their errors."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key
from numpy.typing import ArrayLike

from ..arguments import room, shown, whole
from ..enumeration import log_partition
from ..errors import InputError
from ..models.base import Model, as_model
from ..numerics import as_float64, double_precision
from ..random_bits import as_key
from ..spaces import discrete
from .auto import as_kernel
from .base import AnyKernel, ChainState, KernelLike
from .engine import observe, total

MAX_UNITS = 20
CHUNK = 2**12
GROUPS = 10  # of chains, whose spread gives the error


class Moments(NamedTuple):
    """E[v_i v_j]; the means are its diagonal."""

    pairs: Float[np.ndarray, "D D"]
    stderr: Float[np.ndarray, "D D"]  # zero where exact
    method: str

    @property
    def mean(self) -> Float[np.ndarray, " D"]:
        """E[v_i]."""
        return np.diagonal(self.pairs)

    @property
    def covariance(self) -> Float[np.ndarray, "D D"]:
        """E[v_i v_j] - E[v_i] E[v_j]."""
        return self.pairs - np.outer(self.mean, self.mean)


def moments(
    model: Model,
    method: str = "auto",
    *,
    chains: int = 1000,
    burn_in: int = 200,
    steps: int = 1000,
    start: ArrayLike | None = None,
    seed: int | Key[Array, ""] = 0,
    kernel: KernelLike = "auto",
) -> Moments:
    """Means and pairwise moments of a model.

    Args:
        model: any model.
        method: "exact" (up to 20 units), "sampled", or "auto": exact where it can be had.
        chains: number of independent chains, if sampled.
        burn_in: steps of each chain before those that are averaged.
        steps: over which each chain is averaged.
        start: rows that the chains start from, in turn; by default uniformly random states (real units: standard normal).
        seed: a seed or a JAX key.
        kernel: as in `mpf.sample`.

    Returns:
        E[v_i v_j] with its standard error.

    >>> import minprobflow as mpf
    >>> mpf.moments(mpf.Ising.init(3)).pairs.round(6).tolist()
    [[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25, 0.25, 0.5]]
    """
    small = as_model(model, finite=True).space.n_states <= 2**MAX_UNITS
    known = isinstance(method, str) and method in ("auto", "exact", "sampled")
    if not known or (method == "exact" and not small):
        raise InputError(
            f"method={shown(method)} for {model.space.size} units: use auto, sampled, or (up to {MAX_UNITS} binary units) exact"
        )
    chains, burn_in, steps = whole("chains", chains, GROUPS), whole("burn_in", burn_in), whole("steps", steps, 1)
    key, chosen = as_key(seed, "seed"), as_kernel(kernel, model)
    if method == "sampled" or not small:
        return _sampled(key, model, chosen, chains, burn_in, steps, start)
    with double_precision():
        pairs = np.asarray(_exact(as_float64(model)))
    return Moments(pairs, np.zeros_like(pairs), "exact")


def _sampled(
    key: Key[Array, ""], model: Model, kernel: AnyKernel, chains: int, burn_in: int, steps: int, start: ArrayLike | None
) -> Moments:
    shape = (-(-chains // GROUPS) * GROUPS, model.space.size)
    room("the samples", *shape)
    key_start, key_run = jax.random.split(key)
    if start is None:
        v = model.space.noise(key_start, shape[0])
    else:
        v = jnp.asarray(np.resize(model.space.check(start, "start"), shape)).astype(float)
    _, sums = observe(key_run, model, kernel.init(key_start, model, v), steps, kernel, PAIRS, burn_in=burn_in)
    groups = np.asarray(sums, np.float64) / steps
    return Moments(groups.mean(0), groups.std(0, ddof=1) / np.sqrt(GROUPS), "sampled")


def _pairs(model: Model, state: ChainState, info: object) -> Float[Array, "groups D D"]:
    grouped = state.v.reshape(GROUPS, -1, state.v.shape[1])
    return jnp.swapaxes(grouped, 1, 2) @ grouped / grouped.shape[1]


PAIRS = total(_pairs)


@jax.jit
def _exact(model: Model) -> Float[Array, "D D"]:
    space = discrete(model.space, "an exact sum")
    log_z, chunk = log_partition(model), min(space.n_states, CHUNK)

    def add(total: Array, first: Array) -> tuple[Array, None]:
        index = first + jnp.arange(chunk)
        v = space.states(index).astype(total.dtype)
        p = jnp.where(index < space.n_states, jnp.exp(-model.free_energy(v) - log_z), 0.0)  # the last chunk may be part empty
        return total + (p[:, None] * v).T @ v, None

    zero = jnp.zeros((space.size, space.size))
    return jax.lax.scan(add, zero, jnp.arange(0, space.n_states, chunk))[0]
