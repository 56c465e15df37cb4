"""Pseudo-likelihood: the sum over units of log p(v_i | all others). Cheap, and no likelihood: for use while training."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from ..connectivity import NeighbourFlow
from ..connectivity.one_flip import flip_differences, log_odds_of_change
from ..models.base import Model, as_model
from ..units import discrete

ROWS = 256


def pseudo_log_likelihoods(model: Model, rows: Int[np.ndarray, "n D"]) -> Float[np.ndarray, " n"]:
    """Over all units of each row: p(v_i | rest) = 1 / (1 + sum over the other values of exp(F(v) - F(v with i changed)))."""
    rows = discrete(as_model(model, finite=True).space, "the pseudo-likelihood").check(rows, "rows")
    return np.concatenate([np.asarray(_all_units(model, jnp.asarray(rows[i : i + ROWS])), np.float64) for i in range(0, len(rows), ROWS)])


@jax.jit
def _all_units(model: Model, rows: Int[Array, "n D"]) -> Float[Array, " n"]:
    flow = NeighbourFlow(flip_differences(model, rows.astype(float)))
    return -jnp.sum(jax.nn.softplus(flow.log_odds_of_change()), 1)


@jax.jit
def stochastic_pseudo_log_likelihoods(key: Key[Array, ""], model: Model, rows: Int[Array, "n D"]) -> Float[Array, " n"]:
    """D log p(v_i | rest) at one random unit of each row: right on average, at the cost of a free energy for each of its values."""
    v = rows.astype(float)
    sites = jax.random.randint(key, (v.shape[0],), 0, v.shape[1])
    log_odds = jax.vmap(lambda row, site: log_odds_of_change(model, row[None], site)[0])(v, sites)
    return -v.shape[1] * jax.nn.softplus(log_odds)
