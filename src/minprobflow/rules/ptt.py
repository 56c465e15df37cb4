"""Contrast with particles that exchange states with the training trajectory (Béreux et al., arXiv 2607.27077)."""

from ..flow.objectives import contrast
from .trajectory_rule import TrajectoryRule


class PTT(TrajectoryRule):
    r"""Contrast with particles S that swap with samples of an earlier model of the run before their k steps.

    .. math::
        \nabla = \mathrm{mean}_D \nabla F - \mathrm{mean}_S \nabla F

    >>> PTT(k=10)
    PTT(k=10, refresh=1, n_particles=None, min_ess=0.5)

    References:
        Béreux, Decelle, Furtlehner & Seoane, Equilibrium training of energy-based models with parallel trajectory tempering
        (arXiv 2607.27077).
    """

    name = "ptt"
    objective = staticmethod(contrast)
