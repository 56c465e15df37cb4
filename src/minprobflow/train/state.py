"""The state of a training run: a checkpoint is this and nothing else."""

from __future__ import annotations

from typing import NamedTuple

from jaxtyping import Array, Float, Int, Key, PyTree

from ..models.base import Model


class TrainState(NamedTuple):
    """The complete state of a training run.

    All random numbers follow from `key` and `step`, so a resumed run equals an uninterrupted one bit for bit.

    >>> import minprobflow as mpf
    >>> digits = mpf.load_dataset("digits").train
    >>> int(mpf.fit(mpf.BernoulliRBM.init(0, 64, 4, digits), digits, "cd", epochs=1).state.step)
    24
    """

    step: Int[Array, "*replicas"]  # updates done
    key: Key[Array, "*replicas"]  # of the run
    model: Model  # with the current parameters
    optimizer: PyTree[Array]  # the state of the optax transformation
    rule: PyTree[Array]  # particles and what else the rule keeps
    average: Model | None  # of the parameters, where averaging is on


class Metrics(NamedTuple):
    """What an epoch reports, one entry an update; `fit` records the means."""

    objective: Float[Array, "*replicas updates"]
    log_flow: Float[Array, "*replicas updates"]
    ess: Float[Array, "*replicas updates"]
    gradient_norm: Float[Array, "*replicas updates"]
    reconstruction_error: Float[Array, "*replicas 1"]  # of some examples, at the epoch's end
