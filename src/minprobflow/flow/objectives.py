"""Objectives: what is made of the flow?"""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Float

from .connectivity.base import Flow, ParticleFlow
from .numerics import log_mean_exp
from .rates import OddFunction


def contrast(flow: ParticleFlow) -> Float[Array, ""]:
    """mean_D F - mean_S F: contrastive divergence, plain or persistent."""
    return jnp.mean(flow.data) - jnp.mean(flow.particles)


def probability_flow(flow: Flow, o: OddFunction = jnp.zeros_like) -> Float[Array, ""]:
    """log J, J the mean flow out of the data states. It has J's minimiser and does not overflow."""
    return log_mean_exp(flow.log_outflow(o))
