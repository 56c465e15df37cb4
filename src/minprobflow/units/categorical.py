"""Categories: units with several values, none of which is larger than another (letters, colours, amino acids)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import logsumexp
from jaxtyping import Array, Float, Int, Key, UInt8

from ..arguments import whole
from ..errors import InputError
from ..random_bits import categorical
from ..tables import refuse_first, refuse_missing, table
from .base import Discrete
from .layer import DiscreteLayer, LinearLayer, Temperature, parameter


@dataclass(frozen=True)
class Categories(Discrete):
    """All vectors of length `size` whose units have the values 0, 1, ..., `n_values` - 1 (letters, colours, amino acids).

    >>> Categories(3, 21).n_states
    9261
    """

    size: int  # the number of units
    n_values: int  # of each unit

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "n_values", whole("n_values", self.n_values, 2, 256, hint="the values of a unit fit into a byte"))

    @property
    def feature_shape(self) -> tuple[int, ...]:
        return (self.size, self.n_values)

    @property
    def neighbours(self) -> tuple[int, ...]:
        return (self.size, self.n_values - 1)

    def states(self, index: Int[Array, " n"]) -> Float[Array, "n size"]:
        digits, rest = [], index
        for _ in range(self.size):  # not index // n_values**i: the power may not fit where the index does
            digits.append(rest % self.n_values)
            rest = rest // self.n_values
        return jnp.stack(digits, axis=1).astype(jnp.float32)

    def site_states(self, v: Float[Array, "*batch size"], site: Int[Array, ""]) -> Float[Array, "values *batch size"]:
        values = jnp.arange(self.n_values, dtype=v.dtype)
        return jax.vmap(v.at[..., site].set)(values)

    def others(self, v: Float[Array, "*batch size"], site: Int[Array, ""]) -> Float[Array, "others *batch size"]:
        numbers = site * (self.n_values - 1) + jnp.arange(self.n_values - 1, dtype=site.dtype)
        return jax.vmap(lambda number: self.neighbour(v, number))(numbers)

    def neighbour(self, v: Float[Array, "*batch size"], number: Int[Array, ""]) -> Float[Array, "*batch size"]:
        site, value = number // (self.n_values - 1), (number % (self.n_values - 1)).astype(v.dtype)
        return v.at[..., site].set(jnp.where(value < v[..., site], value, value + 1))

    def not_own(self, table: Float[Array, "*batch size values"], v: Float[Array, "*batch size"]) -> Float[Array, "*batch size others"]:
        """A table over all values of each unit without the entry of the value it has: in the order of `others`."""
        values = jnp.arange(self.n_values - 1, dtype=v.dtype).reshape((1,) * v.ndim + (-1,))
        return jnp.where(values < v[..., None], table[..., :-1], table[..., 1:])

    def noise(self, key: Key[Array, ""], n: int) -> Float[Array, "n size"]:
        return jax.random.randint(key, (n, self.size), 0, self.n_values).astype(float)

    def random_rows(self, rng: np.random.Generator, n: int) -> UInt8[np.ndarray, "n size"]:
        return rng.integers(self.n_values, size=(n, self.size)).astype(np.uint8)

    def features(self, v: Float[Array, "*batch size"]) -> Float[Array, "*batch size *values"]:
        """One-hot."""
        values = jnp.arange(self.n_values, dtype=v.dtype).reshape((1,) * v.ndim + (-1,))
        return (v[..., None] == values).astype(v.dtype)

    def log_norm(self, logits: Float[Array, "*batch size *values"]) -> Float[Array, "*batch"]:
        return jnp.sum(logsumexp(logits, axis=-1), -1)

    def sample(self, key: Key[Array, ""], logits: Float[Array, "*batch size *values"]) -> Float[Array, "*batch size"]:
        return categorical(key, logits)

    def logits(self, means: Float[Array, " size *values"]) -> Float[Array, " size *values"]:
        """In the gauge where they sum to zero over a unit's values."""
        logits = jnp.log(means)
        return logits - jnp.mean(logits, -1, keepdims=True)

    def even_means(self) -> Float[Array, " size *values"]:
        return jnp.full((self.size, self.n_values), 1 / self.n_values)

    def mean_features(self, rows: UInt8[np.ndarray, "n size"], pseudocount: float = 1.0) -> Float[np.ndarray, " size *values"]:
        counts = np.stack([np.bincount(column, minlength=self.n_values) for column in rows.T])
        return (counts + pseudocount) / (len(rows) + self.n_values * pseudocount)

    def mistakes(self, logits: Float[Array, "*batch size *values"], v: Float[Array, "*batch size"]) -> Float[Array, "*batch size"]:
        return 1 - jnp.sum(self.features(v) * jax.nn.softmax(logits), -1)

    def best_guess(self, means: Float[np.ndarray, "*batch size *values"]) -> Float[np.ndarray, "*batch size"]:
        """The most frequent value."""
        return np.argmax(means, -1).astype(means.dtype)

    def layer(self, data: object = None, tau: float = 1.0) -> Categorical:
        if data is None:
            return Categorical(np.zeros((self.size, self.n_values), np.float32))
        return Categorical(tau * self.logits(jnp.asarray(self.mean_features(self.check(data), pseudocount=0.5), float)))

    def _rows(self, data: object, name: str) -> UInt8[np.ndarray, "n width"]:
        array = table(data, name, "whole numbers from 0")
        refuse_missing(array, name)
        wrong = (array < 0) | (array >= self.n_values) | (array != np.floor(array))
        refuse_first(
            wrong,
            array,
            name,
            f", but the values go from 0 to {self.n_values - 1}: number them from 0, or build the model with more values",
        )
        return array.astype(np.uint8)


