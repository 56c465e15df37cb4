"""What an estimator of likelihoods is, and how estimators are found by name.

An estimator's settings are one frozen dataclass with a `name`. Defining a subclass in a file of this folder (or of a
folder named in MINPROBFLOW_PLUGINS) makes it a `method` of `log_likelihood` and the command line, and of `log_partition` if it
estimates log Z.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Num

from ..models.base import Model
from ..plugins import discover
from ..progress import Report
from .estimate import Estimate
from .rows import from_log_partition

MAX_CHAINS = 10**6
Progress = Report


@dataclass(frozen=True)
class LikelihoodEstimator(ABC):
    """Settings of an estimator of the mean log-likelihood of rows."""

    name: ClassVar[str]
    known: ClassVar[dict[str, type[LikelihoodEstimator]]] = {}

    def __init_subclass__(cls) -> None:
        if "name" in cls.__dict__:
            LikelihoodEstimator.known[cls.name] = cls

    @abstractmethod
    def log_likelihood(
        self, model: Model, rows: Num[np.ndarray, "n D"], key: Any, base_data: Any = None, progress: Report | None = None
    ) -> Estimate:
        """The mean over the rows, with its error and a verdict; `base_data` are rows that sampling may start from."""


class LogPartitionEstimator(LikelihoodEstimator):
    """Settings of an estimator of log Z."""

    @abstractmethod
    def log_partition(self, model: Model, key: Any, base_data: Any = None, progress: Report | None = None) -> Estimate:
        """log Z with its error and a verdict."""

    def log_likelihood(
        self, model: Model, rows: Num[np.ndarray, "n D"], key: Any, base_data: Any = None, progress: Report | None = None
    ) -> Estimate:
        base = rows if base_data is None else base_data
        return from_log_partition(model, rows, self.log_partition(model, key, base, progress))


def likelihood_estimators() -> dict[str, type[LikelihoodEstimator]]:
    """Every known estimator by name."""
    discover(sys.modules[__package__])
    return dict(sorted(LikelihoodEstimator.known.items()))


def estimators() -> dict[str, type[LogPartitionEstimator]]:
    """Every known estimator of log Z by name."""
    return {name: cls for name, cls in likelihood_estimators().items() if issubclass(cls, LogPartitionEstimator)}
