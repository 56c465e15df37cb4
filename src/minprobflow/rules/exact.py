"""The true likelihood gradient by enumeration: an upper baseline for the other rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Float, Num

from ..enumeration import check_enumerable, log_partition
from ..models.base import Model
from .base import Diagnostics, Rule, RuleSpec


@dataclass(frozen=True)
class Exact(RuleSpec):
    """Negative log-likelihood mean_D F + log Z, for models with at most 20 units in the smaller layer.

    >>> import minprobflow as mpf
    >>> digits = mpf.load_dataset("digits").train
    >>> mpf.fit(mpf.BernoulliRBM.init(0, 64, 4, digits), digits, mpf.Exact(), epochs=1).history[0]["ess"].item()
    1.0
    """

    name: ClassVar[str] = "exact"

    def check(self, model: Model) -> None:
        check_enumerable(model)

    def build(self, batch_size: int) -> Rule[tuple[()]]:
        def loss(model: Model, state: tuple[()], batch: Num[Array, "B D"]) -> tuple[Float[Array, ""], tuple[tuple[()], Diagnostics]]:
            objective = jnp.mean(model.free_energy(batch)) + log_partition(model)
            # nothing is sampled, so nothing is stale: all weights are one
            return objective, (state, Diagnostics(jnp.zeros_like(objective), jnp.ones_like(objective)))

        return Rule(lambda key, model, data: (), lambda key, model, state, batch: state, loss)
