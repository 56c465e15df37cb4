"""The state of a training run: a checkpoint is this and nothing else."""

from __future__ import annotations

from typing import NamedTuple

from jaxtyping import Array, Float, Int, Key, PyTree

from ..models.base import Model
from .ladder import Ladder
from .tracking import Tracked


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
    path: Model | None = None  # mean of the parameters over about an epoch, where likelihood chains follow it
    tracked: Tracked | None = None  # these chains
    trajectory: Ladder | None = None  # rungs kept on the way

    @property
    def result(self) -> Model:
        """The model that training gives: the averaged one where averaging is on."""
        return self.model if self.average is None else self.average

    @property
    def followed(self) -> Model:
        """What likelihood chains follow: a model that moves smoothly."""
        return self.result if self.path is None else self.path


class Metrics(NamedTuple):
    """What an epoch reports, one entry an update; `fit` records the means."""

    objective: Float[Array, "*replicas updates"]
    log_flow: Float[Array, "*replicas updates"]
    ess: Float[Array, "*replicas updates"]
    gradient_norm: Float[Array, "*replicas updates"]
    reconstruction_error: Float[Array, "*replicas 1"]  # of some examples, at the epoch's end
