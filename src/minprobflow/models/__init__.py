"""Energy-based models."""

from .base import Annealable, Centrable, FastFlips, Latent, Model
from .energy import EnergyModel
from .rbm import RBM

__all__ = ["RBM", "Annealable", "Centrable", "EnergyModel", "FastFlips", "Latent", "Model"]
