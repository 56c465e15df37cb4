"""What the rules that look at all states one flip away have in common: all but the objective."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

from ..flow import Connectivity, NeighbourFlow, RowMean, one_flip
from ..models.base import Model
from ..spaces import discrete
from .base import Rule, RuleSpec, join


@dataclass(frozen=True)
class FlipRule(RuleSpec):
    """Settings of a rule with one-flip connectivity. A subclass gives `name` and `objective`. Deterministic: it draws nothing."""

    @abstractmethod
    def objective(self) -> RowMean[NeighbourFlow]:
        """A mean over rows, of sums over units."""

    def connectivity(self) -> Connectivity[tuple[()], NeighbourFlow]:
        """To all states one flip away."""
        return one_flip()

    def convex(self) -> bool:
        """Whether the objective is convex in free energies: then `mpf.fit_convex` can find its minimum."""
        return True

    def check(self, model: Model) -> None:
        discrete(model.space, self.name)

    def build(self, batch_size: int) -> Rule[tuple[()]]:
        return join(self.connectivity(), self.objective())
