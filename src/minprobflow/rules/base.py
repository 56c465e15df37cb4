"""What a learning rule is, and how rules are found by name.

A rule's settings are one frozen dataclass, a `RuleSpec`: the registry entry, the record in the results and what
`fit` takes. `build` joins a connectivity with an objective into a `Rule` of pure functions. Defining a subclass in
a file of this folder (or of a folder named in MINPROBFLOW_PLUGINS) is all it takes to add a rule.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..connectivity.base import Connectivity
from ..errors import InputError
from ..models.base import Model
from ..objectives import probability_flow
from ..rates import OddFunction


class Diagnostics(NamedTuple):
    """What a rule reports at every step beside its objective."""

    log_flow: Float[Array, "*steps"]  # log J
    ess: Float[Array, "*steps"]  # effective share of the weights, in (0, 1]


class Rule(NamedTuple):
    """init(key, model, data) -> state; connect(key, model, state, batch) -> state;
    loss(model, state, batch) -> (objective, (state, Diagnostics)), whose gradient in the model trains it."""

    init: Callable[..., Any]
    connect: Callable[..., Any]
    loss: Callable[..., tuple[Array, tuple[Any, Diagnostics]]]


def join(connectivity: Connectivity, objective: Callable[[Any], Array], o: OddFunction = jnp.zeros_like) -> Rule:
    """A rule is a connectivity times an objective; `o` is the odd function that log J and the ESS are reported for."""

    def loss(model: Model, state: Any, batch: Array) -> tuple[Array, tuple[Any, Diagnostics]]:
        flow, state = connectivity.flow(model, state, batch)
        diagnostics = Diagnostics(probability_flow(flow, o), flow.ess(o))
        return objective(flow), (state, jax.lax.stop_gradient(diagnostics))

    return Rule(connectivity.init, connectivity.connect, loss)


@dataclasses.dataclass(frozen=True)
class RuleSpec(ABC):
    """Settings of a rule. Subclasses give it a `name` and say how to `build` it."""

    name: ClassVar[str]
    default_rate: ClassVar[float] = 0.2
    """learning rate of plain descent that suits the scale of its gradient"""
    known: ClassVar[dict[str, type[RuleSpec]]] = {}

    def __init_subclass__(cls) -> None:
        if "name" not in cls.__dict__:
            return
        other = RuleSpec.known.setdefault(cls.name, cls)
        if other.__module__ != cls.__module__:
            raise InputError(f"two rules are named {cls.name!r}, in {other.__module__} and {cls.__module__}: rename one")
        RuleSpec.known[cls.name] = cls

    @abstractmethod
    def build(self, batch_size: int) -> Rule:
        """The pure functions of this rule."""

    def check(self, model: Model) -> None:
        """Raise if this rule cannot train this model."""

    def informative(self) -> tuple[str, ...]:
        """The metrics that tell something about a run with these settings, beside the gradient norm; progress shows them."""
        return ("objective",)
