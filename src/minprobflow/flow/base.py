"""A connectivity is three pure functions; what it hands to the objective is a flow.

Flow is described by free energies only, so one objective serves every connectivity of its kind.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
from jax.scipy.special import logsumexp
from jaxtyping import Array, Float

from ..numerics import effective_share, log_mean_exp
from ..rates import OddFunction, log_rate


class ParticleFlow(NamedTuple):
    """Flow from data states to particles drawn from the model at theta_old."""

    data: Float[Array, " B"]  # F(x; theta)
    data_old: Float[Array, " B"]  # F(x; theta_old)
    particles: Float[Array, " S"]  # F(x'; theta)
    particles_old: Float[Array, " S"]  # F(x'; theta_old)

    def log_outflow(self, o: OddFunction = jnp.zeros_like) -> Float[Array, " B"]:
        """log of the flow out of each data state: g_i = p(x_i; theta_old) makes it factor (o = 0)."""
        if o is not jnp.zeros_like:
            raise ValueError("the factored flow exists for o = 0 only")
        return (self.data - self.data_old) / 2 + log_mean_exp(self.log_weights())

    def log_weights(self) -> Float[Array, " S"]:
        """log of the weights that correct stale particles."""
        return (self.particles_old - self.particles) / 2

    def ess(self, o: OddFunction = jnp.zeros_like) -> Float[Array, ""]:
        """Effective share of the particles, or of the examples if that is smaller: both are weighted."""
        return jnp.minimum(effective_share(self.log_weights()), effective_share((self.data - self.data_old) / 2))


class NeighbourFlow(NamedTuple):
    """Flow from data states to all their one-flip neighbours."""

    differences: Float[Array, "B D *others"]  # F(x) - F(neighbour); the last axis where units have more than one other value

    def log_outflow(self, o: OddFunction = jnp.zeros_like) -> Float[Array, " B"]:
        """log of the flow out of each data state."""
        return logsumexp(log_rate(self.differences, o), axis=tuple(range(1, self.differences.ndim)))

    def log_odds_of_change(self) -> Float[Array, "B D"]:
        """log of the odds that a unit redrawn given all others changes: -softplus of it is log p(v_i | rest)."""
        return self.differences if self.differences.ndim == 2 else logsumexp(self.differences, axis=2)

    def ess(self, o: OddFunction = jnp.zeros_like) -> Float[Array, ""]:
        """Effective share of the examples that the objective is made of."""
        return effective_share(self.log_outflow(o))


Flow = ParticleFlow | NeighbourFlow


class Connectivity(NamedTuple):
    """init(key, model, data) -> state; connect(key, model, state, batch) -> state; flow(model, state, batch) -> (Flow, state).

    `connect` draws the states that probability flows to and is never differentiated; `flow` is.
    """

    init: Callable[..., Any]
    connect: Callable[..., Any]
    flow: Callable[..., tuple[Any, Any]]
