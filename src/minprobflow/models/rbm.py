"""The restricted Boltzmann machine: two layers of any unit types and the weights between them (section 2 of the paper, and beyond)."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key, PyTree

from ..arguments import room, shown
from ..errors import InputError
from ..numerics import along, as_states, check_batches, floating
from ..random_bits import as_key, subkey
from ..units import DiscreteLayer, Layer, ReLU, Space, Temperature, discrete
from . import fast
from .base import Centrable, FastAnnealing, FastFlips, Latent, Model, temperature

NARROW = 32  # hidden features up to which the visible fields are written out where they are used


class Offsets(NamedTuple):
    """The origin of the centred coordinates: means of both layers' features; and what the visible units need for their scale."""

    visible: Float[Array, "*replicas F"]
    hidden: Float[Array, "*replicas G"]
    spread: PyTree[Array]


class RBM(Latent, FastFlips, Centrable, FastAnnealing):
    r"""A visible layer v and a hidden layer h, each of units that are independent given the other layer, at temperature tau.

    .. math::
        E(v,h) = E_v(v) + E_h(h) - f_v(v)' W f_h(h), \qquad p(v,h) = e^{-E/\tau} / Z

        F(v) = E_v(v)/\tau - C_h(W' f_v(v))

    with the energy E, the features f and the cumulant C (log-partition in a field) of the unit types: `Bernoulli`, `Spin`,
    `Categorical`, `Gaussian`, `ReLU`, or `Mixed`. For Bernoulli units that is E(v,h) = -v'Wh - b'v - c'h.

    Args:
        visible: the visible layer.
        hidden: the hidden layer.
        weights: W, shape (n_visible, n_hidden); units with q values have a second axis, such as (n_visible, q, n_hidden).
        tau: the temperature, positive.

    >>> from minprobflow.units import Bernoulli, Gaussian
    >>> rbm = RBM(Bernoulli([0.0, 0.0]), Gaussian([0.0], min_variance=0.0), [[1.0], [1.0]])
    >>> float(rbm.energy([1, 1], [2.0]))  # 2^2 / 2 - (1 + 1) * 2
    -2.0
    """

    kind: ClassVar[str | None] = "rbm"

    weights: Float[Array, "*shape"]
    visible: Layer
    hidden: Layer
    tau: float = eqx.field(static=True)

    def __init__(self, visible: Layer, hidden: Layer, weights: object, tau: float = 1.0):
        for name, layer in (("visible", visible), ("hidden", hidden)):
            if not isinstance(layer, Layer):
                raise InputError(f"{name} is {shown(layer)}: pass a layer such as mpf.Bernoulli(bias); or use mpf.BernoulliRBM")
        self.visible, self.hidden = visible, hidden
        self.weights = floating(weights, "weights")
        self.tau = temperature(tau, self.weights, *jax.tree.leaves((visible, hidden)))
        shape, wanted = self.weights.shape, visible.feature_shape + hidden.feature_shape
        if shape != wanted:
            swapped = shape == hidden.feature_shape + visible.feature_shape
            remedy = "pass weights.T" if swapped else f"weights are (visible, hidden), here {wanted}"
            sizes = f"visible_bias {visible.feature_shape}, hidden_bias {hidden.feature_shape}"
            raise InputError(f"RBM shapes do not fit: weights {shape}, {sizes}; {remedy}")
        if reason := self.improper():
            raise InputError(reason)

    @classmethod
    def init(cls, seed: object, visible: Space | Layer, hidden: Space | Layer, data: object = None, tau: float = 1.0) -> RBM:
        """Small Gaussian weights; with `data`, visible units that have its means (else even ones).

        Args:
            seed: a seed, or a JAX key.
            visible: the visible units, such as `mpf.Binary(64)`; or a layer.
            hidden: the hidden units, such as `mpf.Binary(16)`; or a layer.
            data: rows that the visible units are fitted to.
            tau: the temperature.

        >>> import minprobflow as mpf
        >>> mpf.RBM.init(0, mpf.Binary(6), mpf.NonNegative(4)).weights.shape
        (6, 4)
        """
        tau = temperature(tau)
        for name, units in (("visible", visible), ("hidden", hidden)):
            if not isinstance(units, Space | Layer):
                raise InputError(f"{name} is {shown(units)}: pass units such as mpf.Binary(16), or a layer")
        visible = visible if isinstance(visible, Layer) else visible.layer(data, tau)
        hidden = hidden if isinstance(hidden, Layer) else hidden.layer(tau=tau)
        shape = visible.feature_shape + hidden.feature_shape
        room("the weights", *(size for size in shape if size > 1))
        weights = 0.01 * jax.random.normal(as_key(seed, "seed"), shape)
        for layer, axes in ((visible, (..., *(None,) * len(hidden.feature_shape))), (hidden, (...,))):
            if not layer.linear:
                weights = layer.scale.reshape(layer.feature_shape)[axes] * weights
        return cls(visible, hidden, weights, tau)

    @property
    def space(self) -> Space:
        return self.visible.space

    @property
    def n_visible(self) -> int:
        """How many visible units there are."""
        return self.visible.space.size

    @property
    def n_hidden(self) -> int:
        """How many hidden units there are."""
        return self.hidden.space.size

    @property
    def visible_bias(self) -> Float[Array, ...]:
        """That of the visible layer."""
        return self.visible.bias

    @property
    def hidden_bias(self) -> Float[Array, ...]:
        """That of the hidden layer."""
        return self.hidden.bias

    def energy(self, v: object, h: object) -> Float[Array, "*batch"]:
        """E(v,h), before division by tau."""
        v, h = self._visible(v), self._hidden(h)
        check_batches(v, h)
        return self.visible.energy(v) + self.hidden.energy(h) - jnp.sum(self._to_hidden(v) * self.hidden.features(h), -1)

    def free_energy(self, v: object) -> Float[Array, "*batch"]:
        v = self._visible(v)
        return self.visible.energy(v) / self.tau - self.hidden.cumulant(self._to_hidden(v), self.tau)

    def hidden_logits(self, v: object) -> Float[Array, "*batch *values"]:
        return self.hidden.logits(self._to_hidden(self._visible(v)), self.tau)

    def visible_logits(self, h: object) -> Float[Array, "*batch *values"]:
        return self.visible.logits(self._to_visible(self._hidden(h)), self.tau)

    def hidden_mean(self, v: object) -> Float[Array, "*batch *values"]:
        return self.hidden.mean(self._to_hidden(self._visible(v)), self.tau)

    def visible_mean(self, h: object) -> Float[Array, "*batch *values"]:
        """E[v | h]: of bits, p(v_i = 1 | h)."""
        return self.visible.mean(self._to_visible(self._hidden(h)), self.tau)

    def reconstruct(self, v: object) -> Float[Array, "*batch *values"]:
        features = self.hidden.mean_features(self._to_hidden(self._visible(v)), self.tau)
        return self.visible.logits(features @ self._matrix.T, self.tau)

    def sample_hidden(self, key: Key[Array, ""], v: object) -> Float[Array, "*batch H"]:
        return self.hidden.sample(key, self._to_hidden(self._visible(v)), self.tau)

    def sample_visible(self, key: Key[Array, ""], h: object) -> Float[Array, "*batch D"]:
        return self.visible.sample(key, self._to_visible(self._hidden(h), fused=True), self.tau)

    def transposed(self) -> RBM:
        weights = self._matrix.T.reshape(*self.hidden.feature_shape, *self.visible.feature_shape)
        return _made(self.hidden, self.visible, weights, self.tau)

    def flip_differences(self, v: Float[Array, "B D"]) -> Float[Array, "B D *others"]:
        if flips := fast.flips(self):
            return flips(v)
        discrete(self.space, "one-flip connectivity")
        visible, weights = self.visible, self._matrix
        assert isinstance(visible, DiscreteLayer)

        @jax.checkpoint
        def one_example(row: Array) -> Array:  # all neighbours at once: as many numbers as there are weights, or a few times that
            energies, fields = visible.changes(row, weights)
            own = self._to_hidden(row)
            gains = self.hidden.cumulant(fields + along(own, fields), self.tau) - self.hidden.cumulant(own, self.tau)
            return gains - energies / self.tau

        return jax.lax.map(one_example, v)

    def offsets(self, v: Float[Array, "B D"]) -> Offsets:
        hidden = jnp.mean(self.hidden.mean_features(self._to_hidden(v), self.tau), 0)
        spread = None if self.visible.linear else self.visible.spread(v, self._matrix @ hidden, self.tau)
        return Offsets(jnp.mean(self.visible.features(v), 0), hidden, spread)

    def centre(self, gradient: RBM, offsets: Offsets) -> RBM:
        if self.visible.unit_steps and self.hidden.unit_steps:
            return self._centred_linear(gradient, offsets)

        # With x the centred coordinates and J = d(plain)/dx the direction is J P J' gradient, where P makes steps follow the units
        # of the data and of the weights (`Layer.precondition`).
        def plain(x: RBM) -> RBM:
            return x._from_centred(offsets)

        (inner,) = jax.vjp(plain, self)[1](gradient)
        rows, columns = self.visible.stride(offsets.spread, self.tau), self.hidden.stride(None, self.tau)
        scaled = self._with(
            self.visible.precondition(inner.visible, offsets.spread, self.tau),
            self.hidden.precondition(inner.hidden, None, self.tau),
            rows[:, None] * inner._matrix * columns[None],
        )
        return jax.jvp(plain, (self,), (scaled,))[1]

    def _centred_linear(self, gradient: RBM, offsets: Offsets) -> RBM:
        # The centred model is E = -(v-mu)'W(h-lam) - b'(v-mu) - c'(h-lam). Its gradient, mapped back to (W, b, c):
        mu, lam, _ = offsets
        # gW' = gW - mu gc' - gb lam',  gb' = gb - gW' lam,  gc' = gc - mu' gW', with the products taken of gW itself
        gW, gb, gc = gradient._matrix, gradient.visible.flat_bias, gradient.hidden.flat_bias
        visible = gb * (1 + lam @ lam) - gW @ lam + mu * (gc @ lam)
        hidden = gc * (1 + mu @ mu) - mu @ gW + (mu @ gb) * lam
        weights = gW - jnp.outer(mu, gc) - jnp.outer(gb, lam)
        return self._with(gradient.visible.with_bias(visible), gradient.hidden.with_bias(hidden), weights)

    def _from_centred(self, offsets: Offsets) -> RBM:
        """These parameters taken for centred ones, as plain ones.

        In centred coordinates the visible bias is the field where hidden features are at their means, and the hidden bias that
        where the other units are at theirs: weights and variances can move without moving either.
        """
        weights = self._matrix
        at_mean = weights @ offsets.hidden
        own = self.hidden.own_field(weights, self.visible.slopes, offsets.hidden)
        fields = self.visible.centre_features(offsets.visible, at_mean) @ weights + own
        return self._with(self.visible.tilted(-at_mean), self.hidden.tilted(-fields), weights)

    def base(self, mean: Float[Array, " *values"]) -> RBM:
        return self._with(self.visible.base(mean, self.tau), self.hidden.rest(), jnp.zeros_like(self.weights))

    def base_log_partition(self) -> Float[Array, ""]:
        return self.visible.own_log_partition(self.tau) + self.hidden.own_log_partition(self.tau)

    def is_base(self) -> bool:
        return not bool(jnp.any(self.weights))

    def base_logits(self) -> Float[Array, " *values"]:
        return self.visible.logits(jnp.zeros_like(self.visible.flat_bias), self.tau)

    def between(self, base: Model, beta: Float[Array, ""]) -> RBM:
        """The energy is the mixture's up to a constant that is zero at both ends of the path."""
        if self.visible.linear and self.hidden.linear:  # so is the energy, in all parameters
            return jax.tree.map(lambda start, end: (1 - beta) * start + beta * end, base, self)
        assert isinstance(base, RBM)
        # in the mixed units' features, own features are ratio x features + shift; the shift is a field on the hidden units
        visible, ratio, shift = self.visible.between(base.visible, beta)
        hidden, _, _ = self.hidden.between(base.hidden, beta)
        weights = beta * ratio[:, None] * self._matrix
        fields = beta * shift @ self._matrix
        if self.visible.unbounded and self.hidden.unbounded:
            # a field moves the origin of Gaussian features, which is a field on the other layer, and so on: the series' sum
            back = weights.T @ (visible.slopes[:, None] * weights) * hidden.slopes[None]
            fields = jnp.linalg.solve(jnp.eye(len(fields), dtype=fields.dtype) - back, fields)
            visible = visible.tilted(weights @ (hidden.slopes * fields))
        return self._with(visible, hidden.tilted(fields), weights)

    def anneal(
        self, key: Key[Array, ""], base: Model, v: Float[Array, "chains D"], beta_from: Float[Array, ""], beta_to: Float[Array, ""]
    ) -> tuple[Float[Array, "chains D"], Float[Array, " chains"]]:
        """The weights lack the constant of `between`, whose sum along the path is zero."""
        assert isinstance(base, RBM)
        fields = self._to_hidden(v)  # one product serves weights and sampling
        energies = (beta_to - beta_from) * self.visible.advantage(base.visible, v) / self.tau
        gain = energies + self.hidden.path_gain(base.hidden, fields, beta_from, beta_to, self.tau)
        h = self.hidden.space.sample(subkey(key, 0), self.hidden.path_logits(base.hidden, fields, beta_to, self.tau))
        visible = self.visible.path_logits(base.visible, self._to_visible(h, fused=True), beta_to, self.tau)
        return self.visible.space.sample(subkey(key, 1), visible), gain

    def penalised(self) -> RBM:
        return _made(self.visible.penalised(), self.hidden.penalised(), True, self.tau)

    def improper(self) -> str | None:
        r"""Where both layers are unbounded: unless all singular values of W / (sigma_v sigma_h) are below 1, exp(-E) has no integral.

        Between units that are not negative only positive weights count. For those, the condition is sufficient and not necessary.
        """
        leaves = jax.tree.leaves(self)
        if not (self.visible.unbounded and self.hidden.unbounded) or any(isinstance(leaf, jax.core.Tracer) for leaf in leaves):
            return None
        (rows, above), (columns, right) = (_unbounded(layer) for layer in (self.visible, self.hidden))
        scaled = np.asarray(self._matrix, np.float64) * np.outer(rows, columns)
        scaled = np.where(np.outer(above, right), np.maximum(scaled, 0), scaled)
        if not np.isfinite(scaled).all() or (largest := float(np.linalg.norm(scaled, 2))) < 1:
            return None
        return (
            f"these weights have no normalisable distribution: the largest singular value of W / (sigma_v sigma_h) is {largest:.3g}, and "
            "has to be below 1 where both layers are unbounded; use smaller weights, or Bernoulli or Spin units in one layer"
        )

    def _with(self, visible: Layer, hidden: Layer, weights: Array) -> RBM:
        return _made(visible, hidden, weights.reshape(self.weights.shape), self.tau)

    @property
    def _matrix(self) -> Float[Array, "F G"]:
        """W with one axis for each layer's features."""
        return self.weights if self.weights.ndim == 2 else self.weights.reshape(self.visible.n_features, self.hidden.n_features)

    def _to_hidden(self, v: Float[Array, "*batch D"]) -> Float[Array, "*batch G"]:
        return fast.fields(self.visible, v, self._matrix)

    def _to_visible(self, h: Float[Array, "*batch H"], fused: bool = False) -> Float[Array, "*batch F"]:
        """The fields; if they are not kept, few enough hidden units are summed where the sum is needed."""
        features = self.hidden.features(h)
        if not fused or not self.visible.elementwise or self.hidden.n_features > NARROW:
            return features @ self._matrix.T
        rows = (
            jnp.eye(self.hidden.n_features, dtype=self.weights.dtype) @ self._matrix.T
        )  # a product gives them a layout of their own: no strides
        return _sum_of_rows(features, rows)

    def _visible(self, v: object) -> Float[Array, "*batch D"]:
        return as_states(v, self.n_visible, self.weights.dtype, "visible")

    def _hidden(self, h: object) -> Float[Array, "*batch H"]:
        return as_states(h, self.n_hidden, self.weights.dtype, "hidden")


