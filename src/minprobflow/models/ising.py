"""The Ising model of spin physics, or fully visible Boltzmann machine: fields and pairwise couplings, no hidden units."""

from __future__ import annotations

from typing import ClassVar, NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Key

from ..arguments import room, whole
from ..errors import InputError
from ..numerics import affine, as_states, floating, logit
from ..random_bits import bernoulli, subkey
from ..tables import numbers
from ..units import Binary
from ..units.layer import Fields
from . import fast
from .base import Centrable, FastAnnealing, FastHeatBath, LogLinear, Model, temperature

Matrix = TypeVar("Matrix", Array, np.ndarray)


class Spins(NamedTuple):
    """Parameters for units of -1 and +1: p(s) proportional to exp((h's + s'Js/2) / tau), J with a zero diagonal."""

    couplings: Float[np.ndarray, "D D"]
    fields: Float[np.ndarray, " D"]


class Ising(LogLinear, Centrable, FastAnnealing, FastHeatBath):
    r"""Units v in {0,1}^D, temperature tau.

    .. math::
        E(v) = -b'v - \sum_{i<j} J_{ij} v_i v_j, \qquad p(v) = e^{-E/\tau} / Z

    The parameter is the upper triangle of J: each coupling once, so that no update can make J asymmetric, and
    gradients and penalties count each pair once.

    Args:
        couplings: J, a symmetric matrix with a zero diagonal, or its upper triangle alone.
        fields: b, shape (D,).
        tau: the temperature, positive.

    >>> ising = Ising([[0.0, 2.0], [2.0, 0.0]], [0.5, 0.0])
    >>> float(ising.free_energy([1, 1]))
    -2.5
    """

    kind: ClassVar[str | None] = "ising"

    pairs: Float[Array, "*replicas D D"]  # what is not above the diagonal is not used
    fields: Float[Array, "*replicas D"]
    tau: float = eqx.field(static=True)

    def __init__(self, couplings: object, fields: object, tau: float = 1.0):
        self.pairs = jnp.triu(_square(floating(couplings)), 1)
        self.fields = floating(fields)
        self.tau = temperature(tau, self.pairs, self.fields)
        if self.fields.shape != self.pairs.shape[:1]:
            raise InputError(f"Ising shapes do not fit: couplings {self.pairs.shape}, fields {self.fields.shape}; pass (D, D) and (D,)")

    @classmethod
    def init(cls, n_visible: int, data: object = None, tau: float = 1.0) -> Ising:
        """Independent units; with `data`, fields that give its means (else fair coins).

        >>> Ising.init(3, data=[[0, 1, 1], [0, 1, 0]]).fields.round(2).tolist()
        [-1.6100000143051147, 1.6100000143051147, 0.0]
        """
        n_visible, tau = whole("n_visible", n_visible, 1), temperature(tau)
        room("the couplings", n_visible, n_visible)
        fields = np.zeros(n_visible, np.float32)
        if data is not None:
            rows = Binary(n_visible).check(data)
            fields = tau * logit((rows.sum(0) + 0.5) / (len(rows) + 1.0))  # half a count keeps constant units finite
        return cls(np.zeros((n_visible, n_visible), np.float32), fields, tau)

    @classmethod
    def from_spins(cls, couplings: object, fields: object, tau: float = 1.0) -> Ising:
        """The same distribution as that of spins s = 2v - 1 with p(s) proportional to exp((h's + sum_{i<j} J_ij s_i s_j) / tau).

        Args:
            couplings: J, symmetric with a zero diagonal, or its upper triangle alone.
        """
        J, h = (numbers(x, name).astype(np.float64) for x, name in ((couplings, "couplings"), (fields, "fields")))
        upper = np.triu(_square(J), 1)
        symmetric = upper + upper.T
        if h.shape != symmetric.shape[:1]:
            raise InputError(f"Ising shapes do not fit: couplings {symmetric.shape}, fields {h.shape}; pass (D, D) and (D,)")
        return cls(4 * symmetric, 2 * h - 2 * symmetric.sum(1), tau)

    def to_spins(self) -> Spins:
        """Parameters of the same distribution for spins s = 2v - 1, to double precision."""
        upper, fields = np.asarray(jnp.triu(self.pairs, 1), np.float64), np.asarray(self.fields, np.float64)
        symmetric = upper + upper.T
        return Spins(symmetric / 4, fields / 2 + symmetric.sum(1) / 4)

    @classmethod
    def from_fields(cls, fields: Fields) -> Ising:
        return cls(fields.pop("pairs"), **fields)

    @property
    def space(self) -> Binary:
        return Binary(self.fields.shape[-1])

    @property
    def couplings(self) -> Float[Array, "*replicas D D"]:
        """J, symmetric with a zero diagonal."""
        upper = jnp.triu(self.pairs, 1)
        return upper + jnp.swapaxes(upper, -1, -2)

    def free_energy(self, v: object) -> Float[Array, "*batch"]:
        v = self._units(v)
        return -(v @ self.fields + jnp.sum((v @ jnp.triu(self.pairs, 1)) * v, -1)) / self.tau

    def pairwise(self) -> tuple[Float[Array, "D D"], Float[Array, " D"]]:
        """J and b, divided by tau."""
        return self.couplings / self.tau, self.fields / self.tau

    def flip_differences(self, v: Float[Array, "B D"]) -> Float[Array, "B D"]:
        return (1 - 2 * v) * affine(v, self.couplings, self.fields) / self.tau

    def sweep(
        self, key: Key[Array, ""], v: Float[Array, "chains D"], held: Bool[Array, "#chains D"] | None = None
    ) -> Float[Array, "chains D"]:
        couplings, fields = self.pairwise()

        def redraw(site: Array, units: Float[Array, "D chains"]) -> Float[Array, "D chains"]:
            drawn = bernoulli(subkey(key, site), couplings[site] @ units + fields[site])
            return units.at[site].set(drawn if held is None else jnp.where(held[:, site], units[site], drawn))

        # a unit's values in all chains lie side by side
        return jax.lax.fori_loop(0, self.space.size, redraw, self._units(v).T).T

    def offsets(self, v: Float[Array, "B D"]) -> Float[Array, " D"]:
        return jnp.mean(v, 0)

    def centre(self, gradient: Ising, offsets: Float[Array, " D"]) -> Ising:
        # the gradient in units less their means, taken back to the plain parameters
        outer = jnp.outer(gradient.fields, offsets)
        pairs = jnp.triu(gradient.pairs - outer - outer.T, 1)
        return eqx.tree_at(lambda m: m.pairs, gradient, pairs).recentred(-offsets)

    def recentred(self, offset: Float[Array, " D"]) -> Ising:
        # b'v + v'Jv/2 = (b + J offset)'(v - offset) + (v - offset)'J(v - offset)/2 + a constant
        return eqx.tree_at(lambda m: m.fields, self, self.fields + self.couplings @ offset)

    def flip_curvatures(self, v: Float[Array, "B D"], offset: Float[Array, " D"], weights: Float[Array, "B D"]) -> Ising:
        by_unit = weights.T @ jnp.square(v - offset[None])  # flip i changes with J_ij by +-(v_j - offset_j), and with b_i by +-1
        pairs, fields = jnp.triu(by_unit + by_unit.T, 1) / self.tau**2, jnp.sum(weights, 0) / self.tau**2
        return eqx.tree_at(lambda m: (m.pairs, m.fields), self, (pairs, fields))

    def base(self, mean: Float[Array, " D"]) -> Ising:
        return eqx.tree_at(lambda m: (m.pairs, m.fields), self, (jnp.zeros_like(self.pairs), self.tau * logit(mean)))

    def base_log_partition(self) -> Float[Array, ""]:
        return jnp.sum(jax.nn.softplus(self.fields / self.tau))

    def is_base(self) -> bool:
        return not bool(jnp.any(jnp.triu(self.pairs, 1)))

    def base_logits(self) -> Float[Array, " D"]:
        return self.fields / self.tau

    def between(self, base: Model, beta: Float[Array, ""]) -> Ising:  # the energy is linear in the parameters
        return jax.tree.map(lambda start, end: (1 - beta) * start + beta * end, base, self)

    def anneal(
        self, key: Key[Array, ""], base: Model, v: Float[Array, "chains D"], beta_from: Float[Array, ""], beta_to: Float[Array, ""]
    ) -> tuple[Float[Array, "chains D"], Float[Array, " chains"]]:
        assert isinstance(base, Ising)
        gain = (beta_to - beta_from) * (-(v @ base.fields) / self.tau - self.free_energy(v))  # F is linear in beta: one product
        return fast.swept(self.between(base, beta_to), key, v), gain

    def penalised(self) -> Ising:
        return jax.tree.map(lambda leaf: leaf is self.pairs, self)

    def _units(self, v: object) -> Float[Array, "*batch D"]:
        return as_states(v, self.space.size, self.fields.dtype)


def _square(matrix: Matrix) -> Matrix:
    """`matrix`, or an error if it is not one that says each coupling once or twice alike."""
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.shape[0] == 0:
        raise InputError(f"couplings have shape {matrix.shape}: pass a square matrix, one row and column a unit")
    if isinstance(matrix, jax.core.Tracer):
        return matrix
    values = np.asarray(matrix)
    if np.diagonal(values).any():
        raise InputError("couplings have a diagonal, but v_i v_i = v_i and s_i s_i = 1: move it to the fields, and set it to zero")
    if np.tril(values).any() and not np.allclose(values, values.T, rtol=1e-5, atol=1e-8, equal_nan=True):
        raise InputError("couplings are neither symmetric nor upper triangular: pass J with J_ij = J_ji, for example (J + J.T) / 2")
    return matrix
