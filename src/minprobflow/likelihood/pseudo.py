"""Pseudo-likelihood: the sum over units of log p(v_i | all others). Cheap, and no likelihood: for use while training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key, Num

from ..flow import NeighbourFlow, flip_differences, pseudo_likelihood
from ..models.base import Model, as_model
from ..units import discrete
from .base import LikelihoodEstimator, Progress, Rows
from .estimate import Estimate
from .rows import over_examples

ROWS = 256


@dataclass(frozen=True)
class Pseudo(LikelihoodEstimator):
    """The mean log pseudo-likelihood. It has no settings."""

    name: ClassVar[str] = "pseudo"

    def log_likelihood(
        self, model: Model, rows: Rows, key: Key[Array, ""], base_data: Rows | None = None, progress: Progress | None = None
    ) -> Estimate:
        values = pseudo_log_likelihoods(model, rows)
        mean = float(values.mean())
        reason = "pseudo-likelihood is not a likelihood: compare it only with itself, while training"
        return Estimate(mean, 0.0, mean, mean, float("inf"), "pseudo", "do not trust", over_examples(values), (reason,))


def pseudo_log_likelihoods(model: Model, rows: Num[np.ndarray, "n D"]) -> Float[np.ndarray, " n"]:
    """Over all units of each row: p(v_i | rest) = 1 / (1 + sum over the other values of exp(F(v) - F(v with i changed)))."""
    rows = discrete(as_model(model, finite=True).space, "the pseudo-likelihood").check(rows, "rows")
    return np.concatenate([np.asarray(_all_units(model, jnp.asarray(rows[i : i + ROWS])), np.float64) for i in range(0, len(rows), ROWS)])


@jax.jit
def _all_units(model: Model, rows: Num[Array, "n D"]) -> Float[Array, " n"]:
    return -pseudo_likelihood.of_row(NeighbourFlow(flip_differences(model, rows.astype(float))))
