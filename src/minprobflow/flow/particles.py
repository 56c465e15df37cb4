"""Connectivity to particles drawn from the model by k steps of a kernel (sections 4.2 and 4.3 of the paper).

theta_old is the model the particles were drawn from. Particles and theta_old are renewed together, every `refresh`
updates, or sooner when the weights that correct for their age leave too few effective particles or examples.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key, Num

from ..arguments import choice, number, whole
from ..models import fast
from ..models.base import Model
from ..numerics import any_replica
from ..samplers.auto import as_kernel
from ..samplers.base import ChainState, KernelLike
from ..samplers.engine import run
from .base import Connectivity, ParticleFlow

Start = Literal["data", "particles", "both"]


class Particles(NamedTuple):
    """Negative particles and what is needed to weigh them."""

    chains: ChainState  # the kernel's state
    model_old: Model | None  # None where each update draws new ones and thus knows its batch:
    data_old: Float[Array, "*replicas B"] | None  # F of the batch at theta_old is kept then
    free_energy_old: Float[Array, "*replicas S"]
    age: Int[Array, "*replicas"]

    @property
    def states(self) -> Float[Array, "*replicas S D"]:
        """Where the particles are."""
        return self.chains.v


def particles(
    start: Start,
    kernel: KernelLike = "auto",
    *,
    batch_size: int,
    n_particles: int,
    k: int = 1,
    refresh: int = 1,
    min_ess: float = 0.5,
) -> Connectivity[Particles, ParticleFlow]:
    """Particles after k steps from the data batch, from the last particles, or half from each.

    Args:
        start: "data", "particles" or "both".
        kernel: what steps, as in `mpf.sample`. Its state is kept with the particles.
        batch_size: examples per update.
        n_particles: how many there are.
        k: steps for each draw.
        refresh: updates made with one draw.
        min_ess: renew early when less than this share of the particles or of the batch is effective.
    """
    choice("start", start, ("data", "particles", "both"))
    batch_size, n_particles = whole("batch_size", batch_size, 1), whole("n_particles", n_particles, 1)
    k, refresh, min_ess = whole("k", k, 1), whole("refresh", refresh, 1), number("min_ess", min_ess, 0, 1)
    n_from_data = {"data": n_particles, "particles": 0, "both": n_particles // 2}[start]

    def init(key: Key[Array, ""], model: Model, data: Num[Array, "N D"]) -> Particles:
        rows = jax.random.randint(key, (n_particles,), 0, data.shape[0])
        chains = as_kernel(kernel, model).init(key, model, data[rows].astype(float))
        age = jnp.asarray(refresh, int)  # without a type it would be a weak one, and a run resumed from a file would be compiled again
        return made(model, chains, data[:batch_size].astype(float), age)

    def draw(key: Array, model: Model, old: Particles, batch: Float[Array, "B D"]) -> Particles:
        chosen = as_kernel(kernel, model)
        from_data = chosen.init(key, model, batch[jnp.arange(n_from_data) % batch.shape[0]])
        begin = jax.tree.map(lambda new, last: jnp.concatenate([new, last[n_from_data:]]), from_data, old.chains)
        return made(model, run(key, model, begin, k, chosen), batch, jnp.zeros_like(old.age))

    def made(model: Model, chains: ChainState, batch: Float[Array, "B D"], age: Array) -> Particles:
        fresh = refresh == 1
        return Particles(chains, None if fresh else model, model.free_energy(batch) if fresh else None, model.free_energy(chains.v), age)

    def connect(key: Array, model: Model, old: Particles, batch: Array) -> Particles:
        if refresh == 1:
            return draw(key, model, old, batch)
        due = (old.age >= refresh) | (particle_flow(model, old, batch).ess() < min_ess)  # before the stale ones are used
        new = jax.lax.cond(any_replica(due), draw, lambda key, model, old, batch: old, key, model, old, batch)
        return jax.tree.map(lambda a, b: jnp.where(due, a, b), new, old)

    def flow(model: Model, state: Particles, batch: Array) -> tuple[ParticleFlow, Particles]:
        return particle_flow(model, state, batch), state._replace(age=state.age + 1)

    return Connectivity(init, connect, flow)


def particle_flow(model: Model, state: Particles, batch: Array) -> ParticleFlow:
    """The free energies that the flow from this batch to these particles is made of."""
    data_old = state.data_old if state.data_old is not None else state.model_old.free_energy(batch)  # type: ignore[union-attr]
    of_data, of_particles = fast.free_energies(model, batch, state.states)
    return ParticleFlow(of_data, data_old, of_particles, state.free_energy_old)
