"""What an estimator of log Z is, and how estimators are found by name.

An estimator's settings are one frozen dataclass with a `name`. Defining a subclass in a file of this folder (or of a
folder named in MINPROBFLOW_PLUGINS) makes it a `method` of `log_partition`, `log_likelihood` and the command line.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from ..models.base import Model
from ..plugins import discover
from .estimate import Estimate

MAX_CHAINS = 10**6

Progress = Callable[[str, float], Any]
"""called with what is being done and the share of it that is done"""


@dataclass(frozen=True)
class LogPartitionEstimator(ABC):
    """Settings of an estimator of log Z."""

    name: ClassVar[str]
    known: ClassVar[dict[str, type[LogPartitionEstimator]]] = {}

    def __init_subclass__(cls) -> None:
        LogPartitionEstimator.known[cls.name] = cls

    @abstractmethod
    def log_partition(self, model: Model, key: Any, base_data: Any = None, progress: Progress | None = None) -> Estimate:
        """log Z with its error and a verdict."""


def estimators() -> dict[str, type[LogPartitionEstimator]]:
    """Every known estimator of log Z by name."""
    discover(sys.modules[__package__])
    return dict(sorted(LogPartitionEstimator.known.items()))
