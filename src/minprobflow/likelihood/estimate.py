"""What every estimator returns: a figure that never travels without its error and how far to trust it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from ..arguments import any_number, choice

Verdict = Literal["trusted", "wide", "do not trust"]


@dataclass(frozen=True)
class Estimate:
    """A log partition function or a mean log-likelihood, in nats.

    >>> import minprobflow as mpf
    >>> estimate = mpf.log_partition(mpf.BernoulliRBM.init(0, 6, 4))
    >>> estimate.method, estimate.verdict
    ('exact', 'trusted')
    """

    value: float
    """the estimate"""
    stderr: float
    """the estimator's own error"""
    lower: float
    """lower end of an interval that is meant to hold the true value in 95 of 100 cases"""
    upper: float
    """its upper end"""
    ess: float
    """effective number of chains (of the weaker direction, where there are two)"""
    method: str
    """name of the estimator"""
    verdict: Verdict
    """how far to trust it"""
    settings: dict[str, Any] = field(default_factory=dict)
    """of the estimator, and what it found on the way"""
    warnings: tuple[str, ...] = ()
    """why the verdict is not better, in plain words; empty when trusted"""

    def __post_init__(self) -> None:
        """Whatever the estimator says: a figure that is not finite is not to be trusted."""
        for name in ("value", "stderr", "lower", "upper", "ess"):
            object.__setattr__(self, name, any_number(name, getattr(self, name)))
        choice("verdict", self.verdict, get_args(Verdict))
        bad = [name for name in ("value", "stderr") if not math.isfinite(getattr(self, name))]
        bad += [name for name in ("lower", "upper") if math.isnan(getattr(self, name))]  # a bound may leave one side open
        if bad:
            reason = f"not finite ({', '.join(bad)}): the model's energies are too large for this method"
            object.__setattr__(self, "verdict", "do not trust")
            if reason not in self.warnings:
                object.__setattr__(self, "warnings", (*self.warnings, reason))

    def __str__(self) -> str:
        reasons = f" ({'; '.join(self.warnings)})" if self.warnings else ""
        interval = f"[{self.lower:.3f}, {self.upper:.3f}]"
        return f"{self.value:.3f} +- {self.stderr:.3f} nats, 95% {interval}, by {self.method}: {self.verdict}{reasons}"

    def record(self) -> dict[str, float]:
        """The four numbers."""
        return {"value": self.value, "stderr": self.stderr, "lower": self.lower, "upper": self.upper}
