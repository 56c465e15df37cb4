"""The swap of states between neighbouring rungs: one rule for temperatures and for trajectories."""

from __future__ import annotations

from typing import NamedTuple, TypeVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

T = TypeVar("T")


class Swaps(NamedTuple):
    """Of each pair of neighbouring rungs, as shares of the chains."""

    attempted: Float[Array, " pairs"]
    accepted: Float[Array, " pairs"]


def swap(key: Key[Array, ""], log_accept: Float[Array, "chains pairs"], turn: Int[Array, " chains"], state: T) -> tuple[T, Swaps]:
    """Exchange what neighbouring rungs hold, with probability min(1, e^log_accept). Even and odd pairs take turns.

    Args:
        key: of this round.
        log_accept: F_r(x_r) + F_s(x_s) - F_r(x_s) - F_s(x_r) for s = r + 1.
        turn: rounds done.
        state: a pytree of arrays with chains along the first axis and rungs along the second.
    """
    paired = jnp.arange(log_accept.shape[1])[None] % 2 == turn[:, None] % 2  # no state is in two swaps
    accepted = paired & (jnp.log(jax.random.uniform(key, log_accept.shape, log_accept.dtype)) < log_accept)
    up, down = (jnp.pad(accepted, ((0, 0), where)) for where in ((0, 1), (1, 0)))

    def exchanged(leaf: Array) -> Array:
        above, below = (flags.reshape(flags.shape + (1,) * (leaf.ndim - 2)) for flags in (up, down))
        return jnp.where(above, jnp.roll(leaf, -1, 1), jnp.where(below, jnp.roll(leaf, 1, 1), leaf))

    return jax.tree.map(exchanged, state), Swaps(*(jnp.mean(flags.astype(log_accept.dtype), 0) for flags in (paired, accepted)))
