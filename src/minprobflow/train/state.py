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
    optimizer: Any
    rule: Any
    average: Model | None


class Metrics(NamedTuple):
    """What an epoch reports, one entry an update; `fit` records the means."""

    objective: Float[Array, "*replicas updates"]
    log_flow: Float[Array, "*replicas updates"]
    ess: Float[Array, "*replicas updates"]
    gradient_norm: Float[Array, "*replicas updates"]
    reconstruction_error: Float[Array, "*replicas 1"]  # of some examples, at the epoch's end
