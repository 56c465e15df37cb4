"""State spaces: which vectors a model is defined over, their neighbours and their enumeration.

States travel as floating arrays of width `size`. Units with countable values hold 0, 1, ..., `n_values` - 1 and their data are
uint8; real units hold any number and their data are float32.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import logsumexp
from jaxtyping import Array, Float, Int, Key, Num, UInt8

from .arguments import whole
from .errors import InputError
from .tables import refuse_first, refuse_missing, table, within_memory

MAX_SIZE = 2**24  # units: the number of states can still be written down

RELATIVE_FLOOR = 1e-3
"""least variance of a real unit, as a share of the data's mean variance: its standard deviation stays above 3% of the typical one"""


class Space(ABC):
    """All vectors of `size` units: what rules, samplers and sums ask of it.

    Independent units are an exponential family, log p(v) = logits . features(v) - log_norm(logits), with one logit a feature: the
    trailing `*values` axis, which is missing where a unit has one.
    """

    size: int
    dtype: ClassVar[type[np.generic]]  # of rows of data

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", whole("size", self.size, 1, MAX_SIZE, hint="it is the number of units"))

    @property
    @abstractmethod
    def n_states(self) -> int | float:
        """How many states there are; infinite for real units."""

    @abstractmethod
    def noise(self, key: Key[Array, ""], n: int) -> Float[Array, "n size"]:
        """Uniformly random states; standard normal where no uniform ones exist."""

    @abstractmethod
    def features(self, v: Float[Array, "*batch size"]) -> Float[Array, "*batch size *values"]:
        """What the logits of independent units are multiplied with: log p(v) = logits . features(v) - log_norm(logits)."""

    @abstractmethod
    def log_norm(self, logits: Float[Array, "*batch size *values"]) -> Float[Array, "*batch"]:
        """log Z of independent units."""

    @abstractmethod
    def logits(self, means: Float[Array, " size *values"]) -> Float[Array, " size *values"]:
        """Logits of independent units whose features have these means."""

    @abstractmethod
    def even_means(self) -> Float[Array, " size *values"]:
        """The means of features of `noise`."""

    @abstractmethod
    def mean_features(self, rows: Num[np.ndarray, "n size"], pseudocount: float = 1.0) -> Float[np.ndarray, " size *values"]:
        """The means of features over `rows` to which every value was added `pseudocount` times (real ones: just over `rows`)."""

    def fitted_logits(self, rows: Num[np.ndarray, "n size"]) -> Float[Array, " size *values"]:
        """Logits of independent units fitted to `rows`: the most likely ones, kept away from what no row can rule out."""
        return self.logits(jnp.asarray(self.mean_features(rows)))

    @abstractmethod
    def mistakes(self, logits: Float[Array, "*batch size *values"], v: Float[Array, "*batch size"]) -> Float[Array, "*batch size"]:
        """The probability that a unit drawn with these logits differs from that of `v`; of real ones, how far the mean is from `v`."""

    @abstractmethod
    def best_guess(self, means: Float[np.ndarray, "*batch size *values"]) -> Float[np.ndarray, "*batch size"]:
        """One number a unit from the means of its features."""

    def check(self, data: Any, name: str = "data") -> Num[np.ndarray, "n size"]:
        """Return `data` as rows of `dtype`, or say what is wrong with it and how to fix it."""
        with within_memory(name, f"pass fewer rows, as {np.dtype(self.dtype)}, which takes the least memory"):
            return _of_width(self._rows(data, name), self.size, name)

    @abstractmethod
    def _rows(self, data: Any, name: str) -> Num[np.ndarray, "n width"]:
        """`data` as rows of `dtype` whose values the units can have, of any width."""


class Discrete(Space):
    """All vectors of `size` units, each with `n_values` values: they can be counted, and have neighbours."""

    n_values: int
    dtype = np.uint8

    @property
    def n_states(self) -> int:
        """n_values^size."""
        return self.n_values**self.size

    @property
    @abstractmethod
    def neighbours(self) -> tuple[int, ...]:
        """How many states are one change away, laid out by unit, then by other value."""

    @abstractmethod
    def states(self, index: Int[Array, " n"]) -> Float[Array, "n size"]:
        """The states with these numbers in the enumeration: the digits of the number, unit 0 the lowest."""

    @abstractmethod
    def site_states(self, v: Float[Array, "*batch size"], site: Int[Array, ""]) -> Float[Array, "values *batch size"]:
        """`v` with one unit set to each value it can take, along a new leading axis."""

    @abstractmethod
    def others(self, v: Float[Array, "*batch size"], site: Int[Array, ""]) -> Float[Array, "others *batch size"]:
        """`v` with one unit set to each value it does not have, in rising order, along a new leading axis."""

    @abstractmethod
    def neighbour(self, v: Float[Array, "*batch size"], number: Int[Array, ""]) -> Float[Array, "*batch size"]:
        """`v` after one change, by its number in the layout of `neighbours`."""


