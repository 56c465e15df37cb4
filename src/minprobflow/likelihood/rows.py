"""Rows under a model: their free energies, and the mean log-likelihood that these give with an estimate of log Z."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from ..arguments import shown
from ..errors import InputError
from ..models.base import Model, as_model
from ..numerics import as_float64, double_precision
from .estimate import Estimate

ROWS = 2000


def from_log_partition(model: Model, data: object, log_z: Estimate) -> Estimate:
    """The log-likelihood of `data` given an estimate of log Z: the sandwich turns over."""
    if not isinstance(log_z, Estimate):
        raise InputError(f"log_z is {shown(log_z)}: pass what mpf.log_partition returned")
    unnormalised = -free_energies(model, data)
    mean = float(unnormalised.mean())
    return dataclasses.replace(
        log_z,
        value=mean - log_z.value,
        lower=mean - log_z.upper,
        upper=mean - log_z.lower,
        settings={**log_z.settings, **over_examples(unnormalised)},
    )


def free_energies(model: Model, rows: object) -> Float[np.ndarray, " n"]:
    """F of every row, in double precision, in bounded memory."""
    checked = as_model(model, finite=True).space.check(rows, "rows")
    with double_precision():
        model = as_float64(model)
        return np.concatenate([np.asarray(_free_energy(model, jnp.asarray(checked[i : i + ROWS]))) for i in range(0, len(checked), ROWS)])


_free_energy = jax.jit(lambda model, rows: model.free_energy(rows))


def over_examples(values: Float[np.ndarray, " n"]) -> dict[str, int | float | None]:
    """Their number, and the standard error that the choice of examples adds to their mean."""
    spread = float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else None
    return {"n": len(values), "stderr_over_examples": spread}
