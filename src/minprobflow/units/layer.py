r"""What a layer of an RBM is: independent units with parameters, in a field that the other layer makes.

    p(x) proportional to exp((fields . f(x) - E(x)) / tau),   cumulant(fields) = log of the sum or integral of that over x

A unit type says what its energy E, its features f and its cumulant are. All else about RBMs follows (`models/rbm.py`).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key, PyTree

from ..errors import InputError
from ..numerics import along, floating
from .base import Space

L = TypeVar("L", bound="Layer")
Temperature = float | Float[Array, ""]
Fields = dict[str, Any]
"""the fields of a layer or a model by name, as a file holds them: arrays, layers and plain values"""


class Layer(eqx.Module):
    """Independent units: an immutable pytree that holds their parameters.

    `fields` always has a flat last axis, one entry per feature. `bias` adds to them, whatever else a unit type has.
    """

    if TYPE_CHECKING:
        bias: Array  # a parameter of most layers, but a property of `Mixed`
    kind: ClassVar[str]  # the name in model files
    linear: ClassVar[bool] = False  # E = -bias . f(x), and f is free of parameters
    unit_steps: ClassVar[bool] = False  # `stride` and `precondition` change nothing
    unbounded: ClassVar[bool] = False  # some units take arbitrarily large values
    elementwise: ClassVar[bool] = False  # a unit is sampled from its field alone, so that the two can be fused in one loop

    @property
    @abstractmethod
    def space(self) -> Space:
        """The states of the units."""

    @property
    @abstractmethod
    def feature_shape(self) -> tuple[int, ...]:
        """The layer's axes of the weights: (size,), or (size, values) where a unit has several features."""

    @property
    def n_features(self) -> int:
        """How many features there are in all."""
        return math.prod(self.feature_shape)

    @property
    @abstractmethod
    def flat_bias(self) -> Float[Array, " F"]:
        """The bias of every feature."""

    @abstractmethod
    def with_bias(self: L, bias: Float[Array, " F"]) -> L:
        """The same units with these biases."""

    @abstractmethod
    def energy(self, x: Float[Array, "*batch size"]) -> Float[Array, "*batch"]:
        """E(x), before division by tau."""

    @abstractmethod
    def features(self, x: Float[Array, "*batch size"]) -> Float[Array, "*batch F"]:
        """f(x): what the weights multiply."""

    @abstractmethod
    def logits(self, fields: Float[Array, "*batch F"], tau: Temperature) -> Float[Array, "*batch *values"]:
        """The units' logits in this field, as `space` has them."""

    @abstractmethod
    def cumulant(self, fields: Float[Array, "*batch F"], tau: Temperature) -> Float[Array, "*batch"]:
        """log of the sum (or integral) over x of exp((fields . f(x) - E(x)) / tau)."""

    @abstractmethod
    def mean(self, fields: Float[Array, "*batch F"], tau: Temperature) -> Float[Array, "*batch *values"]:
        """The means of the units; of units with several values, the probabilities of these."""

    @abstractmethod
    def mean_features(self, fields: Float[Array, "*batch F"], tau: Temperature) -> Float[Array, "*batch F"]:
        """The means of f(x): tau times the gradient of the cumulant."""

    @classmethod
    def from_fields(cls, fields: Fields) -> Layer:
        """A layer from its fields by name, as a model file holds them."""
        return cls(**fields)

    def sample(self, key: Key[Array, ""], fields: Float[Array, "*batch F"], tau: Temperature) -> Float[Array, "*batch size"]:
        """x ~ p(x)."""
        return self.space.sample(key, self.logits(fields, tau))

    def tilted(self: L, change: Float[Array, " F"]) -> L:
        """The same units with this added to their biases."""
        return self.with_bias(self.flat_bias + change)

    @property
    @abstractmethod
    def scale(self) -> Float[Array, " F"]:
        """The size of weights that matter, for each feature: the units' standard deviation where they have one."""

    def penalised(self) -> PyTree[bool]:
        """Which parameters L1 and L2 act on: none."""
        return jax.tree.map(lambda leaf: False, self)

    # The path from independent units (the base) to the model

    @abstractmethod
    def base(self: L, means: Float[Array, " *values"], tau: Temperature) -> L:
        """Independent units whose features (`space.features`) have these means."""

    @abstractmethod
    def rest(self: L) -> L:
        """What the base has for a hidden layer: it may differ from this one in what a field can change only."""

    @abstractmethod
    def own_log_partition(self, tau: Temperature) -> Float[Array, ""]:
        """log Z of the units alone."""

    @abstractmethod
    def between(self: L, base: L, beta: Float[Array, ""]) -> tuple[L, Float[Array, " F"], Float[Array, " F"]]:
        """Units with energy (1 - beta) E_base + beta E, up to a constant; and (ratio, shift): own features = ratio x theirs + shift."""

    @abstractmethod
    def advantage(self: L, base: L, x: Float[Array, "*batch size"]) -> Float[Array, "*batch"]:
        """E_base(x) - E(x)."""

    @abstractmethod
    def path_gain(
        self: L, base: L, fields: Float[Array, "*batch F"], beta_from: Float[Array, ""], beta_to: Float[Array, ""], tau: Temperature
    ) -> Float[Array, "*batch"]:
        """The cumulant in the field beta_to x fields at beta_to less that at beta_from, where `base` came from `rest`."""

    def path_logits(
        self: L, base: L, fields: Float[Array, "*batch F"], beta: Float[Array, ""], tau: Temperature
    ) -> Float[Array, "*batch *values"]:
        """Logits at beta along the path, in the field beta x fields."""
        own = self.logits(fields, tau)
        return (1 - beta) * along(base.logits(jnp.zeros_like(base.flat_bias), tau), own) + beta * own

    # Hooks of the centred gradient. `spread` is what the layer's own `spread` returned.

    def spread(self, x: Float[Array, "B size"], fields: Float[Array, " F"], tau: Temperature) -> PyTree[Array]:
        """How far data lie from the units' means in this field, where that matters to `stride`."""
        return None

    def centre_features(self, means: Float[Array, " F"], fields: Float[Array, " F"]) -> Float[Array, " F"]:
        """The features' origin, of which `means` is the mean over data and `fields` the field at the other layer's means."""
        return means

    @property
    def slopes(self) -> Float[Array, " F"]:
        """Where a bias moves the origin of the feature: by how much (Gaussian units); else zero."""
        return jnp.zeros_like(self.flat_bias)

    def own_field(self, weights: Float[Array, "D F"], slopes: Float[Array, " D"], means: Float[Array, " F"]) -> Float[Array, " F"]:
        """What a unit adds to its own field by way of the other layer's Gaussian units, less what its mean `means` would add."""
        return jnp.zeros_like(self.flat_bias)

    def stride(self, spread: PyTree[Array], tau: Temperature) -> Float[Array, " F"]:
        """The scale of steps in the weights, for each feature: about the inverse of their Fisher information."""
        return jnp.ones_like(self.flat_bias)

    def precondition(self: L, gradient: L, spread: PyTree[Array], tau: Temperature) -> L:
        """The gradient of the layer's own parameters in those units."""
        return gradient


