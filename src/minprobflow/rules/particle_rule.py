"""What the rules that draw particles have in common: all but where the particles start and what is made of the flow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from jaxtyping import Array

from ..arguments import number, room, whole
from ..connectivity import gibbs
from ..connectivity.gibbs import Start
from ..errors import InputError
from ..models.base import Model
from ..objectives import probability_flow
from .base import Rule, RuleSpec, join


@dataclass(frozen=True)
class ParticleRule(RuleSpec):
    """Settings of the rules that draw particles. A subclass gives `name`, `start` and `objective`."""

    start: ClassVar[Start]
    objective: ClassVar[Callable[..., Array]]

    k: int = 5
    """sampling steps for each draw"""
    refresh: int = 1
    """updates made with one draw of particles"""
    n_particles: int | None = None
    """number of particles; by default the batch size"""
    min_ess: float = 0.5
    """redraw when the effective share of the particles falls below this"""

    def __post_init__(self) -> None:
        for field in ("k", "refresh", "n_particles"):
            value = getattr(self, field)
            if field != "n_particles" or value is not None:
                object.__setattr__(self, field, whole(f"{self.name}: {field}", value, 1))
        object.__setattr__(self, "min_ess", number(f"{self.name}: min_ess", self.min_ess, 0, 1, hint="it is a share of the particles"))
        if self.start == "both" and self.n_particles == 1:
            raise InputError(f"{self.name}: n_particles=1, it needs at least 2: half start at the data, half persist")

    def informative(self) -> tuple[str, ...]:
        """Particles drawn at every update have weights of one: the flow's objective is then 0 and the ESS 100%, always.

        A contrast is a difference of free energies whose size says nothing about the fit.
        """
        if self.refresh == 1:
            return ()
        return ("ess", "objective") if type(self).objective is probability_flow else ("ess",)

    def check(self, model: Model) -> None:
        if self.n_particles is not None:
            room(f"{self.name}: the particles", self.n_particles, model.space.size)

    def build(self, batch_size: int) -> Rule:
        n_particles = self.n_particles or max(batch_size, 2)
        return join(gibbs(self.start, batch_size, n_particles, self.k, self.refresh, self.min_ess), type(self).objective)
