"""Running chains: for rules (`run`), for pictures (`sample`), for missing values (`impute`)."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key, Num

from .. import arguments
from ..arguments import function, room, whole
from ..errors import InputError
from ..models.base import Model, as_model
from ..numerics import as_states
from ..random_bits import as_key, subkey
from ..tables import numbers
from .kernels import Kernel, default_kernel


def run(
    key: Key[Array, ""],
    model: Model,
    v: Float[Array, "chains D"],
    steps: int | Int[Array, ""],
    kernel: Kernel,
    held: Bool[Array, "#chains D"] | None = None,
) -> Float[Array, "chains D"]:
    """The chains after `steps` steps. Any number of steps, one compilation."""
    steps = steps if isinstance(steps, jax.Array) else whole("steps", steps)
    v = as_states(v, as_model(model).space.size, jnp.result_type(float))
    held = held if held is None or isinstance(held, jax.Array) else _mask(held, v.shape)
    return _run(as_key(key), model, v, steps, function("kernel", kernel, "a key, a model, states and a mask"), held)


@partial(jax.jit, static_argnames="kernel")
def _run(
    key: Key[Array, ""],
    model: Model,
    v: Float[Array, "chains D"],
    steps: int | Int[Array, ""],
    kernel: Kernel,
    held: Bool[Array, "#chains D"] | None,
) -> Float[Array, "chains D"]:
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
    >>> mpf.sample(mpf.BernoulliRBM.init(0, 6, 4), n=3, steps=10).shape
    (3, 6)
    """
    space = as_model(model, finite=True).space
    n, steps = whole("n", n, 1), whole("steps", steps)
    key_start, key_run = jax.random.split(as_key(arguments.seed("seed", seed)))
    if held is not None and start is None:
        raise InputError("held units need values: pass the rows that hold them as start=")
    if start is None:
        room("the samples", n, space.size)
        v = space.noise(key_start, n)
    else:
        v = jnp.asarray(space.check(start, "start")).astype(float)
    mask = None if held is None else _mask(held, v.shape)
    kernel = default_kernel(model) if kernel is None else kernel
    return np.asarray(run(key_run, model, v, steps, kernel, mask)).astype(space.dtype)


def impute(model: Model, incomplete: Any, steps: int = 1000, burn_in: int = 100, seed: int = 0) -> Float[np.ndarray, "n D"]:
    """Fill in missing values (NaN, or masked in a masked array) with their probability of being 1 given the row's observed values.

    Where units have more than two values, with the most probable one.

    Runs one chain a row with the observed units held, and averages its states after `burn_in` steps.
    """
    space = as_model(model, finite=True).space
    rows = numbers(incomplete, "incomplete", masked_as_nan=True).astype(np.float64)
    missing = np.isnan(rows)
    v = space.check(np.where(missing, 0, rows), "incomplete")
    steps, burn_in = whole("steps", steps, 1), whole("burn_in", burn_in)
    if not burn_in < steps:
        raise InputError(f"burn_in={burn_in}, steps={steps}: burn_in must be at least 0 and less than steps")
    key = as_key(arguments.seed("seed", seed))
    means = _held_means(key, model, jnp.asarray(v).astype(float), ~missing, burn_in, steps, default_kernel(model))
    return np.where(missing, space.best_guess(np.asarray(means)), rows)


@partial(jax.jit, static_argnames="kernel")
def _held_means(
    key: Key[Array, ""],
    model: Model,
    v: Float[Array, "n D"],
    held: Bool[Array, "n D"],
    burn_in: int | Array,
    steps: int | Array,
    kernel: Kernel,
) -> Float[Array, n * features]:
    def step(i: Array, carry: tuple[Array, Array]) -> tuple[Array, Array]:
        v, total = carry
        v = kernel(subkey(key, i), model, v, held)
        return v, total + jnp.where(i >= burn_in, model.space.features(v), 0.0)

    _, total = jax.lax.fori_loop(0, steps, step, (v, jnp.zeros_like(model.space.features(v))))
    return total / (steps - burn_in)


def _mask(held: Any, shape: tuple[int, ...]) -> Bool[Array, "n D"]:
    mask = numbers(held, "held").astype(bool)
    if mask.shape not in (shape, shape[1:]):
        raise InputError(f"held has shape {mask.shape}: pass one flag a unit {shape[1:]} or one a row and unit {shape}")
    return jnp.broadcast_to(mask, shape)
