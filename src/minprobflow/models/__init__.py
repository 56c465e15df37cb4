"""Energy-based models."""

from .base import Annealable, Centrable, FastAnnealing, FastFlips, FastHeatBath, FastSums, Latent, LogLinear, Model
from .energy import EnergyModel
from .ising import Ising
from .rbm import RBM

__all__ = [
    "RBM",
    "Annealable",
    "Centrable",
    "EnergyModel",
    "FastAnnealing",
    "FastFlips",
    "FastHeatBath",
    "FastSums",
    "Ising",
    "Latent",
    "LogLinear",
    "Model",
]
