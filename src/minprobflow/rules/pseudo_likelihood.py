"""Maximum pseudo-likelihood (Besag 1975): the one-flip connectivity with another objective."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..flow import NeighbourFlow, RowMean, pseudo_likelihood
from .flip_rule import FlipRule


@dataclass(frozen=True)
class PseudoLikelihood(FlipRule):
    r"""Raise the probability of each unit given all others. Deterministic: it draws nothing.

    .. math::
        -\frac{1}{|D|} \sum_{v \in D} \sum_i \log p(v_i \mid v_{-i})

    >>> import minprobflow as mpf
    >>> digits = mpf.load_dataset("digits").train
    >>> mpf.fit(mpf.Ising.init(64, digits), digits, "pseudo-likelihood", epochs=1).model.couplings.shape
    (64, 64)

    References:
        Besag 1975, Statistical analysis of non-lattice data.
    """

    name: ClassVar[str] = "pseudo-likelihood"
    default_rate: ClassVar[float] = 0.1

    def objective(self) -> RowMean[NeighbourFlow]:
        return pseudo_likelihood
