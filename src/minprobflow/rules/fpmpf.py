"""Factored and persistent minimum probability flow, FPMPF-k (end of section 4.3 of the paper)."""

from ..flow.objectives import probability_flow
from .particle_rule import ParticleRule


class FPMPF(ParticleRule):
    """Flow to particles of which half start at the data and half persist."""

    name = "fpmpf"
    default_rate = 0.4
    start = "both"
    objective = staticmethod(probability_flow)