class Categorical(LinearLayer, DiscreteLayer):
    r"""Units with the values 0, ..., q - 1: $E(x) = -\sum_i b_i(x_i)$, with one-hot features.

    The cumulant is $\sum_i \log \sum_a \exp((b_i(a) + \phi_i(a))/\tau)$.

    Args:
        bias: b, shape (n, q).

    >>> Categorical([[0.0, 1.0, 2.0]]).energy(jnp.asarray([2.0]))
    Array(-2., dtype=float32)
    """

    kind: ClassVar[str] = "categorical"
    unit_steps: ClassVar[bool] = True

    bias: Float[Array, "*replicas n q"]

    def __init__(self, bias: object):
        self.bias = parameter(bias, "bias", 2, "Categorical")
        if self.bias.shape[1] < 2:
            raise InputError(f"bias of Categorical units has shape {self.bias.shape}: a unit needs at least two values")

    @property
    def space(self) -> Categories:
        return Categories(*self.bias.shape[-2:])

    def mean(self, fields: Float[Array, "*batch F"], tau: Temperature) -> Float[Array, "*batch n q"]:
        return jax.nn.softmax(self.logits(fields, tau))

    def own_field(self, weights: Float[Array, "D F"], slopes: Float[Array, " D"], means: Float[Array, " F"]) -> Float[Array, " F"]:
        of_unit = weights.reshape(-1, *self.feature_shape)
        at_mean = jnp.einsum("iha,ha->ih", of_unit, means.reshape(self.feature_shape))
        return jnp.einsum("iha,iha,i->ha", of_unit, of_unit / 2 - at_mean[:, :, None], slopes).reshape(-1)  # one feature of a unit is 1

    def changes(self, x: Float[Array, " size"], weights: Float[Array, "F G"]) -> tuple[Array, Array]:
        of_value = weights.reshape(*self.feature_shape, -1)
        own = jnp.einsum("ia,iag->ig", self.space.features(x), of_value)
        below = (jnp.arange(self.space.n_values - 1, dtype=x.dtype)[None] < x[:, None])[..., None]
        fields = jnp.where(below, of_value[:, :-1], of_value[:, 1:]) - own[:, None]
        bias = jnp.sum(self.space.features(x) * self.bias, -1, keepdims=True)
        return bias - self.space.not_own(self.bias, x), fields
