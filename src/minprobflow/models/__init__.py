"""Energy-based models."""

from .base import Centrable, FastAnnealing, FastFlips, FastHeatBath, Latent, LogLinear, Model
from .energy import EnergyModel
from .ising import Ising
from .named import BernoulliRBM, CategoricalRBM, GaussianRBM, MixedRBM, SpinRBM
from .potts import Potts
from .rbm import RBM
from .trajectory import Trajectory

__all__ = [
    "RBM",
    "BernoulliRBM",
    "CategoricalRBM",
    "Centrable",
    "EnergyModel",
    "FastAnnealing",
    "FastFlips",
    "FastHeatBath",
    "GaussianRBM",
    "Ising",
    "Latent",
    "LogLinear",
    "MixedRBM",
    "Model",
    "Potts",
    "SpinRBM",
    "Trajectory",
]