def _made(visible: Layer, hidden: Layer, weights: Array | bool, tau: Temperature) -> RBM:
    """An RBM that is not checked: of gradients, or of parameters that fit by construction."""
    model = object.__new__(RBM)
    for name, value in (("weights", weights), ("visible", visible), ("hidden", hidden), ("tau", tau)):
        object.__setattr__(model, name, value)
    return model


def _unbounded(layer: Layer) -> tuple[np.ndarray, np.ndarray]:
    """1 / sigma of each unbounded feature, 0 of the others; and which of them are never negative."""
    parts = getattr(layer, "parts", (layer,))
    scales = [1 / np.asarray(part.scale, np.float64) if part.unbounded else np.zeros(part.n_features) for part in parts]
    return np.concatenate(scales), np.concatenate([np.full(part.n_features, isinstance(part, ReLU)) for part in parts])


def _sum_of_rows(h: Float[Array, "*batch H"], rows: Float[Array, "H D"]) -> Float[Array, "*batch D"]:
    """h @ rows as a written-out sum."""
    terms = [h[..., j, None] * along(rows[j], h) for j in range(rows.shape[0])]
    while len(terms) > 1:  # in pairs, so that no addition waits for all before it
        terms = [a + b for a, b in zip(terms[::2], terms[1::2], strict=False)] + terms[len(terms) - len(terms) % 2 :]
    return terms[0]
