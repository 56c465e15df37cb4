"""Connectivity to all states one flip away (section 4.1 of the paper)."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..models.base import FastFlips, Model
from .base import Connectivity, NeighbourFlow


def one_flip() -> Connectivity:
    """Every data state is connected to its D neighbours. Nothing is drawn, nothing is kept."""
    return Connectivity(
        init=lambda key, model, data: (),
        connect=lambda key, model, state, batch: state,
        flow=lambda model, state, batch: (NeighbourFlow(flip_differences(model, batch)), state),
    )


def flip_differences(model: Model, v: Float[Array, "B D"]) -> Float[Array, "B D"]:
    """F(v) - F(flip_i v) for all i: by the model's fast form if it has one, else flip by flip, in O(B D) memory."""
    if isinstance(model, FastFlips):
        return model.flip_differences(v)
    flipped = jax.lax.map(jax.checkpoint(lambda i: model.free_energy(model.space.flip(v, i))), jnp.arange(v.shape[1]))
    return model.free_energy(v)[:, None] - flipped.T
