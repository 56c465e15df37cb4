"""The paper's learning rules, and any other that a file defines."""

from ._registry import names, rule
from .base import Diagnostics, Rule, RuleSpec, join
from .cd import CD
from .exact import Exact
from .flip_rule import FlipRule
from .flow_ptt import FlowPTT
from .fmpf import FMPF
from .fpmpf import FPMPF
from .mpf_1flip import MPF1Flip
from .particle_rule import ParticleRule
from .pcd import PCD
from .pmpf import PMPF
from .pseudo_likelihood import PseudoLikelihood
from .ptt import PTT
from .trajectory_rule import TrajectoryRule

__all__ = [
    "CD",
    "FMPF",
    "FPMPF",
    "PCD",
    "PMPF",
    "PTT",
    "Diagnostics",
    "Exact",
    "FlipRule",
    "FlowPTT",
    "MPF1Flip",
    "ParticleRule",
    "PseudoLikelihood",
    "Rule",
    "RuleSpec",
    "TrajectoryRule",
    "join",
    "names",
    "rule",
]
