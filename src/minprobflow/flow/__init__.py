"""Connectivity: which states does probability flow to?"""

from .base import Connectivity, NeighbourFlow, ParticleFlow
from .gibbs import gibbs
from .one_flip import one_flip

__all__ = ["Connectivity", "NeighbourFlow", "ParticleFlow", "gibbs", "one_flip"]
