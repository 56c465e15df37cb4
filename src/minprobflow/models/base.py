"""What a model is, and the capabilities it may add.

A model is an immutable pytree whose array leaves are its parameters. All methods take states with any leading
batch axes and any real dtype. A rule or sampler asks for a capability with `isinstance(model, Capability)`.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Key, PyTree

from ..arguments import number, room, shown, whole
from ..errors import InputError
from ..forks import check_process
from ..numerics import all_finite
from ..units import Space
from ..units.layer import Fields

M = TypeVar("M", bound="Model")


class Model(eqx.Module):
    """p(v) = exp(-F(v)) / Z. Only the free energy F is required."""

    kind: ClassVar[str | None] = None  # the name in model files; None for what cannot be written to one

    @property
    @abstractmethod
    def space(self) -> Space:
        """The states the model is defined over."""

    @abstractmethod
    def free_energy(self, v: object) -> Float[Array, "*batch"]:
        """F(v) = -log of the unnormalised probability."""

    @abstractmethod
    def penalised(self) -> PyTree[bool]:
        """Which parameters L1 and L2 act on: a pytree of booleans shaped like the model."""

    def improper(self) -> str | None:
        """Why these parameters have no normalisable distribution, and what to do; None if they have one, or are being traced."""
        return None

    # A path of models from independent units to this one, for parallel tempering and annealed estimators

    def base(self, mean: Float[Array, " *values"]) -> Model:
        """Independent units whose features (`space.features`) have these means."""
        from .energy import independent

        return independent(self.space, mean)

    def base_log_partition(self) -> Float[Array, ""]:
        """log Z when this model is a base."""
        raise InputError("only a base model, made with model.base(mean), has a closed-form log Z")

    def is_base(self) -> bool:
        """Whether the units are independent: then log Z is `base_log_partition`, and `base_logits` are the units' logits."""
        return False

    def base_logits(self) -> Float[Array, " *values"]:
        """The units' logits when this model is a base, as `space` has them."""
        raise InputError("only a base model, made with model.base(mean), has independent units")

    def between(self, base: Model, beta: Float[Array, ""]) -> Model:
        """The model with energy (1 - beta) E_base + beta E, where `base` came from this model's `base`.

        It may lack a constant that is zero at both ends of the path.
        """
        from .energy import mixture

        return mixture(base, self, beta)

    @classmethod
    def from_fields(cls, fields: Fields) -> Model:
        """A model from its fields by name, as a model file holds them."""
        return cls(**fields)


def as_model(model: object, name: str = "model", finite: bool = False) -> Model:
    """The argument, if it is a model: every public function that takes one starts with this.

    Args:
        finite: refuse non-finite parameters, for functions that compute with them at once.
    """
    check_process()
    if not isinstance(model, Model):
        raise InputError(f"{name} is {shown(model)}: pass a model, such as mpf.BernoulliRBM.init(0, n_visible=6, n_hidden=4)")
    traced = any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree.leaves(model))
    if finite and not traced and not bool(all_finite(model)):
        raise InputError(f"the {name} has non-finite parameters, so it has no probabilities: start from a fresh or an earlier one")
    if finite and (reason := model.improper()):
        raise InputError(f"{name}: {reason}")
    return model


def temperature(tau: object, *parameters: Array) -> float:
    """tau as a number by which these parameters can be divided in their own precision."""
    tau = number("tau", tau, above=0, hint="it is a temperature, by default 1")
    smallest, largest = (float(limit) for limit in (np.finfo(np.float32).tiny, np.finfo(np.float32).max))
    if not smallest <= tau <= largest:
        raise InputError(f"tau={tau:g}, expected a temperature from {smallest:.3g} to {largest:.3g}, the range of single precision")
    for values in parameters:
        if isinstance(values, jax.core.Tracer) or not values.size:
            continue
        most = float(np.abs(np.asarray(values)).max())
        if np.isfinite(most) and most > float(jnp.finfo(values.dtype).max) * tau:
            raise InputError(f"tau={tau:g} is too small: a parameter of {most:.3g} divided by it overflows {values.dtype}; raise tau")
    return tau


