"""Factored minimum probability flow, FMPF-k (section 4.2 of the paper)."""

from ..flow.objectives import probability_flow
from .particle_rule import ParticleRule


class FMPF(ParticleRule):
    """Flow to particles k steps from the data. At refresh 1 its gradient is half of CD-k's."""

    name = "fmpf"
    default_rate = 0.4
    start = "data"
    objective = staticmethod(probability_flow)
