"""The Bernoulli restricted Boltzmann machine (section 2 of the paper, with its temperature put right)."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from ..errors import InputError
from ..numerics import affine, along, as_states, check_batches, floating, logit, sum_softplus, sum_softplus_difference
from ..random_bits import as_key, bernoulli, subkey
from ..spaces import Binary
from . import rbm_sums
from .base import Centrable, FastAnnealing, FastFlips, FastSums, Latent, layer_sizes, temperature
from .rbm_flips import flip_differences

NARROW = 32  # hidden units up to which the visible logits are written out where they are used


class Offsets(NamedTuple):
    """Means of the two layers, the origin of the centred coordinates."""

    visible: Float[Array, "*replicas D"]
    hidden: Float[Array, "*replicas H"]


class RBM(Latent, FastFlips, FastSums, Centrable, FastAnnealing):
    r"""Visible v in {0,1}^D, hidden h in {0,1}^H, temperature tau.

    .. math::
        E(v,h) = -v'Wh - b'v - c'h, \qquad p(v,h) = e^{-E/\tau} / Z

        F(v) = -b'v/\tau - \sum_j \mathrm{softplus}((c_j + v'W_j)/\tau)

    Args:
        weights: W, shape (D, H).
        visible_bias: b, shape (D,).
        hidden_bias: c, shape (H,).
        tau: the temperature, positive.

    >>> rbm = RBM([[1.0]], [0.0], [0.0])
    >>> float(rbm.energy([1], [1]))
    -1.0
    """

    kind: ClassVar[str | None] = "bernoulli_rbm"

    weights: Float[Array, "*replicas D H"]
    visible_bias: Float[Array, "*replicas D"]
    hidden_bias: Float[Array, "*replicas H"]
    tau: float = eqx.field(static=True)

    def __init__(self, weights: Any, visible_bias: Any, hidden_bias: Any, tau: float = 1.0):
        self.weights = floating(weights)
        self.visible_bias = floating(visible_bias)
        self.hidden_bias = floating(hidden_bias)
        self.tau = temperature(tau, self.weights, self.visible_bias, self.hidden_bias)
        shapes = self.weights.shape, self.visible_bias.shape, self.hidden_bias.shape
        if self.weights.ndim != 2 or shapes[1:] != ((shapes[0][0],), (shapes[0][1],)):
            swapped = self.weights.ndim == 2 and shapes[1:] == ((shapes[0][1],), (shapes[0][0],))
            remedy = "pass weights.T" if swapped else "weights are (n_visible, n_hidden), biases (n_visible,) and (n_hidden,)"
            raise InputError(f"RBM shapes do not fit: weights {shapes[0]}, visible_bias {shapes[1]}, hidden_bias {shapes[2]}; {remedy}")
        if 0 in shapes[0]:
            raise InputError(f"RBM weights have shape {shapes[0]}: both layers need at least one unit")

    @classmethod
    def init(cls, key: Key[Array, ""] | Any, n_visible: int, n_hidden: int, data: Any = None, tau: float = 1.0) -> RBM:
        """Small Gaussian weights; with `data`, visible biases that give its means (else zero).

        >>> RBM.init(0, n_visible=6, n_hidden=4).weights.shape
        (6, 4)
        """
        n_visible, n_hidden = layer_sizes(n_visible, n_hidden)
        tau = temperature(tau)
        weights = 0.01 * jax.random.normal(as_key(key), (n_visible, n_hidden))
        bias = np.zeros(n_visible, np.float32)
        if data is not None:
            rows = Binary(n_visible).check(data)
            bias = tau * logit((rows.sum(0) + 0.5) / (len(rows) + 1.0))  # half a count keeps constant pixels finite
        return cls(weights, bias, np.zeros(n_hidden, np.float32), tau)

    @classmethod
    def examples(cls) -> list[RBM]:
        return [
            cls(
                0.8 * jax.random.normal(jax.random.key(seed), (5, 3)),
                0.5 * jax.random.normal(jax.random.key(seed + 1), (5,)),
                0.5 * jax.random.normal(jax.random.key(seed + 2), (3,)),
                tau,
            )
            for seed, tau in ((10, 0.5), (20, 1.0), (30, 2.0))
        ]

    @property
    def space(self) -> Binary:
        return Binary(self.weights.shape[-2])

    @property
    def n_hidden(self) -> int:
        """H."""
        return self.weights.shape[-1]

    def energy(self, v: Any, h: Any) -> Float[Array, "*batch"]:
        """E(v,h), before division by tau."""
        v, h = self._visible(v), self._hidden(h)
        check_batches(v, h)
        return -jnp.sum((v @ self.weights) * h, -1) - v @ self.visible_bias - h @ self.hidden_bias

    def free_energy(self, v: Any) -> Float[Array, "*batch"]:
        v = self._visible(v)
        return -(v @ self.visible_bias) / self.tau - sum_softplus(self.hidden_logits(v))

    def hidden_logits(self, v: Any) -> Float[Array, "*batch H"]:
        return affine(self._visible(v), self.weights, self.hidden_bias) / self.tau

    def visible_logits(self, h: Any) -> Float[Array, "*batch D"]:
        return affine(self._hidden(h), self.weights.T, self.visible_bias) / self.tau

    def hidden_mean(self, v: Any) -> Float[Array, "*batch H"]:
        """p(h_j = 1 | v)."""
        return jax.nn.sigmoid(self.hidden_logits(v))

    def visible_mean(self, h: Any) -> Float[Array, "*batch D"]:
        """p(v_i = 1 | h)."""
        return jax.nn.sigmoid(self.visible_logits(h))

    def sample_hidden(self, key: Key[Array, ""], v: Any) -> Float[Array, "*batch H"]:
        return bernoulli(key, self.hidden_logits(v))

    def sample_visible(self, key: Key[Array, ""], h: Any) -> Float[Array, "*batch D"]:
        return bernoulli(key, self._visible_logits_to_fuse(h))

    def transposed(self) -> RBM:
        return RBM(self.weights.T, self.hidden_bias, self.visible_bias, self.tau)

    def flip_differences(self, v: Float[Array, "B D"]) -> Float[Array, "B D"]:
        scaled = (p / self.tau for p in (self.weights, self.visible_bias, self.hidden_bias))
        return flip_differences(*scaled, v)

    def n_slabs(self) -> int:
        return rbm_sums.n_high_states(min(self.weights.shape))

    def log_sums(self, slabs: Int[Array, " n"]) -> Float[Array, " n"]:
        return rbm_sums.log_sums(*self._scaled_with_fewer_hidden(), slabs)

    def log_partition(self) -> Float[Array, ""]:
        return rbm_sums.log_partition(*self._scaled_with_fewer_hidden())

    def _scaled_with_fewer_hidden(self) -> tuple[Array, Array, Array]:
        model = self if self.n_hidden <= self.space.size else self.transposed()
        return model.weights / self.tau, model.visible_bias / self.tau, model.hidden_bias / self.tau

    def offsets(self, v: Float[Array, "B D"]) -> Offsets:
        return Offsets(jnp.mean(v, 0), jnp.mean(self.hidden_mean(v), 0))

    def centre(self, gradient: RBM, offsets: Offsets) -> RBM:
        # The centred model is E = -(v-mu)'W(h-lam) - b'(v-mu) - c'(h-lam). Its gradient, mapped back to (W, b, c):
        mu, lam = offsets
        # gW' = gW - mu gc' - gb lam',  gb' = gb - gW' lam,  gc' = gc - mu' gW', with the products taken of gW itself
        gW, gb, gc = gradient.weights, gradient.visible_bias, gradient.hidden_bias
        visible = gb * (1 + lam @ lam) - gW @ lam + mu * (gc @ lam)
        hidden = gc * (1 + mu @ mu) - mu @ gW + (mu @ gb) * lam
        return RBM(gW - jnp.outer(mu, gc) - jnp.outer(gb, lam), visible, hidden, self.tau)

    def base(self, mean: Float[Array, " D"]) -> RBM:
        bias = self.tau * logit(mean)
        return RBM(jnp.zeros_like(self.weights), bias, jnp.zeros_like(self.hidden_bias), self.tau)

    def base_log_partition(self) -> Float[Array, ""]:
        return jnp.sum(jax.nn.softplus(self.visible_bias / self.tau)) + jnp.sum(jax.nn.softplus(self.hidden_bias / self.tau))

    def between(self, base: Any, beta: Float[Array, ""]) -> RBM:  # the energy is linear in the parameters
        return jax.tree.map(lambda start, end: (1 - beta) * start + beta * end, base, self)

    def anneal(
        self, key: Key[Array, ""], base: Any, v: Float[Array, "chains D"], beta_from: Float[Array, ""], beta_to: Float[Array, ""]
    ) -> tuple[Float[Array, "chains D"], Float[Array, " chains"]]:
        hidden = self.hidden_logits(v)  # one product serves weights and sampling
        base_hidden = along(base.hidden_bias, hidden) / self.tau
        before, after = ((1 - beta) * base_hidden + beta * hidden for beta in (beta_from, beta_to))
        biases = (beta_to - beta_from) * (v @ (self.visible_bias - base.visible_bias)) / self.tau
        gain = biases + sum_softplus_difference(after, before)
        h = bernoulli(subkey(key, 0), after)
        visible = (1 - beta_to) * along(base.visible_bias, h) / self.tau + beta_to * self._visible_logits_to_fuse(h)
        return bernoulli(subkey(key, 1), visible), gain

    def penalised(self) -> RBM:
        return jax.tree.map(lambda leaf: leaf is self.weights, self)

    def _visible_logits_to_fuse(self, h: Any) -> Float[Array, "*batch D"]:
        """`visible_logits`, for use where they are not kept: few enough hidden units are summed where the sum is needed."""
        if self.n_hidden > NARROW:
            return self.visible_logits(h)
        rows = jnp.eye(self.n_hidden, dtype=self.weights.dtype) @ self.weights.T  # a product lays them out anew: no strides
        logits = _sum_of_rows(self._hidden(h), rows)
        return (logits + along(self.visible_bias, logits)) / self.tau

    def _visible(self, v: Any) -> Float[Array, "*batch D"]:
        return as_states(v, self.space.size, self.weights.dtype, "visible")

    def _hidden(self, h: Any) -> Float[Array, "*batch H"]:
        return as_states(h, self.n_hidden, self.weights.dtype, "hidden")


def _sum_of_rows(h: Float[Array, "*batch H"], rows: Float[Array, "H D"]) -> Float[Array, "*batch D"]:
    """h @ rows as a written-out sum."""
    terms = [h[..., j, None] * along(rows[j], h) for j in range(rows.shape[0])]
    while len(terms) > 1:  # in pairs, so that no addition waits for all before it
        terms = [a + b for a, b in zip(terms[::2], terms[1::2], strict=False)] + terms[len(terms) - len(terms) % 2 :]
    return terms[0]
