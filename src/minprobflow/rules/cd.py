"""Contrastive divergence, CD-k (Hinton 2002)."""

from ..flow.objectives import contrast
from .particle_rule import ParticleRule


class CD(ParticleRule):
    """Contrast with particles k steps from the data. `refresh` > 1 reuses them uncorrected."""

    name = "cd"
    start = "data"
    objective = staticmethod(contrast)
