"""The restricted Boltzmann machine with real visible and binary hidden units, and a learned variance for each visible unit."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from ..arguments import number
from ..errors import InputError
from ..numerics import affine, along, as_states, check_batches, floating, sum_softplus, sum_softplus_difference
from ..random_bits import as_key, bernoulli, normal, subkey
from ..spaces import RELATIVE_FLOOR, Binary, Real
from .base import Centrable, FastAnnealing, Latent, layer_sizes
from .energy import EnergyModel


class Offsets(NamedTuple):
    """The origin and the scale of the centred coordinates."""

    hidden: Float[Array, "*replicas H"]  # means of the hidden units
    spread: Float[Array, "*replicas D"]  # variances of the data


class GaussianRBM(Latent, Centrable, FastAnnealing):
    r"""Visible v in R^D, hidden h in {0,1}^H. Given h the visible units are Gaussian around b + W h.

    .. math::
        E(v,h) = \sum_i \frac{(v_i - b_i)^2}{2\sigma_i^2} - \sum_{ij} \frac{v_i - b_i}{\sigma_i^2} W_{ij} h_j - c'h,
        \qquad p(v,h) = e^{-E} / Z

        F(v) = \sum_i \frac{(v_i - b_i)^2}{2\sigma_i^2} - \sum_j \mathrm{softplus}\Big(c_j + \sum_i \frac{v_i - b_i}{\sigma_i^2} W_{ij}\Big)

        p(v|h) = \mathcal N(b + Wh, \sigma^2), \qquad
        p(h) \propto \exp\Big(c'h + \sum_i \frac{(Wh)_i^2}{2\sigma_i^2}\Big), \qquad \sigma_i^2 = e^{z_i} + \sigma_\min^2

    Of the forms in use it is that of Cho, Ilin & Raiko (2011), whose weights are in the data's units and whose variances change no
    mean, with v - b in place of v in the second term (their hidden bias is c - W'(b / sigma^2)). Then nothing depends on where
    the data's zero is: b drops out of p(h) and of Z, and no large numbers cancel in single precision.

    p(v) is a density: its logarithm (in nats) can be positive, and depends on the units of v. Without a floor it has no maximum:
    a unit that is constant in the data, or that the hidden layer predicts, could be given any small variance.

    Args:
        weights: W, shape (D, H), in the units of v.
        visible_bias: b, shape (D,).
        hidden_bias: c, shape (H,).
        log_variance: z, shape (D,).
        min_variance: sigma_min^2, the finest that a visible unit is resolved: no variance falls below it.

    >>> rbm = GaussianRBM([[2.0]], [1.0], [0.0], [0.0], min_variance=0.0)
    >>> float(rbm.energy([3.0], [1]))  # (3 - 1)^2 / 2 - (3 - 1) * 2
    -2.0
    """

    kind: ClassVar[str | None] = "gaussian_rbm"

    weights: Float[Array, "*replicas D H"]
    visible_bias: Float[Array, "*replicas D"]
    hidden_bias: Float[Array, "*replicas H"]
    log_variance: Float[Array, "*replicas D"]
    min_variance: float = eqx.field(static=True)

    def __init__(self, weights: Any, visible_bias: Any, hidden_bias: Any, log_variance: Any, min_variance: float = RELATIVE_FLOOR):
        parameters = (weights, visible_bias, hidden_bias, log_variance)
        self.weights, self.visible_bias, self.hidden_bias, self.log_variance = (floating(x) for x in parameters)
        self.min_variance = _floor(min_variance)
        shapes = self.weights.shape, self.visible_bias.shape, self.hidden_bias.shape, self.log_variance.shape
        if self.weights.ndim != 2 or 0 in shapes[0] or shapes[1:] != (shapes[0][:1], shapes[0][1:], shapes[0][:1]):
            expected = "weights are (n_visible, n_hidden), visible_bias and log_variance (n_visible,), hidden_bias (n_hidden,)"
            raise InputError(
                f"GaussianRBM shapes do not fit: weights {shapes[0]}, visible_bias {shapes[1]}, hidden_bias {shapes[2]}, "
                f"log_variance {shapes[3]}; {expected}"
            )

    @classmethod
    def init(
        cls, key: Key[Array, ""] | Any, n_visible: int, n_hidden: int, data: Any = None, min_variance: float | None = None
    ) -> GaussianRBM:
        """Small weights; with `data`, its means and variances (else 0 and 1).

        Args:
            min_variance: by default a thousandth of the data's mean variance. Columns in different units: standardise them first.

        >>> GaussianRBM.init(0, n_visible=6, n_hidden=4).variance.round(3).tolist()
        [1.0, 1.0, 1.0, 1.0, 1.0, 1.0]
        """
        n_visible, n_hidden = layer_sizes(n_visible, n_hidden)
        mean, variance = np.zeros(n_visible), np.ones(n_visible)
        if data is not None:
            rows = Real(n_visible).check(data).astype(np.float64)
            mean, variance = rows.mean(0), rows.var(0)
            if not variance.any():
                raise InputError(f"all {len(rows)} rows of the data are equal: pass rows that differ")
        floor = RELATIVE_FLOOR * float(variance.mean()) if min_variance is None else _floor(min_variance)
        start = np.maximum(variance, 1.1 * floor)
        if not (start > floor).all():
            column = int(np.argmin(start))
            raise InputError(f"column {column} of the data is constant: give min_variance a positive value, or drop the column")
        weights = 0.01 * jnp.sqrt(start.astype(np.float32))[:, None] * jax.random.normal(as_key(key), (n_visible, n_hidden))
        return cls(weights, mean.astype(np.float32), np.zeros(n_hidden, np.float32), np.log(start - floor).astype(np.float32), floor)

    @classmethod
    def examples(cls) -> list[GaussianRBM]:
        keys = jax.random.split(jax.random.key(120), 3)
        centred = cls(
            0.4 * jax.random.normal(keys[0], (5, 3)),
            1 + 0.5 * jax.random.normal(keys[1], (5,)),
            0.5 * jax.random.normal(keys[2], (3,)),
            jnp.log(jnp.asarray([0.1, 0.2, 0.15, 0.4, 0.25])),
            min_variance=0.01,
        )
        return [centred._from_centred(jnp.full(3, 0.5))]  # else most hidden states would be rare

    @property
    def space(self) -> Real:
        return Real(self.weights.shape[-2])

    @property
    def n_hidden(self) -> int:
        """H."""
        return self.weights.shape[-1]

    @property
    def variance(self) -> Float[Array, "*replicas D"]:
        """sigma^2."""
        return jnp.exp(self.log_variance) + self.min_variance

    def energy(self, v: Any, h: Any) -> Float[Array, "*batch"]:
        """E(v,h)."""
        u, h = self._from_bias(v), self._hidden(h)
        check_batches(u, h)
        return self._quadratic(u) - jnp.sum((u / along(self.variance, u)) * (h @ self.weights.T), -1) - h @ self.hidden_bias

    def free_energy(self, v: Any) -> Float[Array, "*batch"]:
        return self._quadratic(self._from_bias(v)) - sum_softplus(self.hidden_logits(v))

    def hidden_logits(self, v: Any) -> Float[Array, "*batch H"]:
        u = self._from_bias(v)
        return affine(u / along(self.variance, u), self.weights, self.hidden_bias)

    def visible_logits(self, h: Any) -> Float[Array, "*batch D 2"]:
        mean = self.visible_mean(h)
        return jnp.stack([mean / along(self.variance, mean), jnp.broadcast_to(-1 / (2 * self.variance), mean.shape)], axis=-1)

    def hidden_mean(self, v: Any) -> Float[Array, "*batch H"]:
        """p(h_j = 1 | v)."""
        return jax.nn.sigmoid(self.hidden_logits(v))

    def visible_mean(self, h: Any) -> Float[Array, "*batch D"]:
        """E[v | h]."""
        return affine(self._hidden(h), self.weights.T, self.visible_bias)

    def sample_hidden(self, key: Key[Array, ""], v: Any) -> Float[Array, "*batch H"]:
        return bernoulli(key, self.hidden_logits(v))

    def sample_visible(self, key: Key[Array, ""], h: Any) -> Float[Array, "*batch D"]:
        mean = self.visible_mean(h)
        return mean + along(jnp.sqrt(self.variance), mean) * normal(key, mean)

    def transposed(self) -> EnergyModel:
        return EnergyModel(_free_energy_of_hidden, self, Binary(self.n_hidden))

    def offsets(self, v: Float[Array, "B D"]) -> Offsets:
        hidden = jnp.mean(self.hidden_mean(v), 0)
        return Offsets(hidden, jnp.mean((v - along(self.visible_mean(hidden), v)) ** 2, 0))

    def centre(self, gradient: GaussianRBM, offsets: Offsets) -> GaussianRBM:
        # With x the centred coordinates and J = d(plain)/dx the direction is J P J' gradient. P is about the inverse of the Fisher
        # information's diagonal: it makes the steps follow the units of the data, and keeps them small where the hidden layer
        # predicts a unit well (plain steps diverge there, as those of Gaussian RBMs are known to).
        def plain(x: GaussianRBM) -> GaussianRBM:
            return x._from_centred(offsets.hidden)

        (inner,) = jax.vjp(plain, self)[1](gradient)
        unexplained = jnp.minimum(self.variance / offsets.spread, 1)
        scaled = inner._with(
            weights=(self.variance * unexplained)[:, None] * inner.weights,
            visible_bias=self.variance * inner.visible_bias,
            log_variance=unexplained * inner.log_variance,
        )
        return jax.jvp(plain, (self,), (scaled,))[1]

    def _from_centred(self, hidden: Float[Array, " H"]) -> GaussianRBM:
        """These parameters taken for centred ones, as plain ones.

        In centred coordinates b is the mean of v where h is at its mean, and c_j the log odds of h_j where the others are at theirs:
        weights and variances can move without moving either.
        """
        mean = self.weights @ hidden
        own = jnp.sum(self.weights**2 / self.variance[:, None], 0)
        odds = (mean / self.variance) @ self.weights + (0.5 - hidden) * own
        return self._with(visible_bias=self.visible_bias - mean, hidden_bias=self.hidden_bias - odds)

    def base(self, mean: Float[Array, "D 2"]) -> GaussianRBM:
        """No variance is below this model's own: given h a unit varies less than when h varies too."""
        centre, variance = self.space.mean_and_variance(mean)
        zeros = {"weights": jnp.zeros_like(self.weights), "hidden_bias": jnp.zeros_like(self.hidden_bias)}
        return self._with(**zeros, visible_bias=centre)._with_variance(jnp.maximum(variance, self.variance))

    def base_log_partition(self) -> Float[Array, ""]:
        return jnp.sum(jnp.log(2 * jnp.pi * self.variance)) / 2 + sum_softplus(self.hidden_bias)

    def between(self, base: Any, beta: Float[Array, ""]) -> GaussianRBM:
        """Precisions, and what they multiply, are mixed: every beta has positive variances and thus a proper density.

        The energy is the mixture's up to a constant that is zero at both ends of the path.
        """
        own, others = beta / self.variance, (1 - beta) / base.variance
        variance = 1 / (own + others)
        share = (own * variance)[:, None] * self.weights
        shift = (others * variance) * (base.visible_bias - self.visible_bias)
        # b moves by `shift`, and the hidden logits must not
        hidden = (1 - beta) * base.hidden_bias + beta * self.hidden_bias + (shift / variance) @ share
        moved = self._with(weights=share, visible_bias=self.visible_bias + shift, hidden_bias=hidden)
        return moved._with_variance(variance)

    def anneal(
        self, key: Key[Array, ""], base: Any, v: Float[Array, "chains D"], beta_from: Float[Array, ""], beta_to: Float[Array, ""]
    ) -> tuple[Float[Array, "chains D"], Float[Array, " chains"]]:
        """The weights lack the constant of `between`, whose sum along the path is zero."""
        hidden = self.hidden_logits(v)
        before, after = ((1 - beta) * along(base.hidden_bias, hidden) + beta * hidden for beta in (beta_from, beta_to))
        quadratic = base._quadratic(base._from_bias(v)) - self._quadratic(self._from_bias(v))
        gain = (beta_to - beta_from) * quadratic + sum_softplus_difference(after, before)
        own, others = along(beta_to / self.variance, v), along((1 - beta_to) / base.variance, v)
        mean = own * self.visible_mean(bernoulli(subkey(key, 0), after)) + others * along(base.visible_bias, v)
        precision = own + others
        return mean / precision + normal(subkey(key, 1), mean) / jnp.sqrt(precision), gain

    def penalised(self) -> GaussianRBM:
        return jax.tree.map(lambda leaf: leaf is self.weights, self)

    def _with(self, **parameters: Any) -> GaussianRBM:
        own = {f: getattr(self, f) for f in ("weights", "visible_bias", "hidden_bias", "log_variance", "min_variance")}
        return GaussianRBM(**{**own, **parameters})

    def _with_variance(self, variance: Float[Array, " D"]) -> GaussianRBM:
        above = jnp.maximum(variance - self.min_variance, jnp.finfo(variance.dtype).tiny)
        return self._with(log_variance=jnp.log(above))

    def _quadratic(self, u: Float[Array, "*batch D"]) -> Float[Array, "*batch"]:
        return jnp.sum(u**2 / along(self.variance, u), -1) / 2

    def _from_bias(self, v: Any) -> Float[Array, "*batch D"]:
        v = as_states(v, self.space.size, self.weights.dtype, "visible")
        return v - along(self.visible_bias, v)

    def _hidden(self, h: Any) -> Float[Array, "*batch H"]:
        return as_states(h, self.n_hidden, self.weights.dtype, "hidden")


def _floor(min_variance: Any) -> float:
    return number("min_variance", min_variance, 0, 1e36)  # squares of data are that large at most


def _free_energy_of_hidden(model: GaussianRBM, h: Float[Array, " H"]) -> Float[Array, ""]:
    """-log of the Gaussian integral of exp(-E) over v."""
    h = h.astype(model.weights.dtype)
    mean = model.weights @ h
    return -(model.hidden_bias @ h) - jnp.sum(mean**2 / model.variance + jnp.log(2 * jnp.pi * model.variance)) / 2
