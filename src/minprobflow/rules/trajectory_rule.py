"""What the rules that exchange particles with the training trajectory have in common: all but how the flow becomes a loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..arguments import number, room, whole
from ..flow import Objective, ParticleFlow, probability_flow
from ..flow.trajectory import TIMES, Exchanging, check_path, with_trajectory
from ..models.base import Model
from ..samplers import default_kernel
from .base import Rule, RuleSpec, join


@dataclass(frozen=True)
class TrajectoryRule(RuleSpec):
    """Settings of the rules that exchange with the trajectory. A subclass gives `name` and `objective`."""

    keeps_trajectory: ClassVar[bool] = True
    objective: ClassVar[Objective[ParticleFlow]]

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

    def informative(self) -> tuple[str, ...]:
        """As of rules with particles: weights of one say nothing."""
        if self.refresh == 1:
            return ()
        return ("ess", "objective") if type(self).objective is probability_flow else ("ess",)

    def check(self, model: Model) -> None:
        if self.n_particles is not None:
            room(f"{self.name}: the reservoir", TIMES * self.n_particles, model.space.size)
        default_kernel(model)
        check_path(model)

    def build(self, batch_size: int) -> Rule[Exchanging]:
        drawn = {"batch_size": batch_size, "n_particles": self.n_particles or max(batch_size, 2)}
        return join(with_trajectory(**drawn, k=self.k, refresh=self.refresh, min_ess=self.min_ess), type(self).objective)
