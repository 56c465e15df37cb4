"""Real units, Gaussian in any field, with a learned variance each."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key, Num

from ..arguments import number
from ..errors import InputError
from ..numerics import along
from ..random_bits import normal
from ..tables import refuse_first, refuse_missing, table
from .base import RELATIVE_FLOOR, Space
from .layer import Layer, Temperature, parameter

N = TypeVar("N", bound="NormalLayer")


@dataclass(frozen=True)
class Real(Space):
    """All vectors of `size` real numbers.

    Independent units are Gaussian. With the features (v, v^2) a unit with mean m and variance s has the logits (m/s, -1/(2s)).

    >>> Real(3).check([[0, 0.5, -2]]).dtype
    dtype('float32')
    """

    size: int  # the number of units
    dtype = np.float32

    @property
    def n_states(self) -> float:
        return math.inf

    @property
    def feature_shape(self) -> tuple[int, ...]:
        return (self.size, 2)

    def noise(self, key: Key[Array, ""], n: int) -> Float[Array, "n size"]:
        """Standard normal numbers: there are no uniform ones."""
        return jax.random.normal(key, (n, self.size))

    def random_rows(self, rng: np.random.Generator, n: int) -> Float[np.ndarray, "n size"]:
        return rng.normal(size=(n, self.size)).astype(np.float32)

    def features(self, v: Float[Array, "*batch size"]) -> Float[Array, "*batch size *values"]:
        """(v, v^2)."""
        return jnp.stack([v, v**2], axis=-1)

    def log_norm(self, logits: Float[Array, "*batch size *values"]) -> Float[Array, "*batch"]:
        mean, variance = self.moments(logits)
        return jnp.sum(mean**2 / (2 * variance) + jnp.log(2 * jnp.pi * variance) / 2, -1)

    def sample(self, key: Key[Array, ""], logits: Float[Array, "*batch size *values"]) -> Float[Array, "*batch size"]:
        mean, variance = self.moments(logits)
        return mean + jnp.sqrt(variance) * normal(key, mean)

    def logits(self, means: Float[Array, " size *values"]) -> Float[Array, " size *values"]:
        return self.logits_of_moments(*self.mean_and_variance(means))

    def logits_of_moments(self, mean: Float[Array, "*batch size"], variance: Float[Array, "*batch size"]) -> Float[Array, "*batch size 2"]:
        """Logits of Gaussian units with these means and variances (before any truncation)."""
        return jnp.stack([mean / variance, -1 / (2 * variance)], axis=-1)

    def moments(self, logits: Float[Array, "*batch size 2"]) -> tuple[Array, Array]:
        """Mean and variance of units with these logits (before any truncation)."""
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
        mean, variance = rows.mean(0, np.float64), rows.var(0, dtype=np.float64)
        floored = np.maximum(variance, RELATIVE_FLOOR * variance.mean())
        return self._fitted(jnp.asarray(mean), jnp.asarray(floored))

    def mistakes(self, logits: Float[Array, "*batch size *values"], v: Float[Array, "*batch size"]) -> Float[Array, "*batch size"]:
        return jnp.abs(v - self._mean(logits))

    def best_guess(self, means: Float[np.ndarray, "*batch size *values"]) -> Float[np.ndarray, "*batch size"]:
        """The mean."""
        return means[..., 0]

    def layer(self, data: object = None, tau: float = 1.0, min_variance: float | None = None) -> NormalLayer:
        """With `data`, its means and variances (else 0 and 1).

        Args:
            data: rows to fit.
            tau: the temperature of the model.
            min_variance: by default a thousandth of the data's mean variance. Columns in different units: standardise them first.
        """
        mean, variance = np.zeros(self.size), np.full(self.size, 1 / tau)
        if data is not None:
            rows = self.check(data).astype(np.float64)
            mean, variance = rows.mean(0), rows.var(0)
            if not variance.any():
                raise InputError(f"all {len(rows)} rows of the data are equal: pass rows that differ")
            variance = variance / tau
        floor = RELATIVE_FLOOR * float(variance.mean()) if min_variance is None else _floor(min_variance)
        start = np.maximum(variance, 1.1 * floor)
        if not (start > floor).all():
            column = int(np.argmin(start))
            raise InputError(f"column {column} of the data is constant: give min_variance a positive value, or drop the column")
        return self._layer(mean.astype(np.float32), np.log(start - floor).astype(np.float32), floor)

    def _layer(self, bias: Float[np.ndarray, " n"], log_variance: Float[np.ndarray, " n"], floor: float) -> NormalLayer:
        return Gaussian(bias, log_variance, floor)

    def _fitted(self, mean: Float[Array, " size"], variance: Float[Array, " size"]) -> Float[Array, "size 2"]:
        return self.logits_of_moments(mean, variance)

    def _mean(self, logits: Float[Array, "*batch size 2"]) -> Float[Array, "*batch size"]:
        return self.moments(logits)[0]

    def _rows(self, data: object, name: str) -> Float[np.ndarray, "n width"]:
        array = table(data, name, "numbers")
        refuse_missing(array, name)
        wrong = np.abs(array) > 1e18  # whose squares single precision does not hold
        refuse_first(
            wrong, array, name, ": drop that row, or standardise the columns with (x - x.mean(0)) / x.std(0) if numbers are that large"
        )
        return array.astype(np.float32)


class NormalLayer(Layer):
    """What Gaussian units and truncated ones share: a location and a variance each, with weights in the units of x."""

    unbounded: ClassVar[bool] = True

    bias: Float[Array, "*replicas n"]
    log_variance: Float[Array, "*replicas n"]
    min_variance: float = eqx.field(static=True)

    def __init__(self, bias: object, log_variance: object, min_variance: float):
        of = type(self).__name__
        self.bias = parameter(bias, "bias", 1, of)
        self.log_variance = jnp.zeros_like(self.bias) if log_variance is None else parameter(log_variance, "log_variance", 1, of)
        if self.bias.shape != self.log_variance.shape:
            shapes = f"bias {self.bias.shape}, log_variance {self.log_variance.shape}"
            raise InputError(f"{of} shapes do not fit: {shapes}; pass one of each per unit")
        self.min_variance = _floor(min_variance)

    @property
    def variance(self) -> Float[Array, "*replicas n"]:
        """sigma^2."""
        return jnp.exp(self.log_variance) + self.min_variance

    @property
    def feature_shape(self) -> tuple[int, ...]:
        return self.bias.shape[-1:]

    @property
    def flat_bias(self) -> Float[Array, " n"]:
        return self.bias

    @property
    def scale(self) -> Float[Array, " n"]:
        return jnp.sqrt(self.variance)

    def with_bias(self: N, bias: Float[Array, " n"]) -> N:
        return eqx.tree_at(lambda layer: layer.bias, self, bias)

    def with_variance(self: N, variance: Float[Array, " n"]) -> N:
        """The same units with these variances, none below the floor."""
        above = jnp.maximum(variance - self.min_variance, jnp.finfo(variance.dtype).tiny)
        return eqx.tree_at(lambda layer: layer.log_variance, self, jnp.log(above))

    def location(self, fields: Float[Array, "*batch n"]) -> Float[Array, "*batch n"]:
        """The mean in this field (before any truncation): b + fields."""
        return fields + along(self.bias, fields)

    def logits(self, fields: Float[Array, "*batch n"], tau: Temperature) -> Float[Array, "*batch n 2"]:
        location, variance = self.location(fields), self.variance * tau
        return jnp.stack([location / along(variance, location), jnp.broadcast_to(-1 / (2 * variance), location.shape)], axis=-1)

    def rest(self: N) -> N:
        return self

    def own_log_partition(self, tau: Temperature) -> Float[Array, ""]:
        return self.cumulant(jnp.zeros_like(self.bias), tau)

    def blended(self: N, base: N, beta: Float[Array, ""]) -> tuple[N, Float[Array, " n"]]:
        """Precisions, and what they multiply, mixed: every beta has positive variances. Also the variances as a share of the own ones."""
        own, others = beta / self.variance, (1 - beta) / base.variance
        variance = 1 / (own + others)
        bias = self.bias + (others * variance) * (base.bias - self.bias)
        return self.with_variance(variance).with_bias(bias), variance / self.variance

    def advantage(self: N, base: N, x: Float[Array, "*batch n"]) -> Float[Array, "*batch"]:
        return base.energy(x) - self.energy(x)

    def path_gain(
        self: N, base: N, fields: Float[Array, "*batch n"], beta_from: Float[Array, ""], beta_to: Float[Array, ""], tau: Temperature
    ) -> Float[Array, "*batch"]:
        return self.cumulant(beta_to * fields, tau) - self.cumulant(beta_from * fields, tau)

    def spread(self, x: Float[Array, "B n"], fields: Float[Array, " n"], tau: Temperature) -> Float[Array, " n"]:
        return jnp.mean((x - along(self.mean(fields, tau), x)) ** 2, 0)

    def stride(self, spread: Float[Array, " n"] | None, tau: Temperature) -> Float[Array, " n"]:
        return self.variance * self._unexplained(spread, tau)

    def precondition(self: N, gradient: N, spread: Float[Array, " n"] | None, tau: Temperature) -> N:
        """About the inverse of the Fisher information's diagonal: it makes the steps follow the units of the data, and keeps them small
        where the other layer predicts a unit well (plain steps diverge there, as those of Gaussian RBMs are known to)."""
        scaled = self.variance * gradient.bias, self._unexplained(spread, tau) * gradient.log_variance
        return eqx.tree_at(lambda layer: (layer.bias, layer.log_variance), gradient, scaled)

    def _unexplained(self, spread: Float[Array, " n"] | None, tau: Temperature) -> Float[Array, " n"]:
        return jnp.ones_like(self.bias) if spread is None else jnp.minimum(self.variance * tau / spread, 1)


class Gaussian(NormalLayer):
    r"""Real units, Gaussian around $b + \phi$ in a field $\phi$, with variance $\sigma^2\tau$.

    .. math::
        E(x) = \sum_i \frac{(x_i - b_i)^2}{2\sigma_i^2}, \qquad f_i(x) = \frac{x_i - b_i}{\sigma_i^2}, \qquad
        \sigma_i^2 = e^{z_i} + \sigma_\min^2

    with cumulant $\sum_i \phi_i^2/(2\sigma_i^2\tau) + \log(2\pi\sigma_i^2\tau)/2$. Weights are in the units of x, and variances change
    no mean (Cho, Ilin & Raiko 2011). With x - b in place of their x nothing depends on where the data's zero is, and no large
    numbers cancel in single precision.

    Without a floor the density of a visible layer has no maximum: a unit that is constant in the data, or that the hidden layer
    predicts, could be given any small variance.

    Args:
        bias: b, shape (n,).
        log_variance: z, shape (n,); by default zeros.
        min_variance: sigma_min^2, the finest that a unit is resolved: no variance falls below it.

    >>> Gaussian([1.0], min_variance=0.0).energy(jnp.asarray([3.0]))
    Array(2., dtype=float32)
    """

    kind: ClassVar[str] = "gaussian"

    def __init__(self, bias: object, log_variance: object = None, min_variance: float = RELATIVE_FLOOR):
        super().__init__(bias, log_variance, min_variance)

    @property
    def space(self) -> Real:
        return Real(self.bias.shape[-1])

    def energy(self, x: Float[Array, "*batch n"]) -> Float[Array, "*batch"]:
        u = x - along(self.bias, x)
        return jnp.sum(u**2 / along(self.variance, u), -1) / 2

    def features(self, x: Float[Array, "*batch n"]) -> Float[Array, "*batch n"]:
        u = x - along(self.bias, x)
        return u / along(self.variance, u)

    def cumulant(self, fields: Float[Array, "*batch n"], tau: Temperature) -> Float[Array, "*batch"]:
        variance = along(self.variance * tau, fields)
        return jnp.sum(fields**2 / variance + jnp.log(2 * jnp.pi * variance), -1) / 2

    def mean(self, fields: Float[Array, "*batch n"], tau: Temperature) -> Float[Array, "*batch n"]:
        return self.location(fields)

    def mean_features(self, fields: Float[Array, "*batch n"], tau: Temperature) -> Float[Array, "*batch n"]:
        return fields / along(self.variance, fields)

    def sample(self, key: Key[Array, ""], fields: Float[Array, "*batch n"], tau: Temperature) -> Float[Array, "*batch n"]:
        mean = self.location(fields)
        return mean + along(jnp.sqrt(self.variance * tau), mean) * normal(key, mean)

    def base(self: N, means: Float[Array, "n 2"], tau: Temperature) -> N:
        """No variance is below this layer's own: given the other layer a unit varies less than when that varies too."""
        centre, variance = Real(means.shape[0]).mean_and_variance(means)
        return self.with_bias(centre).with_variance(jnp.maximum(variance / tau, self.variance))

    def between(self: N, base: N, beta: Float[Array, ""]) -> tuple[N, Float[Array, " n"], Float[Array, " n"]]:
        mixed, ratio = self.blended(base, beta)
        return mixed, ratio, (mixed.bias - self.bias) / self.variance

    def centre_features(self, means: Float[Array, " n"], fields: Float[Array, " n"]) -> Float[Array, " n"]:
        return fields / self.variance

    @property
    def slopes(self) -> Float[Array, " n"]:
        return 1 / self.variance


def _floor(min_variance: object) -> float:
    return number("min_variance", min_variance, 0, 1e36)  # squares of data are that large at most
