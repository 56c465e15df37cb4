"""A connectivity is three pure functions; what it hands to the objective is a flow.

Flow is described by free energies only, so one objective serves every connectivity of its kind.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, NamedTuple, Protocol, TypeVar, runtime_checkable

import jax.numpy as jnp
from jax.scipy.special import logsumexp
from jaxtyping import Array, Float, Key, Num

from ..models.base import Model
from ..numerics import effective_share, log_mean_exp
from .rates import OddFunction, log_rate


@runtime_checkable
class Flow(Protocol):
    """What an objective is made of."""

    def log_outflow(self) -> Float[Array, " B"]:
        """log of the flow out of each data state."""
        ...

    def outflow(self) -> Float[Array, " B"]:
        """The flow itself: it may overflow."""
        ...

    def ess(self) -> Float[Array, ""]:
        """Effective share of the weights that the flow is made with, in (0, 1]."""
        ...


class ParticleFlow(NamedTuple):
    """Flow from data states to particles drawn from the model at theta_old."""

    data: Float[Array, " B"]  # F(x; theta)
    data_old: Float[Array, " B"]  # F(x; theta_old)
    particles: Float[Array, " S"]  # F(x'; theta)
    particles_old: Float[Array, " S"]  # F(x'; theta_old)

    def log_outflow(self) -> Float[Array, " B"]:
        """log of the flow out of each data state: g_i = p(x_i; theta_old) makes it factor, for o = 0 only."""
        return (self.data - self.data_old) / 2 + log_mean_exp(self.log_weights())

    def outflow(self) -> Float[Array, " B"]:
        """The flow out of each data state."""
        return jnp.exp(self.log_outflow())

    def log_weights(self) -> Float[Array, " S"]:
        """log of the weights that correct stale particles."""
        return (self.particles_old - self.particles) / 2

    def ess(self) -> Float[Array, ""]:
        """Effective share of the particles, or of the examples if that is smaller: both are weighted."""
        return jnp.minimum(effective_share(self.log_weights()), effective_share((self.data - self.data_old) / 2))


class NeighbourFlow(NamedTuple):
    """Flow from data states to all their one-flip neighbours."""

    differences: Float[Array, "B D *others"]  # F(x) - F(neighbour); the last axis where units have more than one other value
    o: OddFunction = jnp.zeros_like  # of the rates

    def log_outflow(self) -> Float[Array, " B"]:
        """log of the flow out of each data state."""
        return logsumexp(log_rate(self.differences, self.o), axis=tuple(range(1, self.differences.ndim)))

    def outflow(self) -> Float[Array, " B"]:
        """The flow out of each data state."""
        return jnp.sum(jnp.exp(log_rate(self.differences, self.o)), axis=tuple(range(1, self.differences.ndim)))

    def log_odds_of_change(self) -> Float[Array, "B D"]:
        """log of the odds that a unit redrawn given all others changes: -softplus of it is log p(v_i | rest)."""
        return self.differences if self.differences.ndim == 2 else logsumexp(self.differences, axis=2)

    def ess(self) -> Float[Array, ""]:
        """Effective share of the examples that the flow is made of."""
        return effective_share(self.log_outflow())


S = TypeVar("S")
S_co = TypeVar("S_co", covariant=True)
F = TypeVar("F", bound=Flow)
F_co = TypeVar("F_co", bound=Flow, covariant=True)


@runtime_checkable
class Init(Protocol[S_co]):
    """The state that training starts with."""

    def __call__(self, key: Key[Array, ""], model: Model, data: Num[Array, "N D"], /) -> S_co:
        """A pytree of arrays.

        Args:
            key: for what is drawn.
            model: as it is before the first update.
            data: all examples.
        """
        ...


@runtime_checkable
class Connect(Protocol[S]):
    """Draws the states that probability flows to. It is never differentiated."""

    def __call__(self, key: Key[Array, ""], model: Model, state: S, batch: Num[Array, "B D"], /) -> S:
        """The state that this update's flow is computed from.

        Args:
            key: of this update.
            model: at its current parameters.
            state: of the update before.
            batch: this update's examples.
        """
        ...


@runtime_checkable
class FlowOf(Protocol[S, F_co]):
    """The flow, as a differentiable function of the model."""

    def __call__(self, model: Model, state: S, batch: Num[Array, "B D"], /) -> tuple[F_co, S]:
        """The flow and the state for the next update.

        Args:
            model: what is differentiated.
            state: what `connect` returned.
            batch: this update's examples.
        """
        ...


@dataclass(frozen=True)
class Connectivity(Generic[S, F]):
    """Which states does probability flow to? Three pure functions, and a state (any pytree) that is part of the checkpoint."""

    init: Init[S]
    connect: Connect[S]
    flow: FlowOf[S, F]
