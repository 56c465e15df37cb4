"""The RBM as a scikit-learn estimator."""

from .rbm import RBM

__all__ = ["RBM"]
