"""F(v) - F(v with unit i flipped) of an RBM for all i, in O(B D + D H) memory.

With a_j = c_j + v'W_j, p = sigma(a), s = sigma(-a) and d_i = 1 - 2 v_i (all parameters already divided by tau)

    F(v) - F(flip_i v) = d_i b_i + sum_j log(s_j + p_j exp(d_i W_ij))
                       = d_i b_i + d_i sum_j W_ij / 2 + sum_j log(s_j exp(-d_i W_ij / 2) + p_j exp(d_i W_ij / 2)).

exp(+-W/2) is computed once for all examples, so an example costs two multiplications per weight, and one logarithm
per product of `GROUP` terms. Every term is a sum of positive numbers, so nothing cancels however saturated the
units are. Terms lie within exp(+-|W|/2): where `GROUP` of them could overflow, the softplus form is used instead.
"""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..numerics import affine, any_replica

GROUP = 8
UNROLL = 3  # examples in one round of the gradient's loop: their changes are added to the total in one pass


@jax.custom_vjp
def flip_differences(
    weights: Float[Array, "D H"], visible_bias: Float[Array, " D"], hidden_bias: Float[Array, " H"], v: Float[Array, "B D"]
) -> Float[Array, "B D"]:
    """F(v) - F(flip_i v) for tau = 1; one pass over the weights per example, never a B x D x D or B x D x H array."""
    direction = 1 - 2 * v
    hidden = jax.lax.cond(
        _products_fit(weights),
        _hidden_part_by_products,
        _hidden_part_by_softplus,
        weights,
        affine(v, weights, hidden_bias),
        direction,
    )
    return direction * visible_bias[None] + hidden


def _products_fit(weights: Float[Array, "D H"]) -> Array:
    """Whether no product of `GROUP` terms overflows."""
    largest_exponent = 0.95 * math.log(float(jnp.finfo(weights.dtype).max))
    return ~any_replica(GROUP / 2 * jnp.max(jnp.abs(weights)) > largest_exponent)


def _hidden_part_by_products(
    weights: Float[Array, "D H"], activations: Float[Array, "B H"], direction: Float[Array, "B D"]
) -> Float[Array, "B D"]:
    n_visible, n_hidden = weights.shape
    groups = -(-n_hidden // GROUP)
    grown, shrunk = (
        # padding with weight 0 makes a factor s + p = 1; the group axis comes first to keep the inner loop contiguous
        jnp.exp(jnp.pad(sign * weights / 2, ((0, 0), (0, groups * GROUP - n_hidden)))).reshape(n_visible, GROUP, groups)
        for sign in (1, -1)
    )
    activations = jnp.pad(activations, ((0, 0), (0, groups * GROUP - n_hidden)))

    def one_example(carry: None, x: tuple[Array, Array]) -> tuple[None, Array]:
        a, d = x
        on, off = (jax.nn.sigmoid(sign * a).reshape(1, GROUP, groups) for sign in (1, -1))
        switched_on = (d > 0)[:, None, None]
        terms = jnp.where(switched_on, on, off) * grown + jnp.where(switched_on, off, on) * shrunk
        return carry, jnp.sum(jnp.log(jnp.prod(terms, axis=1)), -1)

    _, logs = jax.lax.scan(one_example, None, (activations, direction))
    return logs + direction * jnp.sum(weights, 1)[None] / 2


def _hidden_part_by_softplus(
    weights: Float[Array, "D H"], activations: Float[Array, "B H"], direction: Float[Array, "B D"]
) -> Float[Array, "B D"]:
    def one_example(carry: None, x: tuple[Array, Array]) -> tuple[None, Array]:
        a, d = x
        return carry, jnp.sum(jax.nn.softplus(a[None] + d[:, None] * weights) - jax.nn.softplus(a)[None], -1)

    return jax.lax.scan(one_example, None, (activations, direction))[1]


def _forward(
    weights: Float[Array, "D H"], visible_bias: Float[Array, " D"], hidden_bias: Float[Array, " H"], v: Float[Array, "B D"]
) -> tuple[Array, tuple[Array, Array, Array]]:
    return flip_differences(weights, visible_bias, hidden_bias, v), (weights, hidden_bias, v)


def _backward(saved: tuple[Array, Array, Array], cotangent: Float[Array, "B D"]) -> tuple[Array, Array, Array, None]:
    weights, hidden_bias, v = saved
    activations, direction = affine(v, weights, hidden_bias), 1 - 2 * v
    on, off = jax.nn.sigmoid(activations), jax.nn.sigmoid(-activations)
    by_weight, by_activation = jax.lax.cond(
        _products_fit(weights), _changes_by_products, _changes_by_sigmoid, weights, activations, on, off, direction, cotangent
    )
    signed = cotangent * direction
    grad_weights = by_weight + signed.T @ on + v.T @ by_activation
    return grad_weights, jnp.sum(signed, 0), jnp.sum(by_activation, 0), None


def _changes_by_products(
    weights: Float[Array, "D H"], activations: Array, on: Array, off: Array, direction: Float[Array, "B D"], cotangent: Float[Array, "B D"]
) -> tuple[Float[Array, "D H"], Float[Array, "B H"]]:
    """Sums of cotangent x change of the hidden means by a flip: over examples (with the direction), and over units.

    The change is d_i p_j s_j (exp W_ij - 1) / (s_j + p_j exp W_ij) for d_i = 1, with s and p exchanged below the line for d_i = -1.
    A difference of two hidden means would lose its digits where the weights are small.
    """
    grown, excess = jnp.exp(weights), jnp.expm1(weights)

    def one_example(total: Array, x: tuple[Array, ...]) -> tuple[Array, Array]:
        p, s, d, g = x
        switched_on = (d > 0)[:, None]
        after = jnp.where(switched_on, s[None], p[None]) + jnp.where(switched_on, p[None], s[None]) * grown
        change = (g[:, None] * (p * s)[None]) * (excess / after)  # in this order a twentieth faster
        return total + change, d @ change

    return jax.lax.scan(one_example, jnp.zeros_like(weights), (on, off, direction, cotangent), unroll=UNROLL)


def _changes_by_sigmoid(
    weights: Float[Array, "D H"], activations: Array, on: Array, off: Array, direction: Float[Array, "B D"], cotangent: Float[Array, "B D"]
) -> tuple[Float[Array, "D H"], Float[Array, "B H"]]:
    def one_example(total: Array, x: tuple[Array, ...]) -> tuple[Array, Array]:
        a, p, d, g = x
        change = (g * d)[:, None] * (jax.nn.sigmoid(a[None] + d[:, None] * weights) - p[None])
        return total + change, d @ change

    return jax.lax.scan(one_example, jnp.zeros_like(weights), (activations, on, direction, cotangent))


flip_differences.defvjp(_forward, _backward)
