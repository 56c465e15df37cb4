"""Contrastive divergence, CD-k (Hinton 2002)."""

from ..flow.objectives import contrast
from .particle_rule import ParticleRule


class CD(ParticleRule):
    r"""Contrast with particles S that are k steps from the data D. `refresh` > 1 reuses them uncorrected.

    .. math::
        \nabla = \mathrm{mean}_D \nabla F - \mathrm{mean}_S \nabla F

    >>> CD(k=10)
    CD(k=10, refresh=1, n_particles=None, min_ess=0.5, kernel=Auto())

    References:
        Hinton 2002, Training products of experts by minimizing contrastive divergence.
    """

    name = "cd"
    start = "data"
    objective = staticmethod(contrast)