def layer_sizes(n_visible: object, n_hidden: object, n_values: int = 1) -> tuple[int, int]:
    """Both as whole numbers, if a matrix of weights between such layers can be made."""
    hint = "both layers need at least one unit"
    n_visible, n_hidden = whole("n_visible", n_visible, 1, hint=hint), whole("n_hidden", n_hidden, 1, hint=hint)
    room("the weights", *(size for size in (n_visible, n_values, n_hidden) if size > 1))
    return n_visible, n_hidden


class Latent(Model):
    """A hidden layer given which the visible units are independent, and the other way round."""

    @abstractmethod
    def hidden_logits(self, v: object) -> Float[Array, "*batch *values"]:
        """Logits of p(h | v), as `transposed().space` has them: of bits, logit p(h_j = 1 | v)."""

    @abstractmethod
    def visible_logits(self, h: object) -> Float[Array, "*batch *values"]:
        """Logits of p(v | h), as `space` has them: of bits, logit p(v_i = 1 | h)."""

    @abstractmethod
    def hidden_mean(self, v: object) -> Float[Array, "*batch *values"]:
        """E[h | v]: of bits, p(h_j = 1 | v); of units with several values, the probabilities of these."""

    @abstractmethod
    def reconstruct(self, v: object) -> Float[Array, "*batch *values"]:
        """Logits of the visible units where the hidden ones are at their means given v."""

    @abstractmethod
    def sample_hidden(self, key: Key[Array, ""], v: object) -> Float[Array, "*batch H"]:
        """h ~ p(h | v)."""

    @abstractmethod
    def sample_visible(self, key: Key[Array, ""], h: object) -> Float[Array, "*batch D"]:
        """v ~ p(v | h)."""

    @abstractmethod
    def transposed(self) -> Model:
        """The same joint distribution with the layers' parts exchanged: its free energy is that of h."""


class FastFlips(Model):
    """Free energies of all one-flip neighbours at less than one evaluation each."""

    @abstractmethod
    def flip_differences(self, v: Float[Array, "B D"]) -> Float[Array, "B D *others"]:
        """F(v) - F(v with unit i flipped), for all i (and all other values of unit i, as in `space.others`)."""


class Centrable(Model):
    """The gradient can be taken in centred coordinates (the enhanced gradient)."""

    @abstractmethod
    def offsets(self, v: Float[Array, "B D"]) -> PyTree[Array]:
        """The means that the units are centred by, on this batch."""

    @abstractmethod
    def centre(self: M, gradient: M, offsets: PyTree[Array]) -> M:
        """The update direction of the centred model, in the plain model's parameters."""


class FastAnnealing(Model):
    """A step along the path at the cost of one step of the sampler."""

    @abstractmethod
    def anneal(
        self, key: Key[Array, ""], base: Model, v: Float[Array, "chains D"], beta_from: Float[Array, ""], beta_to: Float[Array, ""]
    ) -> tuple[Float[Array, "chains D"], Float[Array, " chains"]]:
        """Sample once at beta_to starting from v; and F(v) at beta_from less F(v) at beta_to."""


class LogLinear(FastFlips):
    """F is linear in the parameters, so that MPF-1flip and the pseudo-likelihood are convex in them.

    The two methods say how to scale a convex fit; without them it needs ten times as many iterations. Both are in terms of the
    units' features (`space.features`): of bits, the units themselves.
    """

    @abstractmethod
    def recentred(self, offset: Float[Array, " D *values"]) -> Model:
        """The parameters of the same model written in features less `offset`. Linear; undone by minus the same offset."""

    @abstractmethod
    def flip_curvatures(self, v: Float[Array, "B D"], offset: Float[Array, " D *values"], weights: Float[Array, "B D *others"]) -> Model:
        """For each parameter, the weighted sum over flips of the squares of its derivative of `flip_differences`.

        Args:
            v: examples.
            offset: what their features are centred by.
            weights: one per flip, laid out as `flip_differences`.
        """


class FastHeatBath(Model):
    """A sweep that redraws all units in turn, without an evaluation of the free energy for each."""

    @abstractmethod
    def sweep(
        self, key: Key[Array, ""], v: Float[Array, "chains D"], held: Bool[Array, "#chains D"] | None = None
    ) -> Float[Array, "chains D"]:
        """Redraw each unit in turn from its conditional given all others; units where `held` is true stay."""
