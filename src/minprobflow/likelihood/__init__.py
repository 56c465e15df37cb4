"""Likelihoods with error bars and a verdict."""

from .base import LikelihoodEstimator, LogPartitionEstimator, estimators
from .comparison import Compared, compare
from .csl import CSL
from .estimate import Estimate
from .evaluate import log_likelihood, log_partition, methods
from .exact import exact_log_partition, exact_log_partition_and_gradient
from .independent import independent_units
from .pseudo import pseudo_log_likelihoods
from .rows import free_energies, from_log_partition
from .sandwich import AIS
from .trajectory import AlongTrajectory

__all__ = [
    "AIS",
    "CSL",
    "AlongTrajectory",
    "Compared",
    "Estimate",
    "LikelihoodEstimator",
    "LogPartitionEstimator",
    "compare",
    "estimators",
    "exact_log_partition",
    "exact_log_partition_and_gradient",
    "free_energies",
    "from_log_partition",
    "independent_units",
    "log_likelihood",
    "log_partition",
    "methods",
    "pseudo_log_likelihoods",
]
