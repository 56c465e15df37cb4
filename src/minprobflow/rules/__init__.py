"""The paper's learning rules, and any other that a file defines."""

from ._registry import names, rule, specs
from .base import Diagnostics, Rule, RuleSpec, join
from .cd import CD
from .exact import Exact
from .fmpf import FMPF
from .fpmpf import FPMPF
from .mpf_1flip import MPF1Flip
from .particle_rule import ParticleRule
from .pcd import PCD
from .pmpf import PMPF

__all__ = [
    "CD",
    "FMPF",
    "FPMPF",
    "PCD",
    "PMPF",
    "Diagnostics",
    "Exact",
    "MPF1Flip",
    "ParticleRule",
    "Rule",
    "RuleSpec",
    "join",
    "names",
    "rule",
    "specs",
]
