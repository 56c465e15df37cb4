"""The likelihood while training: exact where that is cheap, else a short AIS run that says so."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from ..data import Dataset
from ..enumeration import MAX_UNITS, is_enumerable, log_partition
from ..likelihood import independent_units
from ..likelihood.ais import forward
from ..likelihood.schedules import three_piece
from ..models.base import Model

BETAS, CHAINS, ROWS = 301, 50, 5000
RISE = 0.01  # least share of the gain over independent units that counts as still rising


class Glance(NamedTuple):
    """A quick look at the likelihood."""

    train: float
    valid: float
    stderr: float  # zero when exact
    method: str
    independent: float  # log-likelihood of the same validation rows under independent units

    @property
    def gain(self) -> float:
        """What the model knows beyond the units' means, in nats per validation row."""
        return self.valid - self.independent


_log_partition = jax.jit(log_partition)
_mean_free_energy = jax.jit(lambda model, rows: jnp.mean(model.free_energy(rows)))


class Monitor:
    """Looks at the likelihood of models of one run. `independent` is the baseline, computed once."""

    def __init__(self, model: Model, dataset: Dataset) -> None:
        self._dataset = dataset
        self._parts = [rows[:ROWS] for rows in (dataset.train, dataset.valid if len(dataset.valid) else dataset.train)]
        self.independent = independent_units(model.space, dataset.train, self._parts[1])

    def __call__(self, model: Model, seed: int) -> Glance:
        """Mean log-likelihood of up to 5,000 training and validation rows."""
        stderr, method = 0.0, "exact"
        if is_enumerable(model, MAX_UNITS):
            log_z = float(_log_partition(model))
        else:
            mean = model.space.mean_features(self._dataset.train)
            side = forward(jax.random.key(seed), model, model.base(jnp.asarray(mean, jnp.float32)), three_piece(BETAS), CHAINS)
            log_z, stderr, method = side.log_partition, side.mean.stderr, f"AIS, {BETAS} temperatures, optimistic"
        train, valid = (-float(_mean_free_energy(model, jnp.asarray(rows))) - log_z for rows in self._parts)
        return Glance(train, valid, stderr, method, self.independent)


def remarks(metrics: list[dict[str, Any]], independent: float) -> list[str]:
    """What a user should be told at the end of a run with these records; often nothing."""
    seen = [record for record in metrics if "valid" in record]
    if not seen:
        return []
    last, epochs = seen[-1], seen[-1]["epoch"]
    noise = 3 * last["stderr"]  # of a difference of two estimates, about two standard errors
    if last["valid"] + noise < independent:
        return [f"worse than independent units by {independent - last['valid']:.3g} nats: lower the learning rate"]
    half = next(record for record in reversed(seen) if record["epoch"] <= max(epochs / 2, seen[0]["epoch"]))
    rise = last["valid"] - half["valid"]
    if last is max(seen, key=lambda record: record["valid"]) and rise > noise + RISE * (last["valid"] - independent):
        longer = 2 * epochs
        return [
            f"still rising ({rise:.2g} nats since epoch {half['epoch']}): a run with --epochs {longer} will probably end higher. "
            f"--resume --epochs {longer} continues this one: the learning rate returns to half its initial value and decays to zero again"
        ]
    return []
