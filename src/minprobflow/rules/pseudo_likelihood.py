"""Maximum pseudo-likelihood (Besag 1975): the one-flip connectivity with another objective."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..flow import NeighbourFlow, RowMean, pseudo_likelihood
from .flip_rule import FlipRule


@dataclass(frozen=True)
class PseudoLikelihood(FlipRule):
    """Raise the probability of each unit given all others. Deterministic: it draws nothing."""

    name: ClassVar[str] = "pseudo-likelihood"
    default_rate: ClassVar[float] = 0.1

    def objective(self) -> RowMean[NeighbourFlow]:
        return pseudo_likelihood
