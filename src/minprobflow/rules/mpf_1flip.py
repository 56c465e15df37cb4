"""Minimum probability flow with one-flip connectivity (section 4.1; Sohl-Dickstein et al. 2011)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Float

from ..arguments import flag
from ..connectivity import one_flip
from ..connectivity.base import Flow
from ..models.base import Model
from ..objectives import probability_flow
from ..rates import OddFunction, check_odd, odd_function
from ..units import discrete
from .base import Rule, RuleSpec, join


@dataclass(frozen=True)
class MPF1Flip(RuleSpec):
    """Flow to all states one flip away. Deterministic: it draws nothing.

    With o other than zero the rates keep detailed balance, but the objective's minimum is not the true model.
    """

    name: ClassVar[str] = "mpf-1flip"
    default_rate: ClassVar[float] = 10.0  # log J moves one bit of D at a time, so its gradient is small

    o: str | OddFunction = "zero"
    """odd function of Theorem 1: zero, sign, tanh or a callable"""
    log: bool = True
    """minimise log J, not J itself, whose gradient is J times as large: rates for it are those of log J divided by J, a sum over D flips"""

    def __post_init__(self) -> None:
        check_odd(self.o)
        object.__setattr__(self, "log", flag("log", self.log))

    def check(self, model: Model) -> None:
        discrete(model.space, "MPF-1flip")

    def build(self, batch_size: int) -> Rule:
        o = odd_function(self.o)
        return join(one_flip(), partial(probability_flow if self.log else _plain_flow, o=o), o)


def _plain_flow(flow: Flow, o: OddFunction) -> Float[Array, ""]:
    return jnp.exp(probability_flow(flow, o))
