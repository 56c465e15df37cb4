"""State spaces: which vectors a layer or a model is defined over, their neighbours and their enumeration.

States travel as floating arrays of width `size`. A space is a unit type without its parameters: static and hashable.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key, Num

from ..arguments import whole
from ..errors import InputError
from ..tables import within_memory

if TYPE_CHECKING:
    from .layer import Layer

MAX_SIZE = 2**24  # units: the number of states can still be written down

RELATIVE_FLOOR = 1e-3
"""least variance of a real unit, as a share of the data's mean variance: its standard deviation stays above 3% of the typical one"""


class Space(ABC):
    """All vectors of `size` units: what rules, samplers and sums ask of it.

    Independent units are an exponential family, log p(v) = logits . features(v) - log_norm(logits), with one logit per feature: the
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

    @property
    def feature_shape(self) -> tuple[int, ...]:
        """The axes of `features`: (size,), or (size, values) where a unit has several."""
        return (self.size,)

    @abstractmethod
    def noise(self, key: Key[Array, ""], n: int) -> Float[Array, "n size"]:
        """Uniformly random states; standard normal where no uniform ones exist."""

    @abstractmethod
    def random_rows(self, rng: np.random.Generator, n: int) -> Num[np.ndarray, "n size"]:
        """What `noise` draws, by numpy."""

    @abstractmethod
    def features(self, v: Float[Array, "*batch size"]) -> Float[Array, "*batch size *values"]:
        """What the logits of independent units are multiplied with: log p(v) = logits . features(v) - log_norm(logits)."""

    @abstractmethod
    def log_norm(self, logits: Float[Array, "*batch size *values"]) -> Float[Array, "*batch"]:
        """log Z of independent units."""

    def log_norm_difference(self, a: Float[Array, "*batch size *values"], b: Float[Array, "*batch size *values"]) -> Float[Array, "*batch"]:
        """log_norm(a) - log_norm(b)."""
        return self.log_norm(a) - self.log_norm(b)

    @abstractmethod
    def sample(self, key: Key[Array, ""], logits: Float[Array, "*batch size *values"]) -> Float[Array, "*batch size"]:
        """States of independent units with these logits."""

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
        """One number per unit from the means of its features."""

    @abstractmethod
    def layer(self, data: object = None, tau: float = 1.0) -> Layer:
        """A layer of an RBM over this space: independent units at temperature `tau` that fit `data`, or even ones."""

    def check(self, data: object, name: str = "data") -> Num[np.ndarray, "n size"]:
        """Return `data` as rows of `dtype`, or say what is wrong with it and how to fix it."""
        with within_memory(name, f"pass fewer rows, as {np.dtype(self.dtype)}, which takes the least memory"):
            rows = self._rows(data, name)
        if rows.shape[1] != self.size:
            raise InputError(
                f"{name} has {rows.shape[1]} columns but the model has {self.size} visible units: "
                f"pass rows of width {self.size}, or build the model with n_visible={rows.shape[1]}"
            )
        return rows

    @abstractmethod
    def _rows(self, data: object, name: str) -> Num[np.ndarray, "n width"]:
        """`data` as rows of `dtype` whose values the units can have, of any width."""


class Discrete(Space):
    """All vectors of `size` units, each with `n_values` values: they can be counted, and have neighbours."""

    n_values: int
    dtype: ClassVar[type[np.generic]] = np.uint8

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

    def only_present(self, log_weights: Float[Array, "values ..."], site: Int[Array, ""]) -> Float[Array, "values ..."]:
        """log-weights of `site_states` or `others`, with -inf where this unit has fewer values than the layout has room for."""
        return log_weights

    def missing(self) -> np.ndarray | None:
        """Where the layout of `neighbours` has no state (`neighbour` gives `v` there); None if it has one everywhere."""
        return None


class TwoValued(Discrete):
    """Units with two values, and one feature: the value itself."""

    values: ClassVar[tuple[float, float]]

    @property
    def neighbours(self) -> tuple[int, ...]:
        return (self.size,)

    def states(self, index: Int[Array, " n"]) -> Float[Array, "n size"]:
        bits = index[:, None] >> jnp.arange(self.size, dtype=index.dtype)[None]
        return self._from_bits((bits & 1).astype(jnp.float32))

    def site_states(self, v: Float[Array, "*batch size"], site: Int[Array, ""]) -> Float[Array, "values *batch size"]:
        return jnp.stack([v.at[..., site].set(value) for value in self.values])

    def flip(self, v: Float[Array, "*batch size"], site: Int[Array, ""]) -> Float[Array, "*batch size"]:
        """`v` with one unit changed."""
        return v.at[..., site].set(sum(self.values) - v[..., site])

    def others(self, v: Float[Array, "*batch size"], site: Int[Array, ""]) -> Float[Array, "others *batch size"]:
        return self.flip(v, site)[None]

    def neighbour(self, v: Float[Array, "*batch size"], number: Int[Array, ""]) -> Float[Array, "*batch size"]:
        return self.flip(v, number)

    def noise(self, key: Key[Array, ""], n: int) -> Float[Array, "n size"]:
        return self._from_bits(jax.random.bernoulli(key, shape=(n, self.size)).astype(float))

    def features(self, v: Float[Array, "*batch size"]) -> Float[Array, "*batch size *values"]:
        return v

    def even_means(self) -> Float[Array, " size *values"]:
        return jnp.full(self.size, sum(self.values) / 2)

    def best_guess(self, means: Float[np.ndarray, "*batch size *values"]) -> Float[np.ndarray, "*batch size"]:
        """The mean: of bits, the probability of being 1."""
        return means

    @abstractmethod
    def _from_bits(self, bits: Float[Array, "*batch size"]) -> Float[Array, "*batch size"]:
        """States from 0 and 1."""


def discrete(space: Space, what: str) -> Discrete:
    """The space, if `what` can be done over it; else a refusal."""
    if isinstance(space, Discrete):
        return space
    raise InputError(
        f"{what} needs units with a few values each, but these are real numbers: no state is one flip away, and none can be listed. "
        "Train with cd, pcd, fmpf, pmpf or fpmpf, sample with block_gibbs, evaluate by ais (or exact, up to 25 hidden units)"
    )
