"""Bits: units of 0 and 1."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key, UInt8

from ..errors import InputError
from ..numerics import logit, sum_softplus, sum_softplus_difference
from ..random_bits import bernoulli
from ..tables import refuse_missing, table
from .base import TwoValued
from .layer import DiscreteLayer, LinearLayer, Temperature, parameter


@dataclass(frozen=True)
class Binary(TwoValued):
    """All 0/1 vectors of length `size`.

    >>> Binary(6).n_states
    64
    """

    size: int  # the number of units
    n_values: int = field(default=2, init=False, repr=False)
    values: ClassVar[tuple[float, float]] = (0.0, 1.0)

    def random_rows(self, rng: np.random.Generator, n: int) -> UInt8[np.ndarray, "n size"]:
        return rng.integers(2, size=(n, self.size)).astype(np.uint8)

    def log_norm(self, logits: Float[Array, "*batch size *values"]) -> Float[Array, "*batch"]:
        return jnp.sum(jax.nn.softplus(logits), -1)

    def log_norm_difference(self, a: Float[Array, "*batch size"], b: Float[Array, "*batch size"]) -> Float[Array, "*batch"]:
        return sum_softplus_difference(a, b)

    def sample(self, key: Key[Array, ""], logits: Float[Array, "*batch size *values"]) -> Float[Array, "*batch size"]:
        return bernoulli(key, logits)

    def logits(self, means: Float[Array, " size *values"]) -> Float[Array, " size *values"]:
        return logit(means)

    def mean_features(self, rows: UInt8[np.ndarray, "n size"], pseudocount: float = 1.0) -> Float[np.ndarray, " size *values"]:
        return (rows.sum(0) + pseudocount) / (len(rows) + 2 * pseudocount)

    def mistakes(self, logits: Float[Array, "*batch size *values"], v: Float[Array, "*batch size"]) -> Float[Array, "*batch size"]:
        return jnp.abs(v - jax.nn.sigmoid(logits))

    def layer(self, data: object = None, tau: float = 1.0) -> Bernoulli:
        if data is None:
            return Bernoulli(np.zeros(self.size, np.float32))
        return Bernoulli(tau * logit(self.mean_features(self.check(data), 0.5)))  # half a count keeps constant units finite

    def _from_bits(self, bits: Float[Array, "*batch size"]) -> Float[Array, "*batch size"]:
        return bits

    def _rows(self, data: object, name: str) -> UInt8[np.ndarray, "n width"]:
        return binary_rows(data, name)


class Bernoulli(LinearLayer, DiscreteLayer):
    r"""Units of 0 and 1: $E(x) = -b'x$, with features $x$ and cumulant $\sum_i \mathrm{softplus}((b_i + \phi_i)/\tau)$.

    Args:
        bias: b, shape (n,).

    >>> Bernoulli([0.0, 1.0]).energy(jnp.ones(2))
    Array(-1., dtype=float32)
    """

    kind: ClassVar[str] = "bernoulli"
    unit_steps: ClassVar[bool] = True
    elementwise: ClassVar[bool] = True

    bias: Float[Array, "*replicas n"]

    def __init__(self, bias: object):
        self.bias = parameter(bias, "bias", 1, "Bernoulli")

    @property
    def space(self) -> Binary:
        return Binary(self.bias.shape[-1])

    def cumulant(self, fields: Float[Array, "*batch F"], tau: Temperature) -> Float[Array, "*batch"]:
        return sum_softplus(self.logits(fields, tau))

    def mean(self, fields: Float[Array, "*batch F"], tau: Temperature) -> Float[Array, "*batch F"]:
        return jax.nn.sigmoid(self.logits(fields, tau))

    def own_field(self, weights: Float[Array, "D F"], slopes: Float[Array, " D"], means: Float[Array, " F"]) -> Float[Array, " F"]:
        return (0.5 - means) * jnp.sum(weights**2 * slopes[:, None], 0)  # x^2 = x

    def changes(self, x: Float[Array, " size"], weights: Float[Array, "F G"]) -> tuple[Array, Array]:
        direction = 1 - 2 * x
        return -direction * self.bias, direction[:, None] * weights


def binary_rows(data: object, name: str = "data") -> UInt8[np.ndarray, "n width"]:
    """Return any 0/1 table (bool, integer or float) as uint8 rows, or raise `InputError`."""
    array = table(data, name, "numbers 0 and 1")
    refuse_missing(array, name)
    wrong = (array != 0) & (array != 1)
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        value = array[row, column]
        remedy = (
            "turn -1/+1 into 0/1 with (x + 1) / 2, or use spins (mpf.SpinRBM)"
            if set(np.unique(array)) <= {-1, 1}
            else "threshold it first, for example x > x.max() / 2"
        )
        raise InputError(f"{name} must be binary (0 or 1) but has {value} at row {row}, column {column}: {remedy}")
    return array.astype(np.uint8)
