"""Probability flow: which states does it go to (connectivity), and how does it become a loss (objective)?"""

from .base import Connectivity, Flow, NeighbourFlow, ParticleFlow
from .objectives import Objective, RowMean, contrast, plain_flow, probability_flow, pseudo_likelihood
from .one_flip import flip_differences, one_flip
from .particles import Particles, particles
from .rates import log_rate, odd_function

__all__ = [
    "Connectivity",
    "Flow",
    "NeighbourFlow",
    "Objective",
    "ParticleFlow",
    "Particles",
    "RowMean",
    "contrast",
    "flip_differences",
    "log_rate",
    "odd_function",
    "one_flip",
    "particles",
    "plain_flow",
    "probability_flow",
    "pseudo_likelihood",
]
