"""From a user's choice to one optax transformation: penalties, then centring, then the optimiser."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import optax

from .centring import centred_gradient
from .penalties import penalties


class Optimizer(NamedTuple):
    """An optimiser by name; `scale` turns a learning rate of plain descent into one that suits it."""

    make: Callable[..., optax.GradientTransformation]
    scale: float


OPTIMIZERS = {
    "sgd": Optimizer(optax.sgd, 1.0),
    "momentum": Optimizer(lambda rate: optax.sgd(rate, momentum=0.9), 0.1),
    "adam": Optimizer(optax.adam, 0.01),
}


@cache  # the same settings give the same object, and so hit the compilation cache
def build(
    optimizer: str | optax.GradientTransformation,
    learning_rate: float | Callable[..., Any] | None,
    total_steps: int,
    centred: bool,
    l1: float,
    l2: float,
) -> optax.GradientTransformationExtraArgs:
    """The whole transformation. A number as learning rate decays linearly to zero over the run."""
    if isinstance(optimizer, str):
        schedule = learning_rate if callable(learning_rate) else optax.linear_schedule(learning_rate, 0.0, total_steps)
        optimizer = OPTIMIZERS[optimizer].make(schedule)
    parts = [penalties(l1, l2)] if l1 or l2 else []
    parts += [centred_gradient()] if centred else []
    return optax.with_extra_args_support(optax.chain(*parts, optimizer))
