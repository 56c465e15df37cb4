"""What the rules that exchange particles with the training trajectory have in common: all but how the flow becomes a loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..arguments import room
from ..flow.trajectory import TIMES, Exchanging, check_path, with_trajectory
from ..models.base import Model
from ..samplers import default_kernel
from .base import Rule, join
from .particle_rule import DrawingRule


@dataclass(frozen=True)
class TrajectoryRule(DrawingRule):
    """Settings of the rules that exchange with the trajectory. A subclass gives `name` and `objective`."""

    keeps_trajectory: ClassVar[bool] = True

    def check(self, model: Model) -> None:
        if self.n_particles is not None:
            room(f"{self.name}: the reservoir", TIMES * self.n_particles, model.space.size)
        default_kernel(model)
        check_path(model)

    def build(self, batch_size: int) -> Rule[Exchanging]:
        drawn = {"batch_size": batch_size, "n_particles": self.particles_for(batch_size)}
        return join(with_trajectory(**drawn, k=self.k, refresh=self.refresh, min_ess=self.min_ess), type(self).objective)
