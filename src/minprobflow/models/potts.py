"""The Potts model: units with q values each, fields and pairwise couplings, nothing hidden."""

from __future__ import annotations

from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Key

from ..arguments import room, whole
from ..errors import InputError
from ..numerics import along, as_states, floating
from ..random_bits import categorical, subkey
from ..units import Categories
from . import fast
from .base import Centrable, FastAnnealing, FastHeatBath, LogLinear, Model, temperature


class Potts(LogLinear, FastHeatBath, Centrable, FastAnnealing):
    r"""Units v_i in {0, ..., q-1}, i = 1..D, temperature tau.

    .. math::
        E(v) = -\sum_i h_i(v_i) - \sum_{i<j} J_{ij}(v_i, v_j), \qquad p(v) = e^{-E/\tau} / Z

    The couplings are held for both orders of a pair, and only their symmetric part without the blocks i = j enters the
    energy. So a gradient is symmetric with zero blocks too, and descent keeps the form it starts from.

    Args:
        couplings: J, shape (D, q, D, q), with J[i, a, j, b] = J[j, b, i, a] and J[i, :, i, :] = 0.
        fields: h, shape (D, q).
        tau: the temperature, positive.

    >>> model = Potts.init(n_visible=4, n_values=3)
    >>> model.free_energy([[0, 1, 2, 0]]).shape
    (1,)
    """

    kind: ClassVar[str | None] = "potts"

    couplings: Float[Array, "*replicas D q D q"]
    fields: Float[Array, "*replicas D q"]
    tau: float = eqx.field(static=True)

    def __init__(self, couplings: object, fields: object, tau: float = 1.0):
        self.couplings = floating(couplings)
        self.fields = floating(fields)
        self.tau = temperature(tau, self.fields, self.couplings)
        shape = self.fields.shape
        if len(shape) != 2 or 0 in shape or self.couplings.shape != shape * 2:
            expected = "couplings are (D, q, D, q), fields (D, q)"
            raise InputError(f"Potts shapes do not fit: couplings {self.couplings.shape}, fields {shape}; {expected}")
        if not isinstance(self.couplings, jax.core.Tracer):
            _check_symmetry(np.asarray(self.couplings))

    @classmethod
    def init(cls, n_visible: int, n_values: int, data: object = None, tau: float = 1.0) -> Potts:
        """Independent units: no couplings; with `data`, fields that give its frequencies (else zero).

        Args:
            n_visible: D, the number of units.
            n_values: q, the number of values of a unit.
            data: rows of whole numbers from 0 to q - 1.
            tau: the temperature.
        """
        space, tau = Categories(whole("n_visible", n_visible, 1), n_values), temperature(tau)
        room("the couplings", *space.feature_shape * 2)
        return cls(jnp.zeros(space.feature_shape * 2), space.layer(data, tau).bias, tau)

    @property
    def space(self) -> Categories:
        return Categories(*self.fields.shape[-2:])

    def free_energy(self, v: object) -> Float[Array, "*batch"]:
        x = self.space.features(self._states(v))
        return -jnp.sum(x * (along(self.fields, x) + self._local_fields(x)), (-2, -1)) / (2 * self.tau)  # the fields' half, the pairs twice

    def pairwise(self) -> tuple[Float[Array, "D q D q"], Float[Array, "D q"]]:
        """J and h, divided by tau."""
        return _pairs_only(self.couplings) / self.tau, self.fields / self.tau

    def flip_differences(self, v: Float[Array, "B D"]) -> Float[Array, "B D others"]:
        x = self.space.features(v)
        local = self._local_fields(x) / self.tau  # of every value of a unit, given all others
        own = jnp.sum(x * local, -1, keepdims=True)
        return self.space.not_own(local, v) - own

    def sweep(
        self, key: Key[Array, ""], v: Float[Array, "chains D"], held: Bool[Array, "#chains D"] | None = None
    ) -> Float[Array, "chains D"]:
        size, q = self.fields.shape
        towards = _pairs_only(self.couplings).transpose(2, 0, 1, 3).reshape(size, size * q, q)  # [i][(j, v_j)] acts on unit i
        first_row = q * jnp.arange(size)

        def redraw(v: Array, site: Array) -> tuple[Array, None]:
            acting = towards[site][first_row[None] + v.astype(first_row.dtype)]  # one row of q numbers for each other unit
            drawn = categorical(subkey(key, site), (self.fields[site][None] + jnp.sum(acting, -2)) / self.tau)
            return v.at[:, site].set(drawn if held is None else jnp.where(held[:, site], v[:, site], drawn)), None

        return jax.lax.scan(redraw, v, jnp.arange(size))[0]

    def zero_sum(self) -> Potts:
        """The same distribution in the gauge where fields and couplings sum to zero over each unit's values.

        Adding to J_ij(a, b) what depends on b alone, and taking it off h_j(b), changes no probability. Parameters can be
        compared only once this freedom is fixed. In this gauge the couplings are as small as they can be.
        """
        pairs = _pairs_only(self.couplings)
        over_a, over_b = (jnp.mean(pairs, axis, keepdims=True) for axis in (1, 3))
        over_both = jnp.mean(over_a, 3, keepdims=True)
        fields = self.fields + jnp.sum(over_b - over_both, (2, 3))
        return Potts(pairs - over_a - over_b + over_both, fields - jnp.mean(fields, 1, keepdims=True), self.tau)

    def contact_scores(self, leave_out: int | None = None) -> Float[Array, "D D"]:
        """How strongly units are coupled: Frobenius norms in the zero-sum gauge, less the average product.

        The correction (Dunn, Wahl & Gloor 2008) takes off what a unit has in common with all: S_ij - S_i. S_.j / S_..

        Args:
            leave_out: a value that does not count in the norms, such as the gap of an alignment.
        """
        blocks = self.zero_sum().couplings
        if leave_out is not None:
            leave_out = whole("leave_out", leave_out, 0, self.space.n_values - 1)
            blocks = jnp.delete(jnp.delete(blocks, leave_out, 1), leave_out, 3)
        norms = jnp.sqrt(jnp.sum(blocks**2, (1, 3)))
        of_unit = jnp.sum(norms, 1) / (norms.shape[0] - 1)
        overall = jnp.mean(of_unit)
        expected = jnp.outer(of_unit, of_unit) / jnp.where(overall > 0, overall, 1.0)
        return (norms - expected) * (1 - jnp.eye(norms.shape[0], dtype=norms.dtype))

    def offsets(self, v: Float[Array, "B D"]) -> Float[Array, "D q"]:
        return jnp.mean(self.space.features(v), 0)

    def centre(self, gradient: Potts, offsets: Float[Array, "D q"]) -> Potts:
        # the gradient in features less their means, taken back to the plain parameters
        pairs = gradient.couplings - _pairs_only(gradient.fields[:, :, None, None] * offsets[None, None])
        return eqx.tree_at(lambda m: m.couplings, gradient, pairs).recentred(-offsets)

    def recentred(self, offset: Float[Array, "D q"]) -> Potts:
        # with one-hot x, h'x + x'Jx/2 = (h + J offset)'(x - offset) + (x - offset)'J(x - offset)/2 + a constant
        moved = jnp.einsum("iajb,jb->ia", _pairs_only(self.couplings), offset)
        return eqx.tree_at(lambda m: m.fields, self, self.fields + moved)

    def flip_curvatures(self, v: Float[Array, "B D"], offset: Float[Array, "D q"], weights: Float[Array, "B D others"]) -> Potts:
        x, values = self.space.features(v) - offset[None], jnp.arange(offset.shape[-1] - 1)
        own = v.astype(values.dtype)
        places = values[None, None] + (values[None, None] >= own[..., None]).astype(values.dtype)  # of the other values
        rows, sites = jnp.arange(x.shape[0])[:, None], jnp.arange(x.shape[1])[None]
        table = jnp.zeros_like(x).at[rows[..., None], sites[..., None], places].set(weights).at[rows, sites, own].set(jnp.sum(weights, -1))
        # a flip to value a changes with h_i(a) by 1, and with J_ij(a, b) by x_j(b) / 2, of which there are two; its old value by minus that
        by_unit = jnp.einsum("nia,njb->iajb", table, jnp.square(x)) / 2
        return eqx.tree_at(lambda m: (m.couplings, m.fields), self, (_pairs_only(by_unit) / self.tau**2, jnp.sum(table, 0) / self.tau**2))

    def base(self, mean: Float[Array, "D q"]) -> Potts:
        return Potts(jnp.zeros_like(self.couplings), self.tau * self.space.logits(mean), self.tau)

    def base_log_partition(self) -> Float[Array, ""]:
        return self.space.log_norm(self.fields / self.tau)

    def is_base(self) -> bool:
        return not bool(jnp.any(_pairs_only(self.couplings)))

    def base_logits(self) -> Float[Array, "D q"]:
        return self.fields / self.tau

    def between(self, base: Model, beta: Float[Array, ""]) -> Potts:  # the energy is linear in the parameters
        return jax.tree.map(lambda start, end: (1 - beta) * start + beta * end, base, self)

    def anneal(
        self, key: Key[Array, ""], base: Model, v: Float[Array, "chains D"], beta_from: Float[Array, ""], beta_to: Float[Array, ""]
    ) -> tuple[Float[Array, "chains D"], Float[Array, " chains"]]:
        gain = (beta_to - beta_from) * (base.free_energy(v) - self.free_energy(v))
        return fast.swept(self.between(base, beta_to), key, v), gain

    def penalised(self) -> Potts:
        return jax.tree.map(lambda leaf: leaf is self.couplings, self)

    def _local_fields(self, x: Float[Array, "*batch D q"]) -> Float[Array, "*batch D q"]:
        """h_i(a) + sum_j J_ij(a, v_j), for one-hot x."""
        size, q = self.fields.shape
        pairs = _pairs_only(self.couplings).reshape(size * q, size * q)
        return along(self.fields, x) + (x.reshape(*x.shape[:-2], size * q) @ pairs).reshape(x.shape)

    def _states(self, v: object) -> Float[Array, "*batch D"]:
        return as_states(v, self.space.size, self.fields.dtype)


def _pairs_only(couplings: Float[Array, "D q D q"]) -> Float[Array, "D q D q"]:
    """The part of the couplings that enters the energy: symmetric, without the blocks i = j."""
    distinct = 1 - jnp.eye(couplings.shape[0], dtype=couplings.dtype)
    return distinct[:, None, :, None] * (couplings + couplings.transpose(2, 3, 0, 1)) / 2


def _check_symmetry(couplings: Float[np.ndarray, "D q D q"]) -> None:
    scale = 1e-4 * max(float(np.abs(couplings).max()), 1e-30)
    if np.abs(couplings - couplings.transpose(2, 3, 0, 1)).max() > scale:
        raise InputError(
            "couplings[i, a, j, b] must equal couplings[j, b, i, a]: if each pair is given once, pass J + J.transpose(2, 3, 0, 1)"
        )
    if np.abs(np.einsum("iaib->iab", couplings)).max() > scale:
        raise InputError("couplings[i, :, i, :] must be zero: a unit's own values belong into the fields")
