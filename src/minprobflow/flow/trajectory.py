"""Connectivity to particles that exchange states with the training trajectory (parallel trajectory tempering).

A reservoir holds equilibrium samples of the last rung, an earlier model of the same run. At each draw every particle tries to swap states
with a random one of them, then makes k steps. Training sees to it that the reservoir is renewed (`train/ladder.py`).

Béreux, Decelle, Furtlehner & Seoane, Equilibrium training of energy-based models with parallel trajectory tempering (arXiv 2607.27077).
"""

from __future__ import annotations

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key, Num

from ..arguments import whole
from ..errors import InputError
from ..models.base import Model
from ..random_bits import bits, subkey, uniform
from ..samplers.base import Chains
from .base import Connectivity, ParticleFlow
from .particles import Particles, particle_flow, particles

TIMES = 10  # states of the reservoir for each particle


def check_path(model: Model) -> None:
    """Raise if this model's parameters cannot be those of independent units: then there is no path to it that begins at them."""
    means = jax.ShapeDtypeStruct(
        model.space.mean_features(np.zeros((1, model.space.size), model.space.dtype)).shape, jnp.result_type(float)
    )
    shapes = (jax.tree.map(lambda leaf: (leaf.shape, leaf.dtype), x) for x in (jax.eval_shape(model.base, means), model))
    if not eqx.tree_equal(*shapes):
        raise InputError(f"a trajectory begins at independent units, which {type(model).__name__} cannot express: train it without one")


class Reservoir(NamedTuple):
    """Equilibrium samples of an earlier model."""

    rung: Model
    states: Float[Array, "*replicas M D"]
    free_energy: Float[Array, "*replicas M"]  # of the states, at the rung


class Exchanging(NamedTuple):
    """Particles and what they exchange states with."""

    particles: Particles
    reservoir: Reservoir

    @property
    def states(self) -> Float[Array, "*replicas S D"]:
        """Where the particles are."""
        return self.particles.states


def with_trajectory(
    *, batch_size: int, n_particles: int, k: int = 1, refresh: int = 1, min_ess: float = 0.5
) -> Connectivity[Exchanging, ParticleFlow]:
    """Particles that swap with the reservoir, then make k steps from where they are.

    Args:
        batch_size: examples per update.
        n_particles: how many there are; the reservoir has ten times as many states.
        k: steps for each draw.
        refresh: updates made with one draw.
        min_ess: renew early when less than this share of the particles or of the batch is effective.
    """
    n_particles, k, refresh = whole("n_particles", n_particles, 1), whole("k", k, 1), whole("refresh", refresh, 1)
    own = particles("particles", batch_size=batch_size, n_particles=n_particles, k=k, refresh=refresh, min_ess=min_ess)

    def init(key: Key[Array, ""], model: Model, data: Num[Array, "N D"]) -> Exchanging:
        rows = jax.random.randint(subkey(key, 0), (TIMES * n_particles,), 0, data.shape[0])
        states = data[rows].astype(float)  # until training has equilibrium samples
        return Exchanging(own.init(key, model, data), Reservoir(model, states, model.free_energy(states)))

    def connect(key: Array, model: Model, old: Exchanging, batch: Array) -> Exchanging:
        before, held = old.particles, old.reservoir
        due = jnp.asarray(refresh == 1) | (before.age >= refresh) | (particle_flow(model, before, batch).ess() < min_ess)
        swapped, *renewed = exchanged(subkey(key, 0), model, before.states, held)
        states, energies = (jnp.where(due, new, last) for new, last in zip(renewed, held[1:], strict=True))
        begin = before._replace(chains=Chains(jnp.where(due, swapped, before.states)), age=jnp.where(due, refresh, before.age))
        return Exchanging(own.connect(key, model, begin, batch), Reservoir(held.rung, states, energies))

    def flow(model: Model, state: Exchanging, batch: Array) -> tuple[ParticleFlow, Exchanging]:
        found, after = own.flow(model, state.particles, batch)
        return found, state._replace(particles=after)

    return Connectivity(init, connect, flow)


def exchanged(
    key: Key[Array, ""], model: Model, v: Float[Array, "S D"], reservoir: Reservoir
) -> tuple[Float[Array, "S D"], Float[Array, "M D"], Float[Array, " M"]]:
    """Chains of the model, and states and free energies of the reservoir, after each chain has tried to swap with a member of its own.

    A swap of x and y is accepted with probability min(1, e^D), D = F(x) + F_r(y) - F(y) - F_r(x): both distributions stay as they are.
    """
    members = some(subkey(key, 0), reservoir.states.shape[0], v.shape[0])
    y, energy_y = reservoir.states[members], reservoir.free_energy[members]
    energy_x = reservoir.rung.free_energy(v)
    log_accept = model.free_energy(v) + energy_y - model.free_energy(y) - energy_x
    swap = jnp.log(uniform(subkey(key, 1), log_accept)) < log_accept
    states = reservoir.states.at[members].set(jnp.where(swap[:, None], v, y))
    return jnp.where(swap[:, None], y, v), states, reservoir.free_energy.at[members].set(jnp.where(swap, energy_x, energy_y))


def some(key: Key[Array, ""], n: int, wanted: int) -> Int[Array, " wanted"]:
    """Different numbers below n in random order."""
    return jnp.argsort(bits(key, (n,)))[:wanted]


def acceptance(gap: Float[Array, " M"]) -> Float[Array, ""]:
    """How often a swap between a model and a rung would be accepted in equilibrium, from samples of the rung alone.

    Args:
        gap: F - F_r of each sample. As samples of the model they have the weights softmax(-gap).

    >>> round(float(acceptance(jnp.zeros(5))), 3)
    1.0
    """
    return jax.nn.softmax(-gap) @ jnp.mean(jnp.exp(jnp.minimum(gap[:, None] - gap[None], 0)), 1)
