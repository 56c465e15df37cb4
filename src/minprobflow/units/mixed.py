"""Unit types side by side, for tables whose columns are of several kinds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar, TypeVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key, PyTree

from ..arguments import shown
from ..errors import InputError
from ..random_bits import subkey
from .columns import Columns, Places, flat, places, total
from .layer import DiscreteLayer, Fields, Layer, Temperature

M = TypeVar("M", bound="Mixed")


class Mixed(DiscreteLayer):
    """Layers side by side: each has its own columns of the table, and its own share of features, biases and weights.

    Args:
        parts: the layers.
        columns: which columns of the table each part has; by default one part after the other.

    >>> from minprobflow.units import Bernoulli, Gaussian
    >>> Mixed(Bernoulli([0.0, 0.0]), Gaussian([1.0])).space.size
    3
    """

    kind: ClassVar[str] = "mixed"

    parts: tuple[Layer, ...]
    columns: Places = eqx.field(static=True)

    def __init__(self, *parts: Layer, columns: Places = ()):
        if not parts or not all(isinstance(part, Layer) and not isinstance(part, Mixed) for part in parts):
            wrong = next((part for part in parts if not isinstance(part, Layer)), None)
            raise InputError(f"mixed units are layers side by side, not {shown(wrong)}: pass such as mpf.Bernoulli(b), mpf.Gaussian(m)")
        self.parts = parts
        self.columns = places([part.space.size for part in parts], columns)

    @classmethod
    def from_fields(cls, fields: Fields) -> Mixed:
        return cls(*fields["parts"], columns=tuple(map(tuple, fields.get("columns", ()))))

    @property
    def linear(self) -> bool:  # type: ignore[override]
        """Whether all parts are."""
        return all(part.linear for part in self.parts)

    @property
    def unit_steps(self) -> bool:  # type: ignore[override]
        """Whether all parts have them."""
        return all(part.unit_steps for part in self.parts)

    @property
    def unbounded(self) -> bool:  # type: ignore[override]
        """Whether any part is."""
        return any(part.unbounded for part in self.parts)

    @property
    def space(self) -> Columns:
        return Columns(tuple(part.space for part in self.parts), self.columns)

    @property
    def feature_shape(self) -> tuple[int, ...]:
        return (sum(part.n_features for part in self.parts),)

    @property  # type: ignore[misc]
    def bias(self) -> Float[Array, " F"]:  # type: ignore[override]
        """The biases of all parts."""
        return self.flat_bias

    @property
    def flat_bias(self) -> Float[Array, " F"]:
        return flat([part.flat_bias for part in self.parts])

    @property
    def scale(self) -> Float[Array, " F"]:
        return flat([part.scale for part in self.parts])

    @property
    def slopes(self) -> Float[Array, " F"]:
        return flat([part.slopes for part in self.parts])

    def with_bias(self: M, bias: Float[Array, " F"]) -> M:
        return self._of([part.with_bias(x) for part, x in self._split(bias)])

    def energy(self, x: Float[Array, "*batch size"]) -> Float[Array, "*batch"]:
        return total([part.energy(own) for part, own in self._columns(x)])

    def features(self, x: Float[Array, "*batch size"]) -> Float[Array, "*batch F"]:
        return jnp.concatenate([part.features(own) for part, own in self._columns(x)], -1)

    def logits(self, fields: Float[Array, "*batch F"], tau: Temperature) -> Float[Array, "*batch L"]:
        return flat([part.logits(x, tau) for part, x in self._split(fields)], fields.ndim - 1)

    def cumulant(self, fields: Float[Array, "*batch F"], tau: Temperature) -> Float[Array, "*batch"]:
        return total([part.cumulant(x, tau) for part, x in self._split(fields)])

    def mean(self, fields: Float[Array, "*batch F"], tau: Temperature) -> Float[Array, "*batch F"]:
        return flat([part.mean(x, tau) for part, x in self._split(fields)], fields.ndim - 1)

    def mean_features(self, fields: Float[Array, "*batch F"], tau: Temperature) -> Float[Array, "*batch F"]:
        return jnp.concatenate([part.mean_features(x, tau) for part, x in self._split(fields)], -1)

    def sample(self, key: Key[Array, ""], fields: Float[Array, "*batch F"], tau: Temperature) -> Float[Array, "*batch size"]:
        drawn = [part.sample(subkey(key, i), x, tau) for i, (part, x) in enumerate(self._split(fields))]
        return self.space.joined(drawn)

    def base(self: M, means: Float[Array, " L"], tau: Temperature) -> M:
        return self._of([part.base(x, tau) for part, (_, x) in zip(self.parts, self.space.split(means), strict=True)])

    def rest(self: M) -> M:
        return self._of([part.rest() for part in self.parts])

    def own_log_partition(self, tau: Temperature) -> Float[Array, ""]:
        return total([part.own_log_partition(tau) for part in self.parts])

    def between(self: M, base: M, beta: Float[Array, ""]) -> tuple[M, Float[Array, " F"], Float[Array, " F"]]:
        layers, ratios, shifts = zip(*(own.between(other, beta) for own, other in self._beside(base)), strict=True)
        return self._of(layers), flat(ratios), flat(shifts)

    def advantage(self: M, base: M, x: Float[Array, "*batch size"]) -> Float[Array, "*batch"]:
        gains = [own.advantage(other, own_x) for (own, other), (_, own_x) in zip(self._beside(base), self._columns(x), strict=True)]
        return total(gains)

    def path_gain(
        self: M, base: M, fields: Float[Array, "*batch F"], beta_from: Float[Array, ""], beta_to: Float[Array, ""], tau: Temperature
    ) -> Float[Array, "*batch"]:
        pairs = zip(self._beside(base), self._split(fields), strict=True)
        return total([own.path_gain(other, x, beta_from, beta_to, tau) for (own, other), (_, x) in pairs])

    def spread(self, x: Float[Array, "B size"], fields: Float[Array, " F"], tau: Temperature) -> PyTree[Array]:
        pairs = zip(self._columns(x), self._split(fields), strict=True)
        return tuple(part.spread(own, field, tau) for (part, own), (_, field) in pairs)

    def centre_features(self, means: Float[Array, " F"], fields: Float[Array, " F"]) -> Float[Array, " F"]:
        pairs = zip(self._split(means), self._split(fields), strict=True)
        return flat([part.centre_features(mean, field) for (part, mean), (_, field) in pairs])

    def own_field(self, weights: Float[Array, "D F"], slopes: Float[Array, " D"], means: Float[Array, " F"]) -> Float[Array, " F"]:
        pairs = zip(self._split(weights), self._split(means), strict=True)
        return flat([part.own_field(columns, slopes, mean) for (part, columns), (_, mean) in pairs])

    def stride(self, spread: PyTree[Array], tau: Temperature) -> Float[Array, " F"]:
        return flat([part.stride(own, tau) for part, own in self._spreads(spread)])

    def precondition(self: M, gradient: M, spread: PyTree[Array], tau: Temperature) -> M:
        pairs = zip(self._spreads(spread), gradient.parts, strict=True)
        return self._of([part.precondition(own, s, tau) for (part, s), own in pairs])

    def changes(self, x: Float[Array, " size"], weights: Float[Array, "F G"]) -> tuple[Array, Array]:
        room, energies, fields = self.space.neighbours[1], [], []  # type: ignore[attr-defined]
        for (part, own), (_, rows) in zip(self._columns(x), self._split(weights.T), strict=True):
            energy, field = part.changes(own, rows.T)  # type: ignore[attr-defined]
            absent = room - energy.reshape(own.shape[0], -1).shape[1]
            energies.append(jnp.pad(energy.reshape(own.shape[0], -1), ((0, 0), (0, absent)), constant_values=jnp.inf))
            fields.append(jnp.pad(field.reshape(own.shape[0], -1, field.shape[-1]), ((0, 0), (0, absent), (0, 0))))
        order = np.argsort(np.concatenate(self.columns))
        return jnp.concatenate(energies)[order], jnp.concatenate(fields)[order]

    def _of(self: M, parts: Sequence[Layer]) -> M:
        return eqx.tree_at(lambda layer: layer.parts, self, tuple(parts))

    def _columns(self, x: Float[Array, "*batch size"]) -> Iterator[tuple[Layer, Array]]:
        return zip(self.parts, self.space.of_parts(x), strict=True)

    def _beside(self: M, base: M) -> Iterator[tuple[Layer, Layer]]:
        return zip(self.parts, base.parts, strict=True)

    def _spreads(self, spread: PyTree[Array]) -> Iterator[tuple[Layer, PyTree[Array]]]:
        return zip(self.parts, [None] * len(self.parts) if spread is None else spread, strict=True)

    def _split(self, joined: Float[Array, "*batch F"]) -> Iterator[tuple[Layer, Array]]:
        first = 0
        for part in self.parts:
            yield part, joined[..., first : first + part.n_features]
            first += part.n_features
