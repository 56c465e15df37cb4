"""Energy-based models."""

from .base import Annealable, Centrable, FastAnnealing, FastFlips, FastSums, Latent, Model
from .energy import EnergyModel
from .rbm import RBM

__all__ = ["RBM", "Annealable", "Centrable", "EnergyModel", "FastAnnealing", "FastFlips", "FastSums", "Latent", "Model"]
