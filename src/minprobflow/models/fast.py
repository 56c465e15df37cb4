"""Faster ways to compute what an RBM can compute for all unit types: the one place where they are chosen, by unit type.

Layers of bits and spins are written as a Bernoulli RBM with the same distribution, by s = 2v - 1.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol, TypeGuard, runtime_checkable

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from ..units import Bernoulli, Layer, Spin
from . import rbm_flips, rbm_sums

BITS: dict[type[Layer], tuple[float, float]] = {Bernoulli: (1.0, 0.0), Spin: (2.0, -1.0)}
"""layers whose units are a v + c with bits v: a and c"""


@runtime_checkable
class TwoLayers(Protocol):
    """What is asked of an RBM."""

    visible: Layer
    hidden: Layer
    weights: Array
    tau: float


class Bits(NamedTuple):
    """A Bernoulli RBM at tau = 1, and what its energy lacks."""

    weights: Float[Array, "D H"]
    visible_bias: Float[Array, " D"]
    hidden_bias: Float[Array, " H"]
    constant: Float[Array, ""] | float


class Sums(NamedTuple):
    """log Z of a small model at less than one evaluation of the free energy per state."""

    n_slabs: int  # in how many parts the sum over all states is given
    log_sums: Callable[[Int[Array, " n"]], Float[Array, " n"]]  # log of the sum over the states of each of these parts
    log_partition: Callable[[], Float[Array, ""]]  # log Z, differentiable


def flips(model: object) -> Callable[[Float[Array, "B D"]], Float[Array, "B D"]] | None:
    """F(v) - F(v with unit i flipped) for all i, if there is a fast form."""
    if not _has_bits(model):
        return None
    bits, (a, c) = _as_bits(model), BITS[type(model.visible)]
    return lambda v: rbm_flips.flip_differences(*bits[:3], v if a == 1 else (v - c) / a)


def sums(model: object) -> Sums | None:
    """Exact sums over the smaller layer, if there is a fast form."""
    if not _has_bits(model):
        return None
    weights, visible, hidden, constant = _as_bits(model)
    if weights.shape[1] > weights.shape[0]:
        weights, visible, hidden = weights.T, hidden, visible
    return Sums(
        rbm_sums.n_high_states(weights.shape[1]),
        lambda slabs: rbm_sums.log_sums(weights, visible, hidden, slabs) - constant,
        lambda: rbm_sums.log_partition(weights, visible, hidden) - constant,
    )


def _has_bits(model: object) -> TypeGuard[TwoLayers]:
    return isinstance(model, TwoLayers) and type(model.visible) in BITS and type(model.hidden) in BITS


def _as_bits(model: TwoLayers) -> Bits:
    weights, visible, hidden = (x / model.tau for x in (model.weights, model.visible.bias, model.hidden.bias))
    (a, c), (b, d) = BITS[type(model.visible)], BITS[type(model.hidden)]
    if (a, b) == (1, 1):
        return Bits(weights, visible, hidden, 0.0)
    # (a v + c)' W (b h + d), and the biases' terms
    fields_v, fields_h = visible + d * jnp.sum(weights, 1), hidden + c * jnp.sum(weights, 0)
    constant = -c * jnp.sum(visible) - d * jnp.sum(hidden) - c * d * jnp.sum(weights)
    return Bits(a * b * weights, a * fields_v, b * fields_h, constant)
