"""Real units that are never negative: Gaussian units truncated at zero, whose mean rectifies their field."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import erfc, ndtri
from jaxtyping import Array, Float, Key

from ..numerics import along
from ..random_bits import uniform
from ..tables import refuse_first
from .base import RELATIVE_FLOOR
from .gaussian import N, NormalLayer, Real
from .layer import Temperature

FAR = -4.0  # below this many standard deviations the tail's continued fraction is used
TERMS = 20  # of the fraction: at -4 they give 11 digits


@dataclass(frozen=True)
class NonNegative(Real):
    """All vectors of `size` real numbers from 0.

    Independent units are Gaussians truncated at zero. Features and logits are those of `Real`.

    >>> NonNegative(2).check([[0, 0.5]]).shape
    (1, 2)
    """

    size: int  # the number of units

    def noise(self, key: Key[Array, ""], n: int) -> Float[Array, "n size"]:
        """Absolute values of standard normal numbers."""
        return jnp.abs(super().noise(key, n))

    def random_rows(self, rng: np.random.Generator, n: int) -> Float[np.ndarray, "n size"]:
        return np.abs(super().random_rows(rng, n))

    def even_means(self) -> Float[Array, " size *values"]:
        return jnp.stack([jnp.full(self.size, math.sqrt(2 / math.pi)), jnp.ones(self.size)], axis=-1)

    def log_norm(self, logits: Float[Array, "*batch size *values"]) -> Float[Array, "*batch"]:
        z, deviation = _standardised(*self.moments(logits))
        return jnp.sum(jnp.log(deviation) + log_mills(z), -1)

    def sample(self, key: Key[Array, ""], logits: Float[Array, "*batch size *values"]) -> Float[Array, "*batch size"]:
        z, deviation = _standardised(*self.moments(logits))
        return deviation * truncated_normal(key, z)

    def logits(self, means: Float[Array, " size *values"]) -> Float[Array, " size *values"]:
        """Of units with these means of (x, x^2); if they vary more than any such unit can (its mean), with these means of x at least."""
        mean, variance = self.mean_and_variance(means)
        return self._fitted(mean, variance)

    def layer(self, data: object = None, tau: float = 1.0, min_variance: float | None = None) -> NormalLayer:
        layer = super().layer(data, tau, min_variance)
        if data is None:
            return layer
        location, variance = (np.asarray(x, np.float32) for x in self.moments(self.fitted_logits(self.check(data))))
        return layer.with_bias(jnp.asarray(location)).with_variance(jnp.maximum(jnp.asarray(variance) / tau, layer.min_variance))

    def _layer(self, bias: Float[np.ndarray, " n"], log_variance: Float[np.ndarray, " n"], floor: float) -> NormalLayer:
        return ReLU(bias, log_variance, floor)

    def _fitted(self, mean: Float[Array, " size"], variance: Float[Array, " size"]) -> Float[Array, "size 2"]:
        """By bisection in z, the location in standard deviations: of the variance over the squared mean, which falls with z."""
        mean = jnp.maximum(mean, 1e-12)  # a column of zeros
        wanted = jnp.maximum(variance, 1e-24) / mean**2
        low, high = jnp.full_like(mean, -20.0), jnp.full_like(mean, 1000.0)

        def halve(_: int | Array, ends: tuple[Array, Array]) -> tuple[Array, Array]:
            low, high = ends
            middle = (low + high) / 2
            first = mean_of_truncated(middle)
            too_low = (1 + middle * first) / first**2 - 1 > wanted
            return jnp.where(too_low, middle, low), jnp.where(too_low, high, middle)

        z = jax.lax.fori_loop(0, 60, halve, (low, high))[0]
        deviation = mean / mean_of_truncated(z)
        return self.logits_of_moments(z * deviation, deviation**2)

    def _mean(self, logits: Float[Array, "*batch size 2"]) -> Float[Array, "*batch size"]:
        z, deviation = _standardised(*self.moments(logits))
        return deviation * mean_of_truncated(z)

    def _rows(self, data: object, name: str) -> Float[np.ndarray, "n width"]:
        rows = super()._rows(data, name)
        refuse_first(rows < 0, rows, name, ", but these units are not negative: shift the column, or use Gaussian units (mpf.GaussianRBM)")
        return rows


class ReLU(NormalLayer):
    r"""Units $x \ge 0$: in a field $\phi$, Gaussian around $b + \phi$ with variance $\sigma^2\tau$, given that they are not negative.

    .. math::
        E(x) = \sum_i \frac{x_i^2 - 2 b_i x_i}{2\sigma_i^2}, \qquad f_i(x) = \frac{x_i}{\sigma_i^2}, \qquad
        \sigma_i^2 = e^{z_i} + \sigma_\min^2

    with cumulant $\sum_i \log \sigma_i\sqrt\tau + \log R(-(b_i + \phi_i)/(\sigma_i\sqrt\tau))$, where
    $R(x) = \int_0^\infty e^{-t^2/2 - xt} dt$ is Mills' ratio. The mean is close to max(0, b + phi) far from zero on either side (Nair &
    Hinton 2010 sample a similar unit).

    Args:
        bias: b, shape (n,).
        log_variance: z, shape (n,); by default zeros.
        min_variance: sigma_min^2: no variance falls below it.

    >>> ReLU([1.0], min_variance=0.0).energy(jnp.asarray([3.0]))  # 3^2 / 2 - 3
    Array(1.5, dtype=float32)
    """

    kind: ClassVar[str] = "relu"

    def __init__(self, bias: object, log_variance: object = None, min_variance: float = RELATIVE_FLOOR):
        super().__init__(bias, log_variance, min_variance)

    @property
    def space(self) -> NonNegative:
        return NonNegative(self.bias.shape[-1])

    def energy(self, x: Float[Array, "*batch n"]) -> Float[Array, "*batch"]:
        return jnp.sum(x * (x / 2 - along(self.bias, x)) / along(self.variance, x), -1)

    def features(self, x: Float[Array, "*batch n"]) -> Float[Array, "*batch n"]:
        return x / along(self.variance, x)

    def cumulant(self, fields: Float[Array, "*batch n"], tau: Temperature) -> Float[Array, "*batch"]:
        z, deviation = self._standard(fields, tau)
        return jnp.sum(jnp.log(deviation) + log_mills(z), -1)

    def mean(self, fields: Float[Array, "*batch n"], tau: Temperature) -> Float[Array, "*batch n"]:
        z, deviation = self._standard(fields, tau)
        return deviation * mean_of_truncated(z)

    def mean_features(self, fields: Float[Array, "*batch n"], tau: Temperature) -> Float[Array, "*batch n"]:
        return self.mean(fields, tau) / along(self.variance, fields)

    def sample(self, key: Key[Array, ""], fields: Float[Array, "*batch n"], tau: Temperature) -> Float[Array, "*batch n"]:
        z, deviation = self._standard(fields, tau)
        return deviation * truncated_normal(key, z)

    def base(self: N, means: Float[Array, "n 2"], tau: Temperature) -> N:
        """No variance is below this layer's own, as in Gaussian units."""
        space = NonNegative(means.shape[0])
        location, variance = space.moments(space.logits(means))
        return self.with_bias(location).with_variance(jnp.maximum(variance / tau, self.variance))

    def between(self: N, base: N, beta: Float[Array, ""]) -> tuple[N, Float[Array, " n"], Float[Array, " n"]]:
        mixed, ratio = self.blended(base, beta)
        return mixed, ratio, jnp.zeros_like(self.bias)

    def _standard(self, fields: Float[Array, "*batch n"], tau: Temperature) -> tuple[Array, Array]:
        location = self.location(fields)
        return _standardised(location, along(self.variance * tau, location))


