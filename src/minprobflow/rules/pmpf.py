"""Persistent minimum probability flow, PMPF-k (section 4.3 of the paper)."""

from ..flow.objectives import probability_flow
from .particle_rule import ParticleRule


class PMPF(ParticleRule):
    """Flow to particles whose chains never restart. At refresh 1 its gradient is half of PCD-k's."""

    name = "pmpf"
    default_rate = 0.4
    start = "particles"
    objective = staticmethod(probability_flow)
