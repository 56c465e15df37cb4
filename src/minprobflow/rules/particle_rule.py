"""What the rules that draw particles have in common: all but where the particles start and how the flow becomes a loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..arguments import number, room, whole
from ..errors import InputError
from ..flow import Objective, ParticleFlow, Particles, particles, probability_flow
from ..flow.particles import Start
from ..models.base import Model
from ..samplers import KernelSpec, kernel_spec
from .base import Rule, RuleSpec, join


@dataclass(frozen=True)
class DrawingRule(RuleSpec):
    """Settings of every rule that compares the data with states drawn from the model."""

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
        """Particles drawn at every update have weights of one: the flow's objective is then 0 and the ESS 100%, always.

        A contrast is a difference of free energies whose size says nothing about the fit.
        """
        if self.refresh == 1:
            return ()
        return ("ess", "objective") if type(self).objective is probability_flow else ("ess",)

    def particles_for(self, batch_size: int) -> int:
        """How many particles there are."""
        return self.n_particles or max(batch_size, 2)


@dataclass(frozen=True)
class ParticleRule(DrawingRule):
    """Settings of the rules that draw particles with a kernel. A subclass gives `name`, `start` and `objective`."""

    start: ClassVar[Start]

    kernel: str | KernelSpec = "auto"
    """what steps: auto (block Gibbs where there is a hidden layer, else the heat bath), block-gibbs, heat-bath or tempering"""

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "kernel", kernel_spec(self.kernel))
        if self.start == "both" and self.n_particles == 1:
            raise InputError(f"{self.name}: n_particles=1, it needs at least 2: half start at the data, half persist")

    def check(self, model: Model) -> None:
        if self.n_particles is not None:
            room(f"{self.name}: the particles", self.n_particles, model.space.size)
        kernel_spec(self.kernel).build(model)

    def build(self, batch_size: int) -> Rule[Particles]:
        drawn = {"batch_size": batch_size, "n_particles": self.particles_for(batch_size), "k": self.k, "refresh": self.refresh}
        return join(particles(self.start, self.kernel, **drawn, min_ess=self.min_ess), type(self).objective)
