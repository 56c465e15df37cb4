"""Faster ways to compute what models can compute anyway: the one place where they are chosen, by unit type.

Layers of bits and spins are written as a Bernoulli RBM with the same distribution, by s = 2v - 1. The compiled kernels (`native`) are
used where they are on and the parameters are single-precision numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol, TypeGuard, runtime_checkable

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from .. import native
from ..numerics import along
from ..units import Bernoulli, Layer, Spin
from . import rbm_flips, rbm_sums
from .base import FastHeatBath, Model

BITS: dict[type[Layer], tuple[float, float]] = {Bernoulli: (1.0, 0.0), Spin: (2.0, -1.0)}
"""layers whose units are a v + c with bits v: a and c"""


@runtime_checkable
class TwoLayers(Protocol):
    """What is asked of an RBM."""

    visible: Layer
    hidden: Layer
    weights: Array
    tau: float


@runtime_checkable
class Pairwise(Protocol):
    """Units with fields and pairwise couplings."""

    def pairwise(self) -> tuple[Float[Array, "*shape"], Float[Array, " D *values"]]:
        """Couplings, symmetric and zero between a unit and itself, and fields; at temperature one."""
        ...


Steps = tuple[int | Int[Array, ""], int | Int[Array, ""]]
Held = Bool[Array, "#chains D"] | None


@runtime_checkable
class Draw(Protocol):
    """Steps of a sampler, all at once."""

    def __call__(self, key: Key[Array, ""], v: Float[Array, "chains D"], steps: Steps | None = None) -> Float[Array, "chains D"]:
        """The chains after steps first, ..., last - 1, where step i draws from subkey(key, i); or after one that draws from `key`."""
        ...


@runtime_checkable
class Sweep(Protocol):
    """Sweeps over all units, all at once."""

    def __call__(
        self, key: Key[Array, ""], v: Float[Array, "chains D"], steps: Steps | None = None, held: Held = None
    ) -> Float[Array, "chains D"]:
        """As `Draw`, but units where `held` is true stay."""
        ...


@runtime_checkable
class Path(Protocol):
    """A walk along the path from independent units to the model."""

    def __call__(
        self, key: Key[Array, ""], base: Model, v: Float[Array, "chains D"], betas: Float[Array, " n"]
    ) -> tuple[Float[Array, "chains D"], Float[Array, "steps chains"]]:
        """The chains after a step at each of betas[1:], and what each step gains: F at the beta before less F at its own."""
        ...


class Bits(NamedTuple):
    """A Bernoulli RBM at tau = 1, and what its energy lacks."""

    weights: Float[Array, "D H"]
    visible_bias: Float[Array, " D"]
    hidden_bias: Float[Array, " H"]
    constant: Float[Array, ""] | float


class Sums(NamedTuple):
    """log Z of a small model at less than one evaluation of the free energy per state."""

    n_slabs: int  # in how many parts the sum over all states is given
    log_sums: Callable[[Int[Array, " n"]], Float[Array, " n"]]  # log of the sum over the states of each of these parts
    log_partition: Callable[[], Float[Array, ""]]  # log Z, differentiable


def fields(layer: Layer, x: Float[Array, "*batch D"], weights: Float[Array, "F G"]) -> Float[Array, "*batch G"]:
    """f(x) W: what the layer's units add to the fields of the other layer."""
    if type(layer) not in BITS or not native.suits(x, weights):
        return layer.features(x) @ weights
    a, c = BITS[type(layer)]
    if (a, c) == (1, 0):
        return native.product(x, weights)
    summed = a * native.product((x - c) / a, weights)
    return summed + along(c * jnp.sum(weights, 0), summed)


def free_energies(model: Model, v: Float[Array, "n D"], w: Float[Array, "m D"]) -> tuple[Float[Array, " n"], Float[Array, " m"]]:
    """F of two sets of states. Their gradient is one pass over the weights where both layers are Bernoulli."""
    if not _is_rbm_of_bits(model) or BITS[type(model.visible)] != (1, 0) or not native.suits(v, w, model.weights):
        return model.free_energy(v), model.free_energy(w)
    fields = native.products(v, w, model.weights)
    first, second = (
        model.visible.energy(x) / model.tau - model.hidden.cumulant(field, model.tau) for x, field in zip((v, w), fields, strict=True)
    )
    return first, second


