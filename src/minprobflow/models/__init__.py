"""Energy-based models."""

from .base import Annealable, Centrable, FastAnnealing, FastFlips, FastHeatBath, FastSums, Latent, LogLinear, Model
from .categorical_rbm import CategoricalRBM
from .energy import EnergyModel
from .gaussian_rbm import GaussianRBM
from .ising import Ising
from .potts import Potts
from .rbm import RBM

__all__ = [
    "RBM",
    "Annealable",
    "CategoricalRBM",
    "Centrable",
    "EnergyModel",
    "FastAnnealing",
    "FastFlips",
    "FastHeatBath",
    "FastSums",
    "GaussianRBM",
    "Ising",
    "Latent",
    "LogLinear",
    "Model",
    "Potts",
]
