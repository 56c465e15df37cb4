"""Connectivity to all states one flip away (section 4.1 of the paper)."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
from jax.scipy.special import logsumexp
from jaxtyping import Array, Float, Int

from ..models.base import FastFlips, Model
from ..spaces import discrete
from .base import Connectivity, NeighbourFlow
from .rates import OddFunction


def one_flip(o: OddFunction = jnp.zeros_like) -> Connectivity[tuple[()], NeighbourFlow]:
    """Every data state is connected to all states in which one unit differs. Nothing is drawn, nothing is kept.

    Args:
        o: the odd function of the rates (Theorem 1).

    >>> import minprobflow as mpf
    >>> flow, _ = one_flip().flow(mpf.Ising.init(3), (), jnp.zeros((2, 3)))
    >>> flow.differences.shape
    (2, 3)
    """
    return Connectivity(
        init=lambda key, model, data: (),
        connect=lambda key, model, state, batch: state,
        flow=lambda model, state, batch: (NeighbourFlow(flip_differences(model, batch), o), state),
    )


def flip_differences(model: Model, v: Float[Array, "B D"]) -> Float[Array, "B D *others"]:
    """F(v) - F(flip_i v) for all i: by the model's fast form if it has one, else one change at a time."""
    if isinstance(model, FastFlips):
        return model.flip_differences(v)
    space = discrete(model.space, "one-flip connectivity")
    numbers = jnp.arange(math.prod(space.neighbours))
    flipped = jax.lax.map(jax.checkpoint(lambda number: model.free_energy(space.neighbour(v, number))), numbers)
    return (model.free_energy(v)[:, None] - flipped.T).reshape(-1, *space.neighbours)


def log_odds_of_change(model: Model, v: Float[Array, "B D"], site: Int[Array, ""]) -> Float[Array, " B"]:
    """log of the odds that this unit, redrawn given all others, changes: sum over its other values of exp(F(v) - F(changed))."""
    others = discrete(model.space, "one-flip connectivity").others(v, site)
    return logsumexp(model.free_energy(v)[None] - model.free_energy(others), axis=0)
