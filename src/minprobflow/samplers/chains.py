"""Running chains: for rules (`run`), for pictures (`sample`), for missing values (`impute`)."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key, Num

from ..errors import InputError
from ..models.base import Model
from ..random_bits import subkey
from ..tables import numbers
from .kernels import Kernel, default_kernel


@partial(jax.jit, static_argnames="kernel")
def run(
    key: Key[Array, ""],
    model: Model,
    v: Float[Array, "chains D"],
    steps: int | Int[Array, ""],
    kernel: Kernel,
    held: Bool[Array, "#chains D"] | None = None,
) -> Float[Array, "chains D"]:
    """The chains after `steps` steps. Any number of steps, one compilation."""
    return jax.lax.fori_loop(0, steps, lambda i, v: kernel(subkey(key, i), model, v, held), v)


def sample(
    model: Model,
    n: int = 64,
    steps: int = 1000,
    seed: int = 0,
    start: Any = None,
    held: Any = None,
    kernel: Kernel | None = None,
) -> Num[np.ndarray, "n D"]:
    """Draw `n` states by running `n` independent chains for `steps` steps.

    Args:
        start: rows to start from (then `n` is their number); by default uniformly random states.
        held: which units keep the values of `start` (a mask of shape (D,) or (n, D)): inpainting.
        kernel: `block_gibbs` or `heat_bath`; by default what the model supports.

    >>> import minprobflow as mpf
    >>> mpf.sample(mpf.RBM.init(0, 6, 4), n=3, steps=10).shape
    (3, 6)
    """
    if steps < 0 or n < 1:
        raise InputError(f"n={n}, steps={steps}: ask for at least one chain and not less than zero steps")
    if held is not None and start is None:
        raise InputError("held units need values: pass the rows that hold them as start=")
    key_start, key_run = jax.random.split(jax.random.key(seed))
    v = model.space.noise(key_start, n) if start is None else jnp.asarray(model.space.check(start, "start")).astype(float)
    mask = None if held is None else _mask(held, v.shape)
    return np.asarray(run(key_run, model, v, steps, kernel or default_kernel(model), mask)).astype(model.space.dtype)


def impute(model: Model, incomplete: Any, steps: int = 1000, burn_in: int = 100, seed: int = 0) -> Float[np.ndarray, "n D"]:
    """Fill in missing values (NaN, or masked in a masked array) with their probability of being 1 given the row's observed values.

    Where units have more than two values, with the most probable one.

    Runs one chain a row with the observed units held, and averages its states after `burn_in` steps.
    """
    rows = numbers(incomplete, "incomplete", masked_as_nan=True).astype(np.float64)
    missing = np.isnan(rows)
    v = model.space.check(np.where(missing, 0, rows), "incomplete")
    if not 0 <= burn_in < steps:
        raise InputError(f"burn_in={burn_in}, steps={steps}: burn_in must be at least 0 and less than steps")
    means = _held_means(jax.random.key(seed), model, jnp.asarray(v).astype(float), ~missing, burn_in, steps, default_kernel(model))
    return np.where(missing, model.space.best_guess(np.asarray(means)), rows)


@partial(jax.jit, static_argnames="kernel")
def _held_means(
    key: Key[Array, ""],
    model: Model,
    v: Float[Array, "n D"],
    held: Bool[Array, "n D"],
    burn_in: int | Array,
    steps: int | Array,
    kernel: Kernel,
) -> Float[Array, "n D *values"]:
    def step(i: Array, carry: tuple[Array, Array]) -> tuple[Array, Array]:
        v, total = carry
        v = kernel(subkey(key, i), model, v, held)
        return v, total + jnp.where(i >= burn_in, model.space.features(v), 0.0)

    _, total = jax.lax.fori_loop(0, steps, step, (v, jnp.zeros_like(model.space.features(v))))
    return total / (steps - burn_in)


def _mask(held: Any, shape: tuple[int, ...]) -> Bool[Array, "n D"]:
    mask = np.asarray(held).astype(bool)
    if mask.shape not in (shape, shape[1:]):
        raise InputError(f"held has shape {mask.shape}: pass one flag a unit {shape[1:]} or one a row and unit {shape}")
    return jnp.broadcast_to(mask, shape)
