"""The state of a training run: a checkpoint is this and nothing else."""

from __future__ import annotations

from typing import Any, NamedTuple

from jaxtyping import Array, Float, Int, Key

from ..models.base import Model


class TrainState(NamedTuple):
    """All random numbers follow from `key` and `step`, so a resumed run equals an uninterrupted one bit for bit."""

    step: Int[Array, "*replicas"]
    key: Key[Array, "*replicas"]
    model: Model
    optimiser: Any
    rule: Any
    average: Model | None


class Metrics(NamedTuple):
    """What every update reports; `fit` records their means over each epoch."""

    objective: Float[Array, "*steps"]
    log_flow: Float[Array, "*steps"]
    ess: Float[Array, "*steps"]
    reconstruction_error: Float[Array, "*steps"]
    gradient_norm: Float[Array, "*steps"]
