"""Factored minimum probability flow, FMPF-k (section 4.2 of the paper)."""

from ..flow.objectives import probability_flow
from .particle_rule import ParticleRule


class FMPF(ParticleRule):
    r"""Flow to particles S that are k steps from the data D. At refresh 1 its gradient is half of CD-k's.

    .. math::
        \log J = \log \mathrm{mean}_D e^{(F(x) - F_{old}(x))/2} + \log \mathrm{mean}_S e^{(F_{old}(x') - F(x'))/2}

    >>> FMPF(k=10)
    FMPF(k=10, refresh=1, n_particles=None, min_ess=0.5, kernel=Auto())

    References:
        Section 4.2 of the paper, Understanding minimum probability flow for RBMs under various kinds of dynamics (arXiv 1412.6617).
    """

    name = "fmpf"
    default_rate = 0.4
    start = "data"
    objective = staticmethod(probability_flow)
