"""What an estimator of likelihoods is, and how estimators are found by name.

An estimator's settings are one frozen dataclass with a `name`. Defining a subclass in a file of this folder (or of a
folder named in MINPROBFLOW_PLUGINS) makes it a `method` of `log_likelihood` and the command line, and of `log_partition` if it
estimates log Z.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Array, Key, Num

from ..models.base import Model
from ..progress import Report
from ..specs import Spec
from .estimate import Estimate
from .rows import from_log_partition

MAX_CHAINS = 10**6
Progress = Report
Rows = Num[np.ndarray, "_ D"]
"""data as a model's space has checked them"""


@dataclass(frozen=True)
class LikelihoodEstimator(Spec):
    """Settings of an estimator of the mean log-likelihood of rows."""

    family: ClassVar[str] = "estimator"
    known: ClassVar[dict[str, type[LikelihoodEstimator]]] = {}

    @abstractmethod
    def log_likelihood(
        self, model: Model, rows: Rows, key: Key[Array, ""], base_data: Rows | None = None, progress: Progress | None = None
    ) -> Estimate:
        """The mean over the rows, with its error and a verdict; `base_data` are rows that sampling may start from."""


class LogPartitionEstimator(LikelihoodEstimator):
    """Settings of an estimator of log Z."""

    @abstractmethod
    def log_partition(self, model: Model, key: Key[Array, ""], base_data: object = None, progress: Progress | None = None) -> Estimate:
        """log Z with its error and a verdict."""

    def log_likelihood(
        self, model: Model, rows: Rows, key: Key[Array, ""], base_data: Rows | None = None, progress: Progress | None = None
    ) -> Estimate:
        base = rows if base_data is None else base_data
        return from_log_partition(model, rows, self.log_partition(model, key, base, progress))


def phase(progress: Progress | None, name: str) -> Callable[[float], object] | None:
    """What is told how far this phase is; None where nobody wants to know."""
    return None if progress is None else lambda share: progress(name, share)


def estimators() -> dict[str, type[LogPartitionEstimator]]:
    """Every known estimator of log Z by name."""
    return {name: cls for name, cls in LikelihoodEstimator.specs().items() if issubclass(cls, LogPartitionEstimator)}