def block_gibbs(model: object) -> Draw | None:
    """Block Gibbs sampling by a compiled kernel."""
    if not _is_rbm_of_bits(model) or not native.suits(model.weights):
        return None
    bits, (a, c) = _as_bits(model), BITS[type(model.visible)]
    return lambda key, v, steps=None: a * native.gibbs(key, (v - c) / a, *bits[:3], steps) + c


def heat_bath(model: object) -> Sweep | None:
    """The heat bath by a compiled kernel."""
    if not isinstance(model, Pairwise):
        return None
    couplings, fields = model.pairwise()
    if not native.suits(couplings, fields):
        return None
    return lambda key, v, steps=None, held=None: native.sweeps(key, v, couplings, fields, steps, held)


def swept(model: FastHeatBath, key: Key[Array, ""], v: Float[Array, "chains D"], held: Held = None) -> Float[Array, "chains D"]:
    """One sweep of the heat bath."""
    compiled = heat_bath(model)
    return model.sweep(key, v, held) if compiled is None else compiled(key, v, held=held)


def path(model: object) -> Path | None:
    """Annealing by a compiled kernel."""
    if not _is_rbm_of_bits(model) or not native.suits(model.weights):
        return None
    bits, (a, c) = _as_bits(model), BITS[type(model.visible)]

    def walk(
        key: Key[Array, ""], base: Model, v: Float[Array, "chains D"], betas: Float[Array, " n"]
    ) -> tuple[Float[Array, "chains D"], Float[Array, "steps chains"]]:
        assert _has_bits(base)
        start = _as_bits(base)
        v, gains = native.anneal(key, (v - c) / a, bits.weights, bits[1:3], start[1:3], betas)
        return a * v + c, gains - ((bits.constant - start.constant) * jnp.diff(betas))[:, None]

    return walk


def flips(model: object) -> Callable[[Float[Array, "B D"]], Float[Array, "B D"]] | None:
    """F(v) - F(v with unit i flipped) for all i, if there is a fast form."""
    if not _has_bits(model):
        return None
    bits, (a, c) = _as_bits(model), BITS[type(model.visible)]
    return lambda v: rbm_flips.flip_differences(*bits[:3], v if a == 1 else (v - c) / a)


def sums(model: object) -> Sums | None:
    """Exact sums over the smaller layer, if there is a fast form."""
    if not _has_bits(model):
        return None
    weights, visible, hidden, constant = _as_bits(model)
    if weights.shape[1] > weights.shape[0]:
        weights, visible, hidden = weights.T, hidden, visible
    return Sums(
        rbm_sums.n_high_states(weights.shape[1]),
        lambda slabs: rbm_sums.log_sums(weights, visible, hidden, slabs) - constant,
        lambda: rbm_sums.log_partition(weights, visible, hidden) - constant,
    )


def _is_rbm_of_bits(model: object) -> TypeGuard[TwoLayers]:
    """Whether the kernels sample it as it samples itself: a subclass may do that in another way."""
    from .rbm import RBM

    return type(model) is RBM and _has_bits(model)


def _has_bits(model: object) -> TypeGuard[TwoLayers]:
    return isinstance(model, TwoLayers) and type(model.visible) in BITS and type(model.hidden) in BITS


def _as_bits(model: TwoLayers) -> Bits:
    weights, visible, hidden = (x / model.tau for x in (model.weights, model.visible.bias, model.hidden.bias))
    (a, c), (b, d) = BITS[type(model.visible)], BITS[type(model.hidden)]
    if (a, b) == (1, 1):
        return Bits(weights, visible, hidden, 0.0)
    # (a v + c)' W (b h + d), and the biases' terms
    fields_v, fields_h = visible + d * jnp.sum(weights, 1), hidden + c * jnp.sum(weights, 0)
    constant = -c * jnp.sum(visible) - d * jnp.sum(hidden) - c * d * jnp.sum(weights)
    return Bits(a * b * weights, a * fields_v, b * fields_h, constant)
