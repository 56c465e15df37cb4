"""Transition kernels (key, model, v, held) -> v over a batch of chains v of shape (chains, D).

Units where `held` is true keep their values: the chain then samples the others given those.
"""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Key

from ..errors import InputError
from ..models.base import FastHeatBath, Latent, Model, as_model
from ..random_bits import as_key, subkey
from ..units import discrete

Kernel = Callable[..., Array]


def block_gibbs(
    key: Key[Array, ""], model: Model, v: Float[Array, "chains D"], held: Bool[Array, "#chains D"] | None = None
) -> Float[Array, "chains D"]:
    """h ~ p(h | v), then v ~ p(v | h)."""
    as_model(model)
    if not isinstance(model, Latent):
        raise InputError(f"block Gibbs needs a hidden layer, {type(model).__name__} has none: use the heat_bath kernel")
    drawn = model.sample_visible(subkey(key, 1), model.sample_hidden(subkey(key, 0), v))
    return drawn if held is None else jnp.where(held, v, drawn)


def heat_bath(
    key: Key[Array, ""], model: Model, v: Float[Array, "chains D"], held: Bool[Array, "#chains D"] | None = None
) -> Float[Array, "chains D"]:
    """One sweep that redraws each unit in turn from its conditional given all others. Needs only an energy."""
    as_model(model)
    if isinstance(model, FastHeatBath):
        return model.sweep(key, v, held)
    space = discrete(model.space, "the heat bath")
    key = as_key(key)

    def redraw(v: Array, site: Array) -> tuple[Array, None]:
        candidates = space.site_states(v, site)
        log_p = space.only_present(-model.free_energy(candidates), site)
        chosen = jax.random.categorical(jax.random.fold_in(key, site), log_p, axis=0)
        drawn = jnp.take_along_axis(candidates, chosen[None, :, None], axis=0)[0]
        # held units must be kept at once: those redrawn after them are conditioned on them
        return (drawn if held is None else jnp.where(held[:, site, None], v, drawn)), None

    return jax.lax.scan(redraw, v, jnp.arange(space.size))[0]


def default_kernel(model: Model) -> Kernel:
    """Block Gibbs where there is a hidden layer, else the heat bath."""
    return block_gibbs if isinstance(as_model(model), Latent) else heat_bath
