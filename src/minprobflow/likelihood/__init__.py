"""Likelihoods with error bars and a verdict."""

from .csl import CSL
from .estimate import Estimate
from .exact import exact_log_partition, exact_log_partition_and_gradient
from .judge import METHODS, from_log_partition, log_likelihood, log_partition
from .pseudo import pseudo_log_likelihoods, stochastic_pseudo_log_likelihoods
from .sandwich import AIS

__all__ = [
    "AIS",
    "CSL",
    "METHODS",
    "Estimate",
    "exact_log_partition",
    "exact_log_partition_and_gradient",
    "from_log_partition",
    "log_likelihood",
    "log_partition",
    "pseudo_log_likelihoods",
    "stochastic_pseudo_log_likelihoods",
]
