"""Minimum probability flow with one-flip connectivity (section 4.1; Sohl-Dickstein et al. 2011)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import jax.numpy as jnp

from ..arguments import flag
from ..flow import Connectivity, NeighbourFlow, RowMean, one_flip, plain_flow, probability_flow
from ..flow.rates import OddFunction, check_odd, odd_function
from .flip_rule import FlipRule


@dataclass(frozen=True)
class MPF1Flip(FlipRule):
    r"""Flow to all states one flip away. Deterministic: it draws nothing.

    .. math::
        J = \mathrm{mean}_{x \in D} \sum_i e^{(F(x) - F(\mathrm{flip}_i x)) / 2}

    Warning: with o other than zero the rates keep detailed balance, but the objective's minimum is not the true model.

    >>> MPF1Flip()
    MPF1Flip(o='zero', log=True)

    References:
        Sohl-Dickstein, Battaglino & DeWeese 2011, New method for parameter estimation in probabilistic models: minimum probability flow.
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

    def objective(self) -> RowMean[NeighbourFlow]:
        return probability_flow if self.log else plain_flow

    def connectivity(self) -> Connectivity[tuple[()], NeighbourFlow]:
        return one_flip(odd_function(self.o))

    def convex(self) -> bool:
        return odd_function(self.o) is jnp.zeros_like