def discrete(space: Space, what: str) -> Discrete:
    """The space, if `what` can be done over it; else a refusal."""
    if isinstance(space, Discrete):
        return space
    raise InputError(
        f"{what} needs units with a few values each, but these are real numbers: no state is one flip away, and none can be listed. "
        "Train with cd, pcd, fmpf, pmpf or fpmpf, sample with block_gibbs, judge by ais (or exact, up to 25 hidden units)"
    )


@dataclass(frozen=True)
class Binary(Discrete):
    """All 0/1 vectors of length `size`."""

    size: int
    n_values: int = field(default=2, init=False, repr=False)

    @property
    def neighbours(self) -> tuple[int, ...]:
        return (self.size,)

    def states(self, index: Int[Array, " n"]) -> Float[Array, "n size"]:
        bits = index[:, None] >> jnp.arange(self.size, dtype=index.dtype)[None]
        return (bits & 1).astype(jnp.float32)

    def site_states(self, v: Float[Array, "*batch size"], site: Int[Array, ""]) -> Float[Array, "values *batch size"]:
        return jnp.stack([v.at[..., site].set(value) for value in (0.0, 1.0)])

    def flip(self, v: Float[Array, "*batch size"], site: Int[Array, ""]) -> Float[Array, "*batch size"]:
        """`v` with one unit changed."""
        return v.at[..., site].set(1 - v[..., site])

    def others(self, v: Float[Array, "*batch size"], site: Int[Array, ""]) -> Float[Array, "others *batch size"]:
        return self.flip(v, site)[None]

    def neighbour(self, v: Float[Array, "*batch size"], number: Int[Array, ""]) -> Float[Array, "*batch size"]:
        return self.flip(v, number)

    def noise(self, key: Key[Array, ""], n: int) -> Float[Array, "n size"]:
        return jax.random.bernoulli(key, shape=(n, self.size)).astype(float)

    def features(self, v: Float[Array, "*batch size"]) -> Float[Array, "*batch size *values"]:
        return v

    def log_norm(self, logits: Float[Array, "*batch size *values"]) -> Float[Array, "*batch"]:
        return jnp.sum(jax.nn.softplus(logits), -1)

    def logits(self, means: Float[Array, " size *values"]) -> Float[Array, " size *values"]:
        return jnp.log(means) - jnp.log1p(-means)

    def even_means(self) -> Float[Array, " size *values"]:
        return jnp.full(self.size, 0.5)

    def mean_features(self, rows: UInt8[np.ndarray, "n size"], pseudocount: float = 1.0) -> Float[np.ndarray, " size *values"]:
        return (rows.sum(0) + pseudocount) / (len(rows) + 2 * pseudocount)

    def mistakes(self, logits: Float[Array, "*batch size *values"], v: Float[Array, "*batch size"]) -> Float[Array, "*batch size"]:
        return jnp.abs(v - jax.nn.sigmoid(logits))

    def best_guess(self, means: Float[np.ndarray, "*batch size *values"]) -> Float[np.ndarray, "*batch size"]:
        """The probability of being 1."""
        return means

    def _rows(self, data: Any, name: str) -> UInt8[np.ndarray, "n width"]:
        return binary_rows(data, name)


@dataclass(frozen=True)
class Categorical(Discrete):
    """All vectors of length `size` whose units have the values 0, 1, ..., `n_values` - 1 (letters, colours, amino acids).

    >>> Categorical(3, 21).n_states
    9261
    """

    size: int
    n_values: int

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "n_values", whole("n_values", self.n_values, 2, 256, hint="the values of a unit fit into a byte"))

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

    def features(self, v: Float[Array, "*batch size"]) -> Float[Array, "*batch size *values"]:
        """One-hot."""
        values = jnp.arange(self.n_values, dtype=v.dtype).reshape((1,) * v.ndim + (-1,))
        return (v[..., None] == values).astype(v.dtype)

    def log_norm(self, logits: Float[Array, "*batch size *values"]) -> Float[Array, "*batch"]:
        return jnp.sum(logsumexp(logits, axis=-1), -1)

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

    def _rows(self, data: Any, name: str) -> UInt8[np.ndarray, "n width"]:
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


