"""The likelihood while training: exact where that is cheap, else a short AIS run that says so."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from ..data import Dataset
from ..enumeration import MAX_UNITS, is_enumerable, log_partition
from ..likelihood.ais import forward
from ..likelihood.schedules import three_piece
from ..models.base import Annealable, Model

BETAS, CHAINS, ROWS = 301, 50, 5000


class Glance(NamedTuple):
    """A quick look at the likelihood."""

    train: float
    valid: float
    stderr: float  # zero when exact
    method: str


_log_partition = jax.jit(log_partition)
_mean_free_energy = jax.jit(lambda model, rows: jnp.mean(model.free_energy(rows)))


def glance(model: Model, dataset: Dataset, seed: int) -> Glance:
    """Mean log-likelihood of up to 5,000 training and validation rows."""
    stderr, method = 0.0, "exact"
    if is_enumerable(model, MAX_UNITS):
        log_z = float(_log_partition(model))
    else:
        assert isinstance(model, Annealable)
        mean = model.space.mean_features(dataset.train)
        side = forward(jax.random.key(seed), model, model.base(jnp.asarray(mean, jnp.float32)), three_piece(BETAS), CHAINS)
        log_z, stderr, method = side.log_partition, side.mean.stderr, f"AIS, {BETAS} temperatures, optimistic"
    train, valid = (-_mean(model, rows[:ROWS]) - log_z for rows in (dataset.train, dataset.valid if len(dataset.valid) else dataset.train))
    return Glance(train, valid, stderr, method)


def _mean(model: Model, rows: Any) -> float:
    return float(_mean_free_energy(model, jnp.asarray(rows)))
