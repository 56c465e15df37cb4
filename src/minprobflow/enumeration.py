"""Sums over all states of a small model."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax.scipy.special import logsumexp
from jaxtyping import Array, Float, Int

from .errors import InputError
from .models.base import FastSums, Latent, Model

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
    """log Z by enumerating the smaller layer; differentiable, in bounded memory, in the model's own precision."""
    if isinstance(model, FastSums):
        return model.log_partition()
    return logsumexp(log_sums(model, jnp.arange(n_slabs(model))))


def n_slabs(model: Model) -> int:
    """In how many parts `log_sums` can give log Z."""
    if isinstance(model, FastSums):
        return model.n_slabs()
    return -(-smaller_layer(model).space.n_states // CHUNK)


def log_sums(model: Model, slabs: Int[Array, " n"]) -> Float[Array, " n"]:
    """log of the sum over the states of each of these slabs."""
    if isinstance(model, FastSums):
        return model.log_sums(slabs)
    model = smaller_layer(model)
    chunk = min(model.space.n_states, CHUNK)

    @jax.checkpoint
    def one_slab(slab: Array) -> Array:
        return logsumexp(-model.free_energy(model.space.states(slab * chunk + jnp.arange(chunk))))

    return jax.lax.map(one_slab, slabs)