@dataclass(frozen=True)
class Real(Space):
    """All vectors of `size` real numbers.

    Independent units are Gaussian. With the features (v, v^2) a unit with mean m and variance s has the logits (m/s, -1/(2s)).

    >>> Real(3).check([[0, 0.5, -2]]).dtype
    dtype('float32')
    """

    size: int
    dtype = np.float32

    @property
    def n_states(self) -> float:
        return math.inf

    def noise(self, key: Key[Array, ""], n: int) -> Float[Array, "n size"]:
        """Standard normal numbers: there are no uniform ones."""
        return jax.random.normal(key, (n, self.size))

    def features(self, v: Float[Array, "*batch size"]) -> Float[Array, "*batch size *values"]:
        """(v, v^2)."""
        return jnp.stack([v, v**2], axis=-1)

    def log_norm(self, logits: Float[Array, "*batch size *values"]) -> Float[Array, "*batch"]:
        mean, variance = self.moments(logits)
        return jnp.sum(mean**2 / (2 * variance) + jnp.log(2 * jnp.pi * variance) / 2, -1)

    def logits(self, means: Float[Array, " size *values"]) -> Float[Array, " size *values"]:
        return self.logits_of_moments(*self.mean_and_variance(means))

    def logits_of_moments(self, mean: Float[Array, "*batch size"], variance: Float[Array, "*batch size"]) -> Float[Array, "*batch size 2"]:
        """Logits of units with these means and variances."""
        return jnp.stack([mean / variance, -1 / (2 * variance)], axis=-1)

    def moments(self, logits: Float[Array, "*batch size 2"]) -> tuple[Array, Array]:
        """Mean and variance of units with these logits."""
        variance = -1 / (2 * logits[..., 1])
        return logits[..., 0] * variance, variance

    def mean_and_variance(self, means: Float[Array, "*batch size 2"]) -> tuple[Array, Array]:
        """Mean and variance of units whose features have these means; single precision cannot tell smaller variances from rounding."""
        first, second = means[..., 0], means[..., 1]
        return first, jnp.maximum(second - first**2, 4e-6 * second)

    def even_means(self) -> Float[Array, " size *values"]:
        return jnp.stack([jnp.zeros(self.size), jnp.ones(self.size)], axis=-1)

    def mean_features(self, rows: Num[np.ndarray, "n size"], pseudocount: float = 1.0) -> Float[np.ndarray, " size *values"]:
        return np.stack([rows.mean(0, np.float64), np.square(rows, dtype=np.float64).mean(0)], axis=-1)

    def fitted_logits(self, rows: Num[np.ndarray, "n size"]) -> Float[Array, " size *values"]:
        """No variance is below a thousandth of their mean: a constant column would have an infinite density."""
        variance = rows.var(0, dtype=np.float64)
        floored = np.maximum(variance, RELATIVE_FLOOR * variance.mean())
        return self.logits_of_moments(jnp.asarray(rows.mean(0, np.float64)), jnp.asarray(floored))

    def mistakes(self, logits: Float[Array, "*batch size *values"], v: Float[Array, "*batch size"]) -> Float[Array, "*batch size"]:
        return jnp.abs(v - self.moments(logits)[0])

    def best_guess(self, means: Float[np.ndarray, "*batch size *values"]) -> Float[np.ndarray, "*batch size"]:
        """The mean."""
        return means[..., 0]

    def _rows(self, data: Any, name: str) -> Float[np.ndarray, "n width"]:
        array = table(data, name, "numbers")
        refuse_missing(array, name)
        wrong = np.abs(array) > 1e18  # whose squares single precision does not hold
        refuse_first(
            wrong, array, name, ": drop that row, or standardise the columns with (x - x.mean(0)) / x.std(0) if numbers are that large"
        )
        return array.astype(np.float32)


def binary_rows(data: Any, name: str = "data") -> UInt8[np.ndarray, "n width"]:
    """Return any 0/1 table (bool, integer or float) as uint8 rows, or raise `InputError`."""
    array = table(data, name, "numbers 0 and 1")
    refuse_missing(array, name)
    wrong = (array != 0) & (array != 1)
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        value = array[row, column]
        remedy = (
            "turn -1/+1 into 0/1 with (x + 1) / 2"
            if set(np.unique(array)) <= {-1, 1}
            else "threshold it first, for example x > x.max() / 2"
        )
        raise InputError(f"{name} must be binary (0 or 1) but has {value} at row {row}, column {column}: {remedy}")
    return array.astype(np.uint8)


def _of_width(array: Num[np.ndarray, "n width"], size: int, name: str) -> Num[np.ndarray, "n width"]:
    if array.shape[1] != size:
        raise InputError(
            f"{name} has {array.shape[1]} columns but the model has {size} visible units: "
            f"pass rows of width {size}, or build the model with n_visible={array.shape[1]}"
        )
    return array
