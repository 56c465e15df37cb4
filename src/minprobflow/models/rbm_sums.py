"""log Z of an RBM by enumerating its hidden layer, without an exponential per configuration and visible unit.

With h split into a low and a high part, exp(b_i + W_i h) = A_i(low) B_i(high), so that (all divided by tau)

    Z = sum_h exp(c'h) prod_i (1 + A_i(low) B_i(high)),

a multiplication and an addition per configuration and visible unit. Products of some factors are split into mantissa
and exponent, which are gathered apart, so that one logarithm per configuration is left. Where even those products
could overflow, the plain sum of softplus is used. The gradient is that of the expectations E[v h'], E[v], E[h], with
p(v_i = 1 | h) = A B / (1 + A B).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.scipy.special import logsumexp
from jaxtyping import Array, Bool, Float, Int

from .. import native
from ..numerics import any_replica
from ..units import Binary

LOW_BITS = 8
GROUP = 16  # visible units multiplied in one fused loop
BLOCK = 128  # high parts at a time
GRADIENT_BLOCK = 16
NATIVE_BLOCK = 1024  # high parts at a time, by the compiled kernel
KEPT = 2**22  # configurations whose weights are kept for the gradient


class _Factors(NamedTuple):
    """The model written for the two parts of h; visible units padded to whole groups (bias -inf: a factor of one)."""

    low_states: Float[Array, "low bits"]
    low_logits: Float[Array, "D low"]  # b + W h_low
    low_linear: Float[Array, " low"]  # c' h_low
    high_weights: Float[Array, "D high_bits"]
    high_bias: Float[Array, " high_bits"]

    def high_states(self, index: Int[Array, " n"]) -> Float[Array, "n high_bits"]:
        bits = (index[:, None] >> jnp.arange(self.high_bias.shape[0])[None]) & 1
        return bits.astype(self.low_logits.dtype)

    def product_could_overflow(self) -> Bool[Array, ""]:
        largest = 0.95 * math.log(float(jnp.finfo(self.low_logits.dtype).max))
        low, high = jnp.max(self.low_logits, 1), jnp.sum(jnp.maximum(self.high_weights, 0), 1)
        factors = jax.nn.softplus(low + high).reshape(GROUP // self.subgroup, self.subgroup, -1)
        either = jnp.maximum(jnp.max(low), jnp.max(jnp.sum(jnp.abs(self.high_weights), 1)))
        lowest = -jnp.min(jnp.where(jnp.isfinite(self.low_logits), self.low_logits, 0))
        return jnp.maximum(jnp.max(jnp.sum(factors, 1)), jnp.maximum(either, lowest)) > largest

    @property
    def subgroup(self) -> int:
        """Factors multiplied before mantissa and exponent are split: their product must be representable."""
        return GROUP if self.low_logits.dtype == jnp.float64 else GROUP // 2


def _factors(weights: Float[Array, "D H"], visible_bias: Float[Array, " D"], hidden_bias: Float[Array, " H"]) -> _Factors:
    bits = min(weights.shape[1], LOW_BITS)
    padding = -weights.shape[0] % GROUP
    weights = jnp.pad(weights, ((0, padding), (0, 0)))
    visible_bias = jnp.pad(visible_bias, (0, padding), constant_values=-jnp.inf)
    low_states = Binary(bits).states(jnp.arange(2**bits)).astype(weights.dtype)
    low_logits = visible_bias[:, None] + weights[:, :bits] @ low_states.T
    return _Factors(low_states, low_logits, low_states @ hidden_bias[:bits], weights[:, bits:], hidden_bias[bits:])


def n_high_states(n_hidden: int) -> int:
    """Number of values of the high part."""
    return 2 ** max(n_hidden - LOW_BITS, 0)


@jax.custom_vjp
def log_partition(weights: Float[Array, "D H"], visible_bias: Float[Array, " D"], hidden_bias: Float[Array, " H"]) -> Float[Array, ""]:
    """log Z over all 2^H hidden configurations, for tau = 1."""
    return logsumexp(log_sums(weights, visible_bias, hidden_bias, jnp.arange(n_high_states(weights.shape[1]))))


def log_sums(
    weights: Float[Array, "D H"], visible_bias: Float[Array, " D"], hidden_bias: Float[Array, " H"], high: Int[Array, " n"]
) -> Float[Array, " n"]:
    """log of the sum over all low parts, for each of these high parts: what `log_partition` adds up."""
    factors = _factors(weights, visible_bias, hidden_bias)
    unsafe = any_replica(factors.product_could_overflow())
    blocks = high.reshape(-1, math.gcd(high.shape[0], BLOCK))
    return jax.lax.map(lambda index: logsumexp(_log_weights(factors, index, unsafe), axis=1), blocks).reshape(-1)


def _log_weights(factors: _Factors, index: Int[Array, " n"], unsafe: Bool[Array, ""]) -> Float[Array, "n low"]:
    """log of the unnormalised p(h) of every low part with these high parts."""
    high = factors.high_states(index)
    high_logits = factors.high_weights @ high.T
    visible_part = jax.lax.cond(unsafe, _by_softplus, _by_products, factors, high_logits)
    return visible_part + factors.low_linear[None] + (high @ factors.high_bias)[:, None]


def _by_products(factors: _Factors, high_logits: Float[Array, "D n"]) -> Float[Array, "n low"]:
    """sum_i log(1 + A_i B_i), mantissas and exponents gathered apart."""
    dtype = high_logits.dtype
    integer, shift = (jnp.int64, 52) if dtype == jnp.float64 else (jnp.int32, 23)
    one = jax.lax.bitcast_convert_type(jnp.ones((), dtype), integer)

    def split(x: Array) -> tuple[Array, Array]:  # x >= 1 as mantissa in [1, 2) and exponent
        bits = jax.lax.bitcast_convert_type(x, integer)
        return jax.lax.bitcast_convert_type((bits & ((1 << shift) - 1)) | one, dtype), (bits - one) >> shift

    # unit i joins group i mod (D / GROUP), so that a group mixes units from all over the picture
    low, high = (x.reshape(GROUP, -1, x.shape[1]).swapaxes(0, 1) for x in (jnp.exp(factors.low_logits), jnp.exp(high_logits)))
    many = low.shape[0] * GROUP // factors.subgroup > 120  # so many mantissas could overflow in their turn

    def one_group(total: tuple[Array, Array], group: tuple[Array, Array]) -> tuple[tuple[Array, Array], None]:
        mantissa, exponent = total
        a, b = group
        for first in range(0, GROUP, factors.subgroup):
            product = 1 + a[first][None] * b[first][:, None]
            for i in range(first + 1, first + factors.subgroup):  # unrolled: one fused loop, no reduction
                product = product * (1 + a[i][None] * b[i][:, None])
            rest, power = split(product)
            mantissa, exponent = mantissa * rest, exponent + power
        if many:
            mantissa, power = split(mantissa)
            exponent = exponent + power
        return (mantissa, exponent), None

    shape = (high_logits.shape[1], factors.low_logits.shape[1])
    (mantissa, exponent), _ = jax.lax.scan(one_group, (jnp.ones(shape, dtype), jnp.zeros(shape, integer)), (low, high))
    return jnp.log(mantissa) + exponent.astype(dtype) * math.log(2)


def _by_softplus(factors: _Factors, high_logits: Float[Array, "D n"]) -> Float[Array, "n low"]:
    def one_high(logits: Float[Array, " D"]) -> Float[Array, " low"]:
        return jnp.sum(jax.nn.softplus(factors.low_logits + logits[:, None]), 0)

    return jax.lax.map(one_high, high_logits.T)


def _visible_means_by_products(factors: _Factors, high_logits: Float[Array, "D n"]) -> Float[Array, "D n low"]:
    odds = jnp.exp(factors.low_logits)[:, None, :] * jnp.exp(high_logits)[:, :, None]
    return odds / (1 + odds)


def _visible_means_by_sigmoid(factors: _Factors, high_logits: Float[Array, "D n"]) -> Float[Array, "D n low"]:
    return jax.nn.sigmoid(factors.low_logits[:, None, :] + high_logits[:, :, None])


Saved = tuple[Array, Array, Array, Array, Array | None]


def _forward(weights: Array, visible_bias: Array, hidden_bias: Array) -> tuple[Array, Saved]:
    if not _native(weights) or 2 ** weights.shape[1] > KEPT:
        log_z = log_partition(weights, visible_bias, hidden_bias)
        return log_z, (weights, visible_bias, hidden_bias, log_z, None)
    factors = _factors(weights, visible_bias, hidden_bias)
    unsafe = any_replica(factors.product_could_overflow())
    blocks = jnp.arange(n_high_states(weights.shape[1])).reshape(-1, min(n_high_states(weights.shape[1]), BLOCK))
    kept = jax.lax.map(lambda index: _log_weights(factors, index, unsafe), blocks).reshape(-1, factors.low_states.shape[0])
    log_z = logsumexp(logsumexp(kept, axis=1))
    return log_z, (weights, visible_bias, hidden_bias, log_z, kept)


def _native(weights: Float[Array, "D H"]) -> bool:
    """Whether the compiled kernel can take the sums of the gradient."""
    return weights.dtype == jnp.float64 and weights.shape[1] >= LOW_BITS and native.on()


def _backward(saved: Saved, cotangent: Float[Array, ""]) -> tuple[Array, Array, Array]:
    weights, visible_bias, hidden_bias, log_z, kept = saved
    factors = _factors(weights, visible_bias, hidden_bias)
    unsafe = any_replica(factors.product_could_overflow())
    n_visible, n_hidden = weights.shape
    n_low = factors.low_states.shape[0]

    def one_block(total: tuple[Array, Array], index: Int[Array, " n"]) -> tuple[tuple[Array, Array], None]:
        p = jnp.exp(_log_weights(factors, index, unsafe) - log_z)
        high = factors.high_states(index)
        on = jax.lax.cond(unsafe, _visible_means_by_sigmoid, _visible_means_by_products, factors, factors.high_weights @ high.T)
        states = jnp.concatenate([jnp.tile(factors.low_states, (len(index), 1)), jnp.repeat(high, n_low, axis=0)], 1)
        weighted = p.reshape(-1, 1) * jnp.pad(states, ((0, 0), (0, 1)), constant_values=1)  # (h, 1) p(h)
        visible = on.reshape(on.shape[0], -1) @ weighted  # E[v h'], E[v]
        return (total[0] + visible, total[1] + jnp.sum(weighted, 0)), None

    def one_native_block(total: tuple[Array, Array], index: Int[Array, " n"]) -> tuple[tuple[Array, Array], None]:
        p = jnp.exp((_log_weights(factors, index, unsafe) if kept is None else kept[index]) - log_z)
        high = factors.high_states(index)
        by_high, by_low = native.expectations(jnp.exp(factors.low_logits), jnp.exp(factors.high_weights @ high.T), p)
        visible = jnp.concatenate([by_low @ factors.low_states, by_high @ high, jnp.sum(by_high, 1, keepdims=True)], 1)
        hidden = jnp.concatenate([jnp.sum(p, 0) @ factors.low_states, jnp.sum(p, 1) @ high, jnp.sum(p)[None]])
        return (total[0] + visible, total[1] + hidden), None

    def sums(one_block: Callable[..., tuple[tuple[Array, Array], None]], size: int) -> tuple[Array, Array]:
        return jax.lax.scan(one_block, start, indices.reshape(-1, min(len(indices), size)))[0]

    indices = jnp.arange(n_high_states(n_hidden))
    start = (jnp.zeros((factors.low_logits.shape[0], n_hidden + 1), weights.dtype), jnp.zeros(n_hidden + 1, weights.dtype))
    if _native(weights):
        visible, hidden = jax.lax.cond(unsafe, lambda: sums(one_block, GRADIENT_BLOCK), lambda: sums(one_native_block, NATIVE_BLOCK))
    else:
        visible, hidden = sums(one_block, GRADIENT_BLOCK)
    visible = cotangent * visible[:n_visible]
    return visible[:, :-1], visible[:, -1], cotangent * hidden[:-1]


log_partition.defvjp(_forward, _backward)
