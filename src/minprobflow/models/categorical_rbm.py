"""The restricted Boltzmann machine with categorical visible and binary hidden units."""

from __future__ import annotations

from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from ..errors import InputError
from ..numerics import along, as_states, floating, sum_softplus, sum_softplus_difference
from ..random_bits import as_key, bernoulli, categorical, subkey
from ..spaces import Binary, Categorical
from .base import Centrable, FastAnnealing, FastFlips, Latent, layer_sizes, temperature
from .energy import EnergyModel
from .rbm import RBM, Offsets


class CategoricalRBM(Latent, FastFlips, Centrable, FastAnnealing):
    r"""Visible v_i in {0, ..., q-1}, i = 1..D, hidden h in {0,1}^H, temperature tau.

    .. math::
        E(v,h) = -\sum_{ij} W_{ij}(v_i) h_j - \sum_i b_i(v_i) - c'h, \qquad p(v,h) = e^{-E/\tau} / Z

        F(v) = -\sum_i b_i(v_i)/\tau - \sum_j \mathrm{softplus}((c_j + \sum_i W_{ij}(v_i))/\tau)

    It is the Bernoulli RBM over the D q one-hot units, of which one in each group of q is on: what does not depend on how the
    visible units are drawn is that model's.

    Args:
        weights: W, shape (D, q, H).
        visible_bias: b, shape (D, q).
        hidden_bias: c, shape (H,).
        tau: the temperature, positive.

    >>> CategoricalRBM.init(0, n_visible=4, n_values=3, n_hidden=2).free_energy([[0, 1, 2, 0]]).shape
    (1,)
    """

    kind: ClassVar[str | None] = "categorical_rbm"

    weights: Float[Array, "*replicas D q H"]
    visible_bias: Float[Array, "*replicas D q"]
    hidden_bias: Float[Array, "*replicas H"]
    tau: float = eqx.field(static=True)

    def __init__(self, weights: Any, visible_bias: Any, hidden_bias: Any, tau: float = 1.0):
        self.weights, self.visible_bias, self.hidden_bias = (floating(x) for x in (weights, visible_bias, hidden_bias))
        self.tau = temperature(tau, self.weights, self.visible_bias, self.hidden_bias)
        shapes = self.weights.shape, self.visible_bias.shape, self.hidden_bias.shape
        if self.weights.ndim != 3 or 0 in shapes[0] or shapes[1:] != (shapes[0][:2], shapes[0][2:]):
            expected = "weights are (n_visible, n_values, n_hidden), biases (n_visible, n_values) and (n_hidden,)"
            raise InputError(
                f"CategoricalRBM shapes do not fit: weights {shapes[0]}, visible_bias {shapes[1]}, hidden_bias {shapes[2]}; {expected}"
            )

    @classmethod
    def init(
        cls, key: Key[Array, ""] | Any, n_visible: int, n_values: int, n_hidden: int, data: Any = None, tau: float = 1.0
    ) -> CategoricalRBM:
        """Small Gaussian weights; with `data`, visible biases that give its frequencies (else zero)."""
        space = Categorical(n_visible, n_values)
        n_visible, n_hidden = layer_sizes(space.size, n_hidden, space.n_values)
        n_values, tau = space.n_values, temperature(tau)
        weights = 0.01 * jax.random.normal(as_key(key), (n_visible, n_values, n_hidden))
        bias = jnp.zeros((n_visible, n_values))
        if data is not None:
            bias = tau * space.logits(jnp.asarray(space.mean_features(space.check(data), pseudocount=0.5), float))
        return cls(weights, bias, np.zeros(n_hidden, np.float32), tau)

    @classmethod
    def examples(cls) -> list[CategoricalRBM]:
        return [
            cls(
                1.2 * tau * jax.random.normal(jax.random.key(seed), (5, 3, 2)),
                0.5 * tau * jax.random.normal(jax.random.key(seed + 1), (5, 3)),
                0.5 * tau * jax.random.normal(jax.random.key(seed + 2), (2,)),
                tau,
            )
            for seed, tau in ((90, 0.5), (100, 1.0), (110, 2.0))
        ]

    @property
    def space(self) -> Categorical:
        return Categorical(*self.visible_bias.shape[-2:])

    @property
    def n_hidden(self) -> int:
        """H."""
        return self.weights.shape[-1]

    def energy(self, v: Any, h: Any) -> Float[Array, "*batch"]:
        """E(v,h), before division by tau."""
        return self._one_hot_rbm().energy(self._one_hot(v), h)

    def free_energy(self, v: Any) -> Float[Array, "*batch"]:
        return self._one_hot_rbm().free_energy(self._one_hot(v))

    def hidden_logits(self, v: Any) -> Float[Array, "*batch H"]:
        return self._one_hot_rbm().hidden_logits(self._one_hot(v))

    def visible_logits(self, h: Any) -> Float[Array, "*batch D q"]:
        logits = self._one_hot_rbm().visible_logits(h)
        return logits.reshape(*logits.shape[:-1], *self.visible_bias.shape)

    def sample_hidden(self, key: Key[Array, ""], v: Any) -> Float[Array, "*batch H"]:
        return bernoulli(key, self.hidden_logits(v))

    def sample_visible(self, key: Key[Array, ""], h: Any) -> Float[Array, "*batch D"]:
        return categorical(key, self.visible_logits(h))

    def transposed(self) -> EnergyModel:
        return EnergyModel(_free_energy_of_hidden, self, Binary(self.n_hidden))

    def flip_differences(self, v: Float[Array, "B D"]) -> Float[Array, "B D others"]:
        # Given the activations without unit i, each of its values adds its own weights. One example at a time: D q H numbers.
        weights, bias, hidden_bias = (p / self.tau for p in (self.weights, self.visible_bias, self.hidden_bias))

        @jax.checkpoint
        def one_example(row: Array) -> Array:
            x = self.space.features(row)
            of_unit = jnp.einsum("ia,iaj->ij", x, weights)
            without = (hidden_bias + jnp.sum(of_unit, 0))[None] - of_unit
            minus_free_energy = bias + sum_softplus(without[:, None, :] + weights)
            return self.space.not_own(minus_free_energy, row) - jnp.sum(x * minus_free_energy, -1, keepdims=True)

        return jax.lax.map(one_example, v)

    def offsets(self, v: Float[Array, "B D"]) -> Offsets:
        return self._one_hot_rbm().offsets(self._one_hot(v))

    def centre(self, gradient: CategoricalRBM, offsets: Offsets) -> CategoricalRBM:
        centred = self._one_hot_rbm().centre(gradient._one_hot_rbm(), offsets)
        new = centred.weights.reshape(self.weights.shape), centred.visible_bias.reshape(self.visible_bias.shape), centred.hidden_bias
        return CategoricalRBM(*new, self.tau)

    def base(self, mean: Float[Array, "D q"]) -> CategoricalRBM:
        bias = self.tau * self.space.logits(mean)
        return CategoricalRBM(jnp.zeros_like(self.weights), bias, jnp.zeros_like(self.hidden_bias), self.tau)

    def base_log_partition(self) -> Float[Array, ""]:
        return self.space.log_norm(self.visible_bias / self.tau) + sum_softplus(self.hidden_bias / self.tau)

    def between(self, base: Any, beta: Float[Array, ""]) -> CategoricalRBM:  # the energy is linear in the parameters
        return jax.tree.map(lambda start, end: (1 - beta) * start + beta * end, base, self)

    def anneal(
        self, key: Key[Array, ""], base: Any, v: Float[Array, "chains D"], beta_from: Float[Array, ""], beta_to: Float[Array, ""]
    ) -> tuple[Float[Array, "chains D"], Float[Array, " chains"]]:
        hidden = self.hidden_logits(v)
        base_hidden = along(base.hidden_bias, hidden) / self.tau
        before, after = ((1 - beta) * base_hidden + beta * hidden for beta in (beta_from, beta_to))
        x = self.space.features(v)
        biases = jnp.sum(x * along(self.visible_bias - base.visible_bias, x), (-2, -1)) / self.tau
        gain = (beta_to - beta_from) * biases + sum_softplus_difference(after, before)
        h = bernoulli(subkey(key, 0), after)
        visible = (1 - beta_to) * along(base.visible_bias, x) / self.tau + beta_to * self.visible_logits(h)
        return categorical(subkey(key, 1), visible), gain

    def penalised(self) -> CategoricalRBM:
        return jax.tree.map(lambda leaf: leaf is self.weights, self)

    def _one_hot_rbm(self) -> RBM:
        return RBM(self.weights.reshape(-1, self.n_hidden), self.visible_bias.reshape(-1), self.hidden_bias, self.tau)

    def _one_hot(self, v: Any) -> Float[Array, "*batch units"]:
        v = as_states(v, self.space.size, self.weights.dtype, "visible")
        return self.space.features(v).reshape(*v.shape[:-1], -1)


def _free_energy_of_hidden(model: CategoricalRBM, h: Float[Array, " H"]) -> Float[Array, ""]:
    return -(model.hidden_bias @ h) / model.tau - model.space.log_norm(model.visible_logits(h))
