"""Spins: units of -1 and +1."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int8, Key, PyTree

from ..numerics import sum_softplus, sum_softplus_difference
from ..random_bits import bernoulli
from ..tables import refuse_first, refuse_missing, table
from .base import TwoValued
from .layer import DiscreteLayer, LinearLayer, Temperature, parameter


@dataclass(frozen=True)
class Signs(TwoValued):
    """All vectors of -1 and +1 of length `size`.

    >>> Signs(2).states(jnp.arange(4)).tolist()
    [[-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0], [1.0, 1.0]]
    """

    size: int  # the number of units
    n_values: int = field(default=2, init=False, repr=False)
    values: ClassVar[tuple[float, float]] = (-1.0, 1.0)
    dtype = np.int8

    def random_rows(self, rng: np.random.Generator, n: int) -> Int8[np.ndarray, "n size"]:
        return (2 * rng.integers(2, size=(n, self.size)) - 1).astype(np.int8)

    def log_norm(self, logits: Float[Array, "*batch size *values"]) -> Float[Array, "*batch"]:
        """Sum of log(2 cosh(logits)) = |x| + log(1 + exp(-2|x|))."""
        return sum_softplus(2 * logits) - jnp.sum(logits, -1)

    def log_norm_difference(self, a: Float[Array, "*batch size"], b: Float[Array, "*batch size"]) -> Float[Array, "*batch"]:
        return sum_softplus_difference(2 * a, 2 * b) - jnp.sum(a - b, -1)

    def sample(self, key: Key[Array, ""], logits: Float[Array, "*batch size *values"]) -> Float[Array, "*batch size"]:
        return 2 * bernoulli(key, 2 * logits) - 1

    def logits(self, means: Float[Array, " size *values"]) -> Float[Array, " size *values"]:
        return (jnp.log1p(means) - jnp.log1p(-means)) / 2

    def mean_features(self, rows: Int8[np.ndarray, "n size"], pseudocount: float = 1.0) -> Float[np.ndarray, " size *values"]:
        return rows.sum(0) / (len(rows) + 2 * pseudocount)

    def mistakes(self, logits: Float[Array, "*batch size *values"], v: Float[Array, "*batch size"]) -> Float[Array, "*batch size"]:
        return jax.nn.sigmoid(-2 * v * logits)

    def layer(self, data: object = None, tau: float = 1.0) -> Spin:
        if data is None:
            return Spin(np.zeros(self.size, np.float32))
        return Spin(tau * self.logits(jnp.asarray(self.mean_features(self.check(data), 0.5), float)))

    def _from_bits(self, bits: Float[Array, "*batch size"]) -> Float[Array, "*batch size"]:
        return 2 * bits - 1

    def _rows(self, data: object, name: str) -> Int8[np.ndarray, "n width"]:
        array = table(data, name, "numbers -1 and +1")
        refuse_missing(array, name)
        signed = array.astype(np.float64) if array.dtype.kind in "bu" else array
        remedy = "turn 0/1 into -1/+1 with 2 * x - 1, or use bits (mpf.BernoulliRBM)"
        remedy = remedy if set(np.unique(signed)) <= {0, 1} else "threshold it first, for example np.where(x > x.mean(), 1, -1)"
        refuse_first(np.abs(signed) != 1, signed, name, f", but spins are -1 or +1: {remedy}")
        return signed.astype(np.int8)


class Spin(LinearLayer, DiscreteLayer):
    r"""Units of -1 and +1: $E(x) = -b'x$, with features $x$ and cumulant $\sum_i \log 2\cosh((b_i + \phi_i)/\tau)$.

    Args:
        bias: b, shape (n,).

    >>> round(float(Spin([0.0]).cumulant(jnp.zeros(1), 1.0)), 4)  # log 2
    0.6931
    """

    kind: ClassVar[str] = "spin"
    elementwise: ClassVar[bool] = True

    bias: Float[Array, "*replicas n"]

    def __init__(self, bias: object):
        self.bias = parameter(bias, "bias", 1, "Spin")

    @property
    def space(self) -> Signs:
        return Signs(self.bias.shape[-1])

    def mean(self, fields: Float[Array, "*batch F"], tau: Temperature) -> Float[Array, "*batch F"]:
        return jnp.tanh(self.logits(fields, tau))

    def own_field(self, weights: Float[Array, "D F"], slopes: Float[Array, " D"], means: Float[Array, " F"]) -> Float[Array, " F"]:
        return -means * jnp.sum(weights**2 * slopes[:, None], 0)  # x^2 = 1 adds nothing

    def stride(self, spread: PyTree[Array], tau: Temperature) -> Float[Array, " F"]:
        """A spin varies twice as much as a bit: with this, spins and bits take the same steps."""
        return jnp.full_like(self.bias, 0.25)

    def precondition(self: Spin, gradient: Spin, spread: PyTree[Array], tau: Temperature) -> Spin:
        return gradient.with_bias(0.25 * gradient.bias)

    def changes(self, x: Float[Array, " size"], weights: Float[Array, "F G"]) -> tuple[Array, Array]:
        direction = -2 * x
        return -direction * self.bias, direction[:, None] * weights
