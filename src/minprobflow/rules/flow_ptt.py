"""Probability flow to particles that exchange states with the training trajectory."""

from ..flow.objectives import probability_flow
from .trajectory_rule import TrajectoryRule


class FlowPTT(TrajectoryRule):
    r"""Flow to particles S that swap with samples of an earlier model of the run before their k steps. At refresh 1 half of PTT's gradient.

    .. math::
        \log J = \log \mathrm{mean}_D e^{(F(x) - F_{old}(x))/2} + \log \mathrm{mean}_S e^{(F_{old}(x') - F(x'))/2}

    >>> FlowPTT(k=10)
    FlowPTT(k=10, refresh=1, n_particles=None, min_ess=0.5)
    """

    name = "flow-ptt"
    default_rate = 0.4
    objective = staticmethod(probability_flow)
