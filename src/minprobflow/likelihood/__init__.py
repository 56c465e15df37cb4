"""Likelihoods with error bars and a verdict."""

from .base import LogPartitionEstimator, estimators
from .csl import CSL
from .estimate import Estimate
from .exact import exact_log_partition, exact_log_partition_and_gradient
from .independent import independent_units
from .judge import from_log_partition, log_likelihood, log_partition, methods
from .pseudo import pseudo_log_likelihoods
from .sandwich import AIS

__all__ = [
    "AIS",
    "CSL",
    "Estimate",
    "LogPartitionEstimator",
    "estimators",
    "exact_log_partition",
    "exact_log_partition_and_gradient",
    "from_log_partition",
    "independent_units",
    "log_likelihood",
    "log_partition",
    "methods",
    "pseudo_log_likelihoods",
]
