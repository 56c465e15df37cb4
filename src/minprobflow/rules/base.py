"""What a learning rule is, and how rules are found by name.

A rule's settings are one frozen dataclass, a `RuleSpec`: the registry entry, the record in the results and what
`fit` takes. `build` joins a connectivity with an objective into a `Rule` of pure functions. Defining a subclass in
a file of this folder (or of a folder named in MINPROBFLOW_PLUGINS) is all it takes to add a rule.
"""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from typing import ClassVar, Generic, NamedTuple, Protocol, runtime_checkable

import jax
from jaxtyping import Array, Float, Num, PyTree

from ..flow.base import Connect, Connectivity, F, Init, S
from ..flow.objectives import Objective, probability_flow
from ..models.base import Model
from ..specs import Spec


class Diagnostics(NamedTuple):
    """What a rule reports at every step beside its objective."""

    log_flow: Float[Array, "*steps"]  # log J
    ess: Float[Array, "*steps"]  # effective share of the weights, in (0, 1]


@runtime_checkable
class Loss(Protocol[S]):
    """What training descends on."""

    def __call__(self, model: Model, state: S, batch: Num[Array, "B D"], /) -> tuple[Float[Array, ""], tuple[S, Diagnostics]]:
        """The objective, whose gradient in the model trains it; beside it, the state for the next update and what to report.

        Args:
            model: what is differentiated.
            state: what `connect` returned.
            batch: this update's examples.
        """
        ...


@dataclasses.dataclass(frozen=True)
class Rule(Generic[S]):
    """Three pure functions, and a state (any pytree) that is part of the checkpoint."""

    init: Init[S]
    connect: Connect[S]
    loss: Loss[S]


def join(connectivity: Connectivity[S, F], objective: Objective[F]) -> Rule[S]:
    """A rule is a connectivity times an objective."""

    def loss(model: Model, state: S, batch: Num[Array, "B D"]) -> tuple[Float[Array, ""], tuple[S, Diagnostics]]:
        flow, state = connectivity.flow(model, state, batch)
        diagnostics = Diagnostics(probability_flow(flow), flow.ess())
        return objective(flow), (state, jax.lax.stop_gradient(diagnostics))

    return Rule(connectivity.init, connectivity.connect, loss)


@dataclasses.dataclass(frozen=True)
class RuleSpec(Spec):
    """Settings of a rule. Subclasses give it a `name` and say how to `build` it."""

    family: ClassVar[str] = "rule"
    known: ClassVar[dict[str, type[RuleSpec]]] = {}
    default_rate: ClassVar[float] = 0.2
    """learning rate of plain descent that suits the scale of its gradient"""
    keeps_trajectory: ClassVar[bool] = False
    """whether it needs the run's trajectory"""

    @abstractmethod
    def build(self, batch_size: int) -> Rule[PyTree]:
        """The pure functions of this rule."""

    def check(self, model: Model) -> None:
        """Raise if this rule cannot train this model."""

    def informative(self) -> tuple[str, ...]:
        """The metrics that tell something about a run with these settings, beside the gradient norm; progress shows them."""
        return ("objective",)
