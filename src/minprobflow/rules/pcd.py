"""Persistent contrastive divergence, PCD-k, or stochastic maximum likelihood (Tieleman 2008)."""

from ..flow.objectives import contrast
from .particle_rule import ParticleRule


class PCD(ParticleRule):
    r"""Contrast with particles S whose chains never restart. `refresh` > 1 reuses them uncorrected.

    .. math::
        \nabla = \mathrm{mean}_D \nabla F - \mathrm{mean}_S \nabla F

    >>> PCD(k=10)
    PCD(k=10, refresh=1, n_particles=None, min_ess=0.5, kernel=Auto())

    References:
        Tieleman 2008, Training restricted Boltzmann machines using approximations to the likelihood gradient.
    """

    name = "pcd"
    start = "particles"
    objective = staticmethod(contrast)
