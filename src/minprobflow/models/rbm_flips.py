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

from ..numerics import any_replica

GROUP = 8


@jax.custom_vjp
def flip_differences(
    weights: Float[Array, "D H"], visible_bias: Float[Array, " D"], hidden_bias: Float[Array, " H"], v: Float[Array, "B D"]
) -> Float[Array, "B D"]:
    """F(v) - F(flip_i v) for tau = 1; one pass over the weights per example, never a B x D x D or B x D x H array."""
    direction = 1 - 2 * v
    largest_exponent = 0.95 * math.log(float(jnp.finfo(weights.dtype).max))
    hidden = jax.lax.cond(
        any_replica(GROUP / 2 * jnp.max(jnp.abs(weights)) > largest_exponent),
        _hidden_part_by_softplus,
        _hidden_part_by_products,
        weights,
        v @ weights + hidden_bias,
        direction,
    )
    return direction * visible_bias + hidden


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
    return logs + direction * jnp.sum(weights, 1) / 2


def _hidden_part_by_softplus(
    weights: Float[Array, "D H"], activations: Float[Array, "B H"], direction: Float[Array, "B D"]
) -> Float[Array, "B D"]:
    def one_example(carry: None, x: tuple[Array, Array]) -> tuple[None, Array]:
        a, d = x
        return carry, jnp.sum(jax.nn.softplus(a + d[:, None] * weights) - jax.nn.softplus(a), -1)

    return jax.lax.scan(one_example, None, (activations, direction))[1]


def _forward(
    weights: Float[Array, "D H"], visible_bias: Float[Array, " D"], hidden_bias: Float[Array, " H"], v: Float[Array, "B D"]
) -> tuple[Array, tuple[Array, Array, Array]]:
    return flip_differences(weights, visible_bias, hidden_bias, v), (weights, hidden_bias, v)


def _backward(saved: tuple[Array, Array, Array], cotangent: Float[Array, "B D"]) -> tuple[Array, Array, Array, None]:
    weights, hidden_bias, v = saved
    activations, signed = v @ weights + hidden_bias, cotangent * (1 - 2 * v)

    def one_example(grad_weights: Array, x: tuple[Array, ...]) -> tuple[Array, Array]:
        a, d, g = x
        flipped = jax.nn.sigmoid(a + d[:, None] * weights)  # hidden means after flip i
        grad_hidden = g @ flipped - jnp.sum(g) * jax.nn.sigmoid(a)
        return grad_weights + (g * d)[:, None] * flipped, grad_hidden

    grad_weights, grad_hidden = jax.lax.scan(one_example, jnp.zeros_like(weights), (activations, 1 - 2 * v, cotangent))
    return grad_weights + v.T @ grad_hidden, jnp.sum(signed, 0), jnp.sum(grad_hidden, 0), None


flip_differences.defvjp(_forward, _backward)
