"""Exact log Z by enumerating the smaller layer, in float64 whatever JAX is set to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key

from ..enumeration import MAX_UNITS_PATIENTLY, check_enumerable, log_partition, log_sums, n_slabs, smaller_layer
from ..models.base import Model, as_model
from ..numerics import as_float64, double_precision
from .base import LogPartitionEstimator, Progress, phase
from .estimate import Estimate

MAX_UNITS = MAX_UNITS_PATIENTLY
SLABS_A_CALL = 4096


@dataclass(frozen=True)
class Exact(LogPartitionEstimator):
    """Enumeration of the smaller layer. It has no settings."""

    name: ClassVar[str] = "exact"

    def log_partition(self, model: Model, key: Key[Array, ""], base_data: object = None, progress: Progress | None = None) -> Estimate:
        value = exact_log_partition(model, phase(progress, "enumerating"))
        settings = {"units": smaller_layer(model).space.size}
        return Estimate(value, 0.0, value, value, float("inf"), "exact", "trusted", settings)


def exact_log_partition(model: Model, progress: Callable[[float], object] | None = None) -> float:
    """log Z to about 14 digits, for up to 25 units in the smaller layer.

    >>> import minprobflow as mpf
    >>> exact_log_partition(mpf.BernoulliRBM([[0.0]], [0.0], [0.0]))  # four states of equal weight
    1.3862943611198906
    """
    check_enumerable(as_model(model, finite=True), MAX_UNITS)
    with double_precision():
        model = as_float64(model)
        slabs = n_slabs(model)
        sums = []
        for first in range(0, slabs, SLABS_A_CALL):
            sums.append(np.asarray(_slabs(model, jnp.asarray(first), min(slabs, SLABS_A_CALL))))
            if progress:
                progress(min((first + SLABS_A_CALL) / slabs, 1.0))
    return float(np.logaddexp.reduce(np.sort(np.concatenate(sums))))


def exact_log_partition_and_gradient(model: Model) -> tuple[float, Model]:
    """log Z and its gradient in the parameters (the model's moments), in float64, as numpy leaves."""
    check_enumerable(as_model(model, finite=True), MAX_UNITS)
    with double_precision():
        value, gradient = _value_and_gradient(as_float64(model))
        return float(value), jax.tree.map(np.asarray, gradient)


_value_and_gradient = jax.jit(jax.value_and_grad(log_partition))


@partial(jax.jit, static_argnames="count")
def _slabs(model: Model, first: jax.Array, count: int) -> jax.Array:
    return log_sums(model, first + jnp.arange(count))
