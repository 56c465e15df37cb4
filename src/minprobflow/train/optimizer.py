"""From a user's choice to one optax transformation and a rate: penalties, then centring, then the optimizer."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int

from ..arguments import number
from .centring import centred_gradient
from .penalties import penalties

Rate = Callable[[Array], Array]


class Optimizer(NamedTuple):
    """An optimizer by name; `rate` turns a rule's default rate, which is one of plain descent, into one that suits it."""

    direction: optax.GradientTransformation  # all but the learning rate
    rate: Callable[[float], float]


OPTIMIZERS = {
    "sgd": Optimizer(optax.identity(), lambda rate: rate),
    "momentum": Optimizer(optax.trace(decay=0.9), lambda rate: 0.1 * rate),
    "adam": Optimizer(optax.scale_by_adam(), lambda rate: 0.01),  # it divides by the size of the gradient, whatever the rule's
}


@cache  # the same settings give the same object, and so hit the compilation cache
def build(optimizer: str | optax.GradientTransformation, centred: bool, l1: float, l2: float) -> optax.GradientTransformationExtraArgs:
    """The whole transformation, less the learning rate of an optimizer given by name."""
    parts = [penalties(l1, l2)] if l1 or l2 else []
    parts += [centred_gradient()] if centred else []
    parts += [OPTIMIZERS[optimizer].direction if isinstance(optimizer, str) else optimizer]
    return optax.with_extra_args_support(optax.chain(*parts))


def decaying_rate(rate: float | Rate, total_steps: int) -> Rate:
    """A number decays linearly to zero over the run; a schedule is taken as it is.

    The result is a pytree: numbers in it are arguments of the compiled epoch, so that changing them compiles nothing.
    """
    if callable(rate):
        return rate if isinstance(rate, jax.tree_util.Partial) else jax.tree_util.Partial(rate)
    return jax.tree_util.Partial(_linear_decay, jnp.asarray(rate, float), jnp.asarray(total_steps, float))


def constant_rate(rate: float) -> Rate:
    """A learning rate that does not decay; a pytree as well, so that one compiled epoch serves all rates."""
    return jax.tree_util.Partial(_constant, jnp.asarray(number("rate", rate, above=0), float))


def _constant(rate: Float[Array, ""], step: Int[Array, ""]) -> Float[Array, ""]:
    return rate


def _linear_decay(rate: Float[Array, ""], total_steps: Float[Array, ""], step: Int[Array, ""]) -> Float[Array, ""]:
    return rate * jnp.maximum(1 - step.astype(rate.dtype) / total_steps, 0)
