"""Sums over all states of a small model."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax.scipy.special import logsumexp
from jaxtyping import Array, Float

from .errors import InputError
from .models.base import Latent, Model

MAX_UNITS = 20
CHUNK = 2**12


def smaller_layer(model: Model) -> Model:
    """The model over whichever of its layers has fewer states."""
    if isinstance(model, Latent):
        other = model.transposed()
        if other.space.size < model.space.size:
            return other
    return model


def check_enumerable(model: Model, max_units: int = MAX_UNITS) -> None:
    """Raise if the smaller layer has too many units to be enumerated."""
    units = smaller_layer(model).space.size
    if units > max_units:
        raise InputError(
            f"exact sums over 2^{units} states are out of reach (at most {max_units} units in the smaller layer): "
            "use a smaller model, or a rule or estimator that samples"
        )


def log_partition(model: Model) -> Float[Array, ""]:
    """log Z by enumerating the smaller layer, in chunks; differentiable in O(chunk) memory."""
    model = smaller_layer(model)
    n = model.space.n_states
    chunk = min(n, CHUNK)

    @jax.checkpoint
    def chunk_sum(first: Array) -> Array:
        return logsumexp(-model.free_energy(model.space.states(first + jnp.arange(chunk))))

    return logsumexp(jax.lax.map(chunk_sum, jnp.arange(0, n, chunk)))


def probabilities(model: Model) -> Float[Array, " states"]:
    """p(v) of every visible state, in the order of the space's enumeration."""
    return jax.nn.softmax(-model.free_energy(model.space.states(jnp.arange(model.space.n_states))))
