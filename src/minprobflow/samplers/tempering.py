"""Parallel tempering: chains at several inverse temperatures that exchange states."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from ..arguments import whole
from ..errors import InputError
from ..models.base import Model, as_model
from ..numerics import as_states, floating
from ..random_bits import as_key
from .kernels import default_kernel


class Tempering(NamedTuple):
    """Result of a run. The model's own samples are `states[-1]`."""

    states: Float[Array, "temperatures chains D"]
    swap_rates: Float[Array, " pairs"]


def parallel_tempering(
    key: Key[Array, ""],
    model: Model,
    states: Float[Array, "temperatures chains D"],
    betas: Float[Array, " temperatures"],
    steps: int,
    base: Model | None = None,
) -> Tempering:
    """Run chains along the path from `base` (beta 0) to `model` (beta 1), swapping neighbours after each step.

    A swap between rungs r and r+1 is accepted with probability
    min(1, exp(F_r(x_r) + F_s(x_s) - F_r(x_s) - F_s(x_r))), s = r+1, with F_r the free energy at beta_r.
    Each rung is left invariant, so `states[-1]` are samples of the model when betas end at 1.

    Args:
        base: independent units to heat towards; by default all states equally likely (beta is then 1/temperature).
    """
    as_model(model, finite=True)
    states, betas = as_states(states, model.space.size, jnp.result_type(float)), _inverse_temperatures(betas)
    if states.ndim != 3 or betas.ndim != 1 or states.shape[0] != betas.shape[0] or states.shape[0] < 2 or states.shape[1] < 1:
        raise InputError(f"states {states.shape} and betas {betas.shape}: pass (temperatures, chains, D) with two or more temperatures")
    if base is None:
        base = model.base(model.space.even_means())
    elif type(as_model(base, "base")) is not type(model) or base.space != model.space:
        raise InputError(f"base is another kind of model than the {type(model).__name__}: make it with model.base(mean)")
    steps = steps if isinstance(steps, jax.Array) else whole("steps", steps)
    return _run(as_key(key), model, states, betas, steps, base)


def _inverse_temperatures(betas: Any) -> Float[Array, "*shape"]:
    betas = floating(betas, "betas")
    if not isinstance(betas, jax.core.Tracer) and not (np.isfinite(betas).all() and (np.asarray(betas) >= 0).all()):
        raise InputError("betas must be finite and not negative: pass inverse temperatures such as jnp.linspace(0, 1, 16)")
    return betas


@jax.jit
def _run(key: Key[Array, ""], model: Model, states: Array, betas: Array, steps: int | Int[Array, ""], base: Model) -> Tempering:
    rungs, chains, _ = states.shape
    kernel = default_kernel(model)

    def free_energies(states: Array) -> Array:  # (beta, state of rung, chain)
        return jax.vmap(lambda beta: model.between(base, beta).free_energy(states))(betas)

    def step(i: Array, carry: tuple[Array, Array]) -> tuple[Array, Array]:
        states, swaps = carry
        key_move, key_swap = jax.random.split(jax.random.fold_in(key, i))
        keys = jax.random.split(key_move, rungs)
        states = jax.vmap(lambda key, beta, v: kernel(key, model.between(base, beta), v))(keys, betas, states)
        f = free_energies(states)
        lower = jnp.arange(rungs - 1)
        log_accept = f[lower, lower] + f[lower + 1, lower + 1] - f[lower, lower + 1] - f[lower + 1, lower]
        paired = (lower % 2 == i % 2)[:, None]  # even and odd pairs take turns, so that no state is in two swaps
        swap = paired & (jnp.log(jax.random.uniform(key_swap, (rungs - 1, chains))) < log_accept)
        up, down = jnp.pad(swap, ((0, 1), (0, 0))), jnp.pad(swap, ((1, 0), (0, 0)))
        states = jnp.where(up[..., None], jnp.roll(states, -1, 0), jnp.where(down[..., None], jnp.roll(states, 1, 0), states))
        return states, swaps + jnp.mean(swap.astype(states.dtype), 1)

    states, swaps = jax.lax.fori_loop(0, steps, step, (states, jnp.zeros(rungs - 1, states.dtype)))
    attempts = (steps + 1 - jnp.arange(rungs - 1) % 2) // 2  # even pairs begin
    return Tempering(states, swaps / jnp.maximum(attempts, 1).astype(swaps.dtype))
