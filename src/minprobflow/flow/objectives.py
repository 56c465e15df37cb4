"""Objectives: how does the flow become a loss?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar, runtime_checkable

import jax.numpy as jnp
from jaxtyping import Array, Float

from ..numerics import log_mean_exp, sum_softplus
from .base import Flow, NeighbourFlow, ParticleFlow

F_contra = TypeVar("F_contra", bound=Flow, contravariant=True)


@runtime_checkable
class Objective(Protocol[F_contra]):
    """A differentiable function of a flow; training lowers it."""

    def __call__(self, flow: F_contra, /) -> Float[Array, ""]:
        """One number."""
        ...


@dataclass(frozen=True)
class RowMean(Generic[F_contra]):
    """An objective that is a mean over the data's rows, so that blocks of rows can be summed.

    Args:
        of_row: a number for each row of the batch.
        exp_of_row: if given, its exp is what is averaged, and the objective is the log of the mean.

    >>> flow = NeighbourFlow(jnp.asarray([[0.0, 2.0], [0.0, -2.0]]))  # F(x) - F(x with unit i flipped) for two rows of two units
    >>> [round(float(objective(flow)), 3) for objective in (probability_flow, pseudo_likelihood)]
    [0.933, 1.82]
    """

    of_row: Callable[[F_contra], Float[Array, " B"]]
    exp_of_row: Callable[[F_contra], Float[Array, " B"]] | None = None

    def __call__(self, flow: F_contra, /) -> Float[Array, ""]:
        values = self.of_row(flow)
        return jnp.mean(values) if self.exp_of_row is None else log_mean_exp(values)

    def averaged(self, flow: F_contra) -> Float[Array, " B"]:
        """Of each row, what the mean is taken of."""
        return (self.exp_of_row or self.of_row)(flow)

    def of_mean(self, mean: Float[Array, ""]) -> Float[Array, ""]:
        """The objective, given the mean."""
        return mean if self.exp_of_row is None else jnp.log(mean)


def contrast(flow: ParticleFlow, /) -> Float[Array, ""]:
    """mean_D F - mean_S F: contrastive divergence, plain or persistent.

    >>> float(contrast(ParticleFlow(*jnp.asarray([[1.0], [1.0], [3.0], [3.0]]))))
    -2.0
    """
    return jnp.mean(flow.data) - jnp.mean(flow.particles)


plain_flow: RowMean[Flow] = RowMean(lambda flow: flow.outflow())
"""J, the mean flow out of the data states."""

probability_flow: RowMean[Flow] = RowMean(lambda flow: flow.log_outflow(), plain_flow.of_row)
"""log J. It has J's minimiser and does not overflow."""

pseudo_likelihood: RowMean[NeighbourFlow] = RowMean(lambda flow: sum_softplus(flow.log_odds_of_change()))
"""-mean_D sum_i log p(v_i | all other units), with p(v_i | rest) = 1 / (1 + sum of exp(F(v) - F(v with unit i changed)))
(Besag 1975)."""
