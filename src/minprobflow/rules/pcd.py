"""Persistent contrastive divergence, PCD-k, or stochastic maximum likelihood (Tieleman 2008)."""

from ..flow.objectives import contrast
from .particle_rule import ParticleRule


class PCD(ParticleRule):
    """Contrast with particles whose chains never restart. `refresh` > 1 reuses them uncorrected."""

    name = "pcd"
    start = "particles"
    objective = staticmethod(contrast)
