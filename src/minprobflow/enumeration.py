"""Sums over all states of a small model."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax.scipy.special import logsumexp
from jaxtyping import Array, Float, Int

from .arguments import whole
from .errors import InputError
from .models import fast
from .models.base import Latent, Model, as_model
from .units import discrete

MAX_UNITS = 20
MAX_UNITS_PATIENTLY = 25
CHUNK = 2**12


def smaller_layer(model: Model) -> Model:
    """The model over whichever of its layers has fewer states."""
    as_model(model)
    if isinstance(model, Latent):
        other = model.transposed()
        if other.space.n_states < model.space.n_states:
            return other
    return model


def is_enumerable(model: Model, max_units: int = MAX_UNITS) -> bool:
    """Whether the smaller layer has no more states than this many binary units."""
    as_model(model)
    max_units = whole("max_units", max_units, 0, 64)
    return smaller_layer(model).space.n_states <= 2**max_units


def check_enumerable(model: Model, max_units: int = MAX_UNITS) -> None:
    """Raise if the smaller layer has too many states to be enumerated."""
    if not is_enumerable(model, max_units):
        space = discrete(smaller_layer(model).space, "an exact sum")
        most = f"{max_units} units" if space.n_values == 2 else f"2^{max_units} states"
        raise InputError(
            f"exact sums over {space.n_values}^{space.size} states are out of reach (at most {most} in the smaller layer): "
            "use a smaller model, or a rule or estimator that samples"
        )


def log_partition(model: Model) -> Float[Array, ""]:
    """log Z by enumerating the smaller layer; differentiable, in bounded memory, in the model's own precision."""
    check_enumerable(as_model(model, finite=True), MAX_UNITS_PATIENTLY)
    if sums := fast.sums(model):
        return sums.log_partition()
    return logsumexp(log_sums(model, jnp.arange(n_slabs(model))))


def n_slabs(model: Model) -> int:
    """In how many parts `log_sums` can give log Z."""
    if sums := fast.sums(model):
        return sums.n_slabs
    return -(-discrete(smaller_layer(model).space, "an exact sum").n_states // CHUNK)


def log_sums(model: Model, slabs: Int[Array, " n"]) -> Float[Array, " n"]:
    """log of the sum over the states of each of these slabs."""
    if sums := fast.sums(model):
        return sums.log_sums(slabs)
    model = smaller_layer(model)
    space = discrete(model.space, "an exact sum")
    n_states = space.n_states
    chunk = min(n_states, CHUNK)

    @jax.checkpoint
    def one_slab(slab: Array) -> Array:
        index = slab * chunk + jnp.arange(chunk)
        log_p = -model.free_energy(space.states(index))
        return logsumexp(log_p if n_states % chunk == 0 else jnp.where(index < n_states, log_p, -jnp.inf))

    return jax.lax.map(one_slab, slabs)
