"""Factored and persistent minimum probability flow, FPMPF-k (end of section 4.3 of the paper)."""

from ..flow.objectives import probability_flow
from .particle_rule import ParticleRule


class FPMPF(ParticleRule):
    r"""Flow to particles S of which half start at the data and half persist.

    .. math::
        \log J = \log \mathrm{mean}_D e^{(F(x) - F_{old}(x))/2} + \log \mathrm{mean}_S e^{(F_{old}(x') - F(x'))/2}

    >>> FPMPF(k=10)
    FPMPF(k=10, refresh=1, n_particles=None, min_ess=0.5, kernel=Auto())

    References:
        Section 4.3 of the paper, Understanding minimum probability flow for RBMs under various kinds of dynamics (arXiv 1412.6617).
    """

    name = "fpmpf"
    default_rate = 0.4
    start = "both"
    objective = staticmethod(probability_flow)