def _standardised(location: Float[Array, "*batch n"], variance: Float[Array, "*#batch n"]) -> tuple[Array, Array]:
    deviation = jnp.sqrt(variance)
    return location / deviation, deviation


@jax.custom_jvp
def log_mills(z: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """log of the integral over t >= 0 of exp(z t - t^2 / 2), stable for every z."""
    near = jnp.maximum(z, FAR)
    above = near**2 / 2 + jnp.log(math.sqrt(math.pi / 2) * erfc(-near / math.sqrt(2)))
    return jnp.where(z > FAR, above, -jnp.log(_mean_in_the_tail(z) - jnp.minimum(z, FAR)))


@log_mills.defjvp
def _log_mills_tangent(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    return log_mills(*primals), mean_of_truncated(*primals) * tangents[0]


def mean_of_truncated(z: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """The mean of t >= 0 with density proportional to exp(z t - t^2 / 2): its field rectified."""
    near = jnp.maximum(z, FAR)
    above = near + math.sqrt(2 / math.pi) * jnp.exp(-(near**2) / 2) / erfc(-near / math.sqrt(2))
    return jnp.where(z > FAR, above, _mean_in_the_tail(z))


def _mean_in_the_tail(z: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """With x = -z, 1/(x + 2/(x + 3/(x + ...))): Mills' ratio is 1/(x + this), and nothing cancels."""
    x = -jnp.minimum(z, FAR)
    rest = x
    for term in range(TERMS, 1, -1):
        rest = x + term / rest
    return 1 / rest


def truncated_normal(key: Key[Array, ""], z: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """t >= 0 with density proportional to exp(z t - t^2 / 2), by the inverse of its distribution function.

    Far in the tail that has no closed form: three steps of Newton's method on the log of the share above t, from that of a
    Rayleigh distribution, which leave no error that single precision could show.
    """
    u = uniform(key, z)
    near, far = jnp.maximum(z, FAR), jnp.minimum(z, FAR)
    above = jnp.maximum(near - ndtri(u * erfc(-near / math.sqrt(2)) / 2), 0)
    log_u, start = jnp.log(u), log_mills(far)
    t = -2 * jnp.log(u) / (jnp.sqrt(far**2 - 2 * log_u) - far)
    for _ in range(3):
        log_share = log_mills(far - t) - start + t * (far - t / 2)
        hazard = mean_of_truncated(far - t) - (far - t)  # 1 / Mills' ratio at t
        t = jnp.maximum(t + (log_share - log_u) / hazard, 0)
    return jnp.where(z > FAR, above, t)