class LinearLayer(Layer):
    """Units whose energy is -bias . f(x): the bias is a constant field, and f are the features of the space."""

    linear: ClassVar[bool] = True

    @property
    def feature_shape(self) -> tuple[int, ...]:
        return self.space.feature_shape

    @property
    def flat_bias(self) -> Float[Array, " F"]:
        return self.bias.reshape(-1)

    def with_bias(self: L, bias: Float[Array, " F"]) -> L:
        return eqx.tree_at(lambda layer: layer.bias, self, bias.reshape(self.bias.shape))

    def energy(self, x: Float[Array, "*batch size"]) -> Float[Array, "*batch"]:
        return -(self.features(x) @ self.flat_bias)

    def features(self, x: Float[Array, "*batch size"]) -> Float[Array, "*batch F"]:
        return self.space.features(x).reshape(*x.shape[:-1], self.n_features)

    def logits(self, fields: Float[Array, "*batch F"], tau: Temperature) -> Float[Array, "*batch *values"]:
        flat = (fields + along(self.flat_bias, fields)) / tau
        return flat.reshape(*fields.shape[:-1], *self.feature_shape)

    def cumulant(self, fields: Float[Array, "*batch F"], tau: Temperature) -> Float[Array, "*batch"]:
        return self.space.log_norm(self.logits(fields, tau))

    def mean_features(self, fields: Float[Array, "*batch F"], tau: Temperature) -> Float[Array, "*batch F"]:
        return self.mean(fields, tau).reshape(fields.shape)

    @property
    def scale(self) -> Float[Array, " F"]:
        return jnp.ones_like(self.flat_bias)

    def base(self: L, means: Float[Array, " *values"], tau: Temperature) -> L:
        return self.with_bias(tau * self.space.logits(means).reshape(-1))

    def rest(self: L) -> L:
        return self.with_bias(jnp.zeros_like(self.flat_bias))

    def own_log_partition(self, tau: Temperature) -> Float[Array, ""]:
        return self.space.log_norm(self.bias / tau)

    def between(self: L, base: L, beta: Float[Array, ""]) -> tuple[L, Float[Array, " F"], Float[Array, " F"]]:
        mixed = self.with_bias((1 - beta) * base.flat_bias + beta * self.flat_bias)
        return mixed, jnp.ones_like(self.flat_bias), jnp.zeros_like(self.flat_bias)

    def advantage(self: L, base: L, x: Float[Array, "*batch size"]) -> Float[Array, "*batch"]:
        return self.features(x) @ (self.flat_bias - base.flat_bias)

    def path_gain(
        self: L, base: L, fields: Float[Array, "*batch F"], beta_from: Float[Array, ""], beta_to: Float[Array, ""], tau: Temperature
    ) -> Float[Array, "*batch"]:
        before, after = (self.path_logits(base, fields, beta, tau) for beta in (beta_from, beta_to))
        return self.space.log_norm_difference(after, before)

    def path_logits(
        self: L, base: L, fields: Float[Array, "*batch F"], beta: Float[Array, ""], tau: Temperature
    ) -> Float[Array, "*batch *values"]:
        own = self.logits(fields, tau)
        return (1 - beta) * along(base.bias, own) / tau + beta * own


class DiscreteLayer(Layer):
    """Units with countable values: a change of one of them can be followed."""

    @abstractmethod
    def changes(self, x: Float[Array, " size"], weights: Float[Array, "F G"]) -> tuple[Array, Array]:
        """For each neighbour y of one state x: E(y) - E(x), and (f(y) - f(x)) W along a last axis."""


def parameter(values: object, name: str, rank: int, of: str) -> Float[Array, ...]:
    """Values of a layer's parameter, if they have this many axes."""
    array = floating(values, name)
    if array.ndim != rank or 0 in array.shape:
        wanted = "(n,)" if rank == 1 else "(n, values)"
        raise InputError(f"{name} of {of} units has shape {array.shape}: pass {wanted}, with at least one unit")
    return array
